/** connect: a client with a method for each verb, typed by the server's OpenAPI document. */
import createClient, { type Client, type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema.js";

/** The client: `GET`, `POST` and `PATCH` take a path under /api/v1 and answer its data. */
export type Memory = Client<paths>;

export interface Connection {
  /** The address that `anamnesis serve --transport http` printed, without a path. */
  url: string;
  /** A token of `anamnesis token add`; it says whose memory it is. Leave it out where none is asked for. */
  token?: string;
  /** What sends the requests. Default: the global fetch. */
  fetch?: typeof globalThis.fetch;
}

/** A refusal of the server: what is wrong in `message`, what to do in `nextStep`. */
export class MemoryProblem extends Error {
  override readonly name = "MemoryProblem";

  constructor(
    /** The status of the answer. */
    readonly status: number,
    /** One word for programs, such as `not_found` or `busy`. */
    readonly code: string,
    message: string,
    readonly nextStep: string,
    options?: ErrorOptions,
  ) {
    super(nextStep ? `${message}; ${nextStep}` : message, options);
  }
}

/**
 * A client of the server at `url`. Each method answers `{ data, response }`; a refusal is thrown as
 * a MemoryProblem, a server that cannot be reached as what fetch throws.
 *
 * What is no JSON is text: `data` of `/export`, `body` and `data` of `/import`. Read `/events`, and
 * what is too large for one string, with `parseAs: "stream"`, an archive with `parseAs: "blob"`.
 */
export function connect({ url, token, fetch }: Connection): Memory {
  const client = createClient<paths>({
    baseUrl: `${url.replace(/\/+$/, "")}/api/v1`,
    ...(token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } }),
    ...(fetch === undefined ? {} : { fetch }),
    querySerializer: { array: { style: "form", explode: true } },
    bodySerializer: (body) => (isRaw(body) ? body : JSON.stringify(body)),
  });
  client.use(refusing, inItsForm);
  return client;
}

/** The bodies that are no JSON. */
const FORMS: Record<string, string> = {
  "/import": "application/x-ndjson",
  "/import/file": "application/octet-stream",
};

const isRaw = (body: unknown): body is string | Blob | ArrayBuffer =>
  typeof body === "string" || body instanceof Blob || body instanceof ArrayBuffer || ArrayBuffer.isView(body);

const inItsForm: Middleware = {
  onRequest({ request, schemaPath }) {
    const form = FORMS[schemaPath];
    if (form) request.headers.set("content-type", form);
  },
  async onResponse({ response, options }) {
    const form = response.headers.get("content-type") ?? "application/json";
    if (options.parseAs !== "json" || response.status >= 300 || form.includes("json") && !form.includes("ndjson")) return;
    if (!/ndjson|^text\/(?!event-stream)/.test(form)) {
      await response.body?.cancel();
      throw new TypeError(`the answer is ${form}; read it with parseAs: "${form.includes("event-stream") ? "stream" : "blob"}"`);
    }
    return new Response(JSON.stringify(await response.text()), { status: response.status, headers: response.headers });
  },
};

type Problem = Partial<components["schemas"]["ProblemOut"]>;

const refusing: Middleware = {
  async onResponse({ response }) {
    if (response.status < 400) return;
    const said = await response.text();
    let problem: Problem = {};
    try {
      problem = JSON.parse(said) as Problem;
    } catch {
      // not from the memory, such as an answer of a proxy on the way
    }
    throw new MemoryProblem(
      response.status,
      problem.code ?? "unknown",
      problem.detail ?? `status ${response.status}`,
      problem.next_step ?? "",
    );
  },
};
