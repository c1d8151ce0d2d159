/**
 * rememberingFetch: a fetch for the SDKs of OpenAI and Anthropic that recalls at each turn of the
 * user and keeps what both say, in a memory server.
 *
 * A turn is recalled once. Its block stands at the same place, byte for byte, in every later request
 * of the conversation, so that prompt caches hold. Memory never fails a call: what it cannot do in
 * time, or at all, is left out and told to `onProblem`.
 */
import {
  answered,
  before,
  dialectOf,
  firstAnswer,
  userTurns,
  withBlocks,
  type Dialect,
} from "./bodies.js";

export interface Remembering {
  /** The address that `anamnesis serve --transport http` printed, without a path. */
  url: string;
  /**
   * A token with the rights read and write; it says whose memory it is. A function gives the token
   * of the agent that a call names by X-Anamnesis-Agent ("" for one that names none).
   */
  token?: string | ((agent: string) => string | undefined);
  /** The conversation. Default: one for each that begins. X-Anamnesis-Session names that of one call. */
  session?: string;
  /** What sends the requests, also those to the memory. Default: the global fetch. */
  fetch?: typeof globalThis.fetch;
  /** Is told what memory could not do, without any text. Default: console.warn. */
  onProblem?: (problem: string) => void;
}

/** A fetch that remembers; `flush` waits until what was said is kept. */
export type RememberingFetch = typeof globalThis.fetch & { flush(): Promise<void> };

/** A fetch to give to a client: `new OpenAI({ fetch: rememberingFetch({ url, token }) })`. */
export function rememberingFetch(remembering: Remembering): RememberingFetch {
  const companion = new Companion(remembering);
  const send = remembering.fetch ?? globalThis.fetch;

  async function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const address = input instanceof Request ? input.url : String(input);
    const method = init?.method ?? (input instanceof Request ? input.method : "GET");
    const dialect = dialectOf(pathOf(address));
    if (!dialect || method.toUpperCase() !== "POST") return send(input, init);
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : {}));
    const [session, agent] = [taken(headers, SESSION), taken(headers, AGENT)];
    const content = await textOf(input, init);
    if (content === undefined) companion.passed();
    const exchange = content && (await companion.ask(dialect, content, session, agent));
    if (!exchange) return send(input, { ...init, headers });
    headers.delete("content-length");
    if (init?.body instanceof Blob && init.body.type && !headers.has("content-type")) {
      headers.set("content-type", init.body.type);
    }
    const response = await send(input, { ...init, headers, body: exchange.content });
    if (response.status !== 200 || !response.body) return response;
    const kind = response.headers.get("content-type") ?? "";
    return listened(response, (said) => void companion.answered(exchange, kind, said));
  }

  return Object.assign(fetch, { flush: () => companion.flush() });
}

/** How long a request waits for what its turn brings to mind, in milliseconds. */
const RECALL_MS = 1_000;
/** After which a call to the memory is given up. */
const HOOK_MS = 10_000;
/** Turns of conversations whose blocks are kept in mind; the oldest go first. */
const TURNS = 10_000;
/** Of an answer that are looked at; a longer one is passed on and not kept. */
const MOST_BYTES = 8 * 1024 * 1024;
/** Headers of a request that name its conversation and agent; they are not sent on. */
const SESSION = "x-anamnesis-session";
const AGENT = "x-anamnesis-agent";

interface Turn {
  block: string;
  answered: boolean;
}

/** Where a conversation is: its session, the key of its newest turn, and what tells its first. */
interface Place {
  session: string;
  key: string;
  first: string;
}

interface Exchange {
  dialect: Dialect;
  agent: string;
  content: string;
  token: string;
  place: Place;
  /** Whether the turn is the first one of its conversation. */
  opens: boolean;
  turn: Turn;
}

class Companion {
  readonly #to: Remembering;
  readonly #turns = new Map<string, Turn>();
  readonly #places = new Map<string, Place>();
  #keeping: Promise<void> = Promise.resolve();

  constructor(to: Remembering) {
    this.#to = to;
  }

  /** The request with what it brings to mind; undefined when there is no turn in it. Never rejects. */
  async ask(
    dialect: Dialect,
    content: string,
    session: string,
    agent: string,
  ): Promise<Exchange | undefined> {
    try {
      return await this.#ask(dialect, content, session, agent);
    } catch (problem) {
      this.#tell(`a request goes on without memory: ${reason(problem)}`);
      return undefined;
    }
  }

  /** A request goes by whose body is not read here, as it may be read only once. */
  passed(): void {
    this.#tell("a request goes on without memory: its body is no string, bytes or Blob");
  }

  /** Keep the answer of `exchange`, if `said` came to its end. */
  async answered(exchange: Exchange, kind: string, said: string): Promise<void> {
    const { place, opens, turn, token } = exchange;
    const [text, id] = answered(exchange.dialect, kind, said);
    if (id) note(this.#places, held(exchange.agent, id), place);
    if (!text.trim() || turn.answered) return;
    turn.answered = true;
    const event = { hook_event_name: "Stop", last_assistant_message: text };
    this.#keeping = this.#keeping
      .then(() => this.#hook(token, { ...event, session_id: place.session }))
      .then(
        () => undefined,
        (problem) => this.#tell(`an answer was not kept: ${reason(problem)}`),
      );
    if (opens && place.first) {
      note(this.#places, await digest(place.first, text), { ...place, key: "" });
    }
  }

  flush(): Promise<void> {
    return this.#keeping;
  }

  async #ask(dialect: Dialect, content: string, named: string, agent: string): Promise<Exchange | undefined> {
    const body = JSON.parse(content);
    const turns = userTurns(dialect, body);
    const [kept, stays] = before(body);
    const session = named || (this.#to.session ?? "");
    let place = kept ? this.#places.get(held(agent, kept)) : undefined;
    if (place && session) place = { ...place, session };
    if (!place && turns.length && (session || stays)) {
      const told = (await digest(agent, kept)).slice(0, 12);
      place = { session: session || `chat-${told}`, key: "", first: "" };
    } else if (!place && turns.length) {
      place = await this.#begun(agent, turns.map(({ text }) => text), firstAnswer(dialect, body, turns));
    }
    if (!place) return undefined;
    const token = this.#token(agent);
    const opens = !place.key && turns.length === 1;
    const blocks = new Map<number, string>();
    let { key } = place;
    for (const each of turns) {
      key = await digest(key, agent, place.session, each.text);
      const asked = each === turns.at(-1);
      const turn = asked ? await this.#newest(key, token, place.session, each.text) : this.#turns.get(key);
      blocks.set(each.place, turn?.block ?? "");
    }
    place = { ...place, key };
    if (stays) note(this.#places, held(agent, kept), place);
    const turn = this.#turns.get(key);
    if (!turn) return undefined;
    const told = [...blocks.values()].some(Boolean);
    const sent = told ? JSON.stringify(withBlocks(dialect, body, blocks)) : content;
    return { dialect, agent, content: sent, token, place, opens, turn };
  }

  /**
   * The beginning of the conversation of the turns `texts`, of which `answer` met the first. A single
   * turn that was answered before begins another one. Of several that began alike it is the one with
   * that answer, or else the last.
   */
  async #begun(agent: string, texts: string[], answer: string): Promise<Place> {
    const opening = texts[0] ?? "";
    const first = await digest(agent, opening);
    let known = answer ? this.#places.get(await digest(first, answer)) : undefined;
    known ??= this.#places.get(first);
    const turn = known && this.#turns.get(await digest(known.key, agent, known.session, opening));
    if (texts.length === 1 && (!turn || turn.answered)) {
      known = { session: `chat-${crypto.randomUUID()}`, key: "", first };
    }
    known ??= { session: `chat-${first.slice(0, 12)}`, key: "", first };
    if (texts.length === 1 || !this.#places.has(first)) note(this.#places, first, known);
    return known;
  }

  /**
   * The turn `text`, recalled now unless it waits for its answer, as in a loop of tools. One that is
   * asked again is told what is new, or else what it was told before.
   */
  async #newest(key: string, token: string, session: string, text: string): Promise<Turn> {
    const known = this.#turns.get(key);
    if (known && !known.answered) return known;
    const event = { hook_event_name: "UserPromptSubmit", prompt: text, session_id: session };
    const block = (await this.#recalled(token, event)) || (known?.block ?? "");
    const turn = { block, answered: false };
    note(this.#turns, key, turn);
    return turn;
  }

  /** What is told at a prompt; "" after RECALL_MS, while the turn is still kept. */
  async #recalled(token: string, event: object): Promise<string> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("recall took too long")), RECALL_MS);
    });
    try {
      return await Promise.race([this.#hook(token, event), late]);
    } catch (problem) {
      this.#tell(`a request goes on without memory: ${reason(problem)}`);
      return "";
    } finally {
      clearTimeout(timer);
    }
  }

  /** The text that the memory answers to a hook event. */
  async #hook(token: string, event: object): Promise<string> {
    const send = this.#to.fetch ?? globalThis.fetch;
    const response = await send(`${this.#to.url.replace(/\/+$/, "")}/hook`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token ? { authorization: `Bearer ${token}` } : {}),
      },
      body: JSON.stringify(event),
      signal: AbortSignal.timeout(HOOK_MS),
    });
    if (!response.ok) throw new Error(`the memory answered ${response.status}`);
    const told = (await response.json()) as { hookSpecificOutput?: { additionalContext?: string } };
    return told.hookSpecificOutput?.additionalContext ?? "";
  }

  #token(agent: string): string {
    const { token } = this.#to;
    const found = typeof token === "function" ? token(agent) : agent ? undefined : (token ?? "");
    if (found === undefined) throw new Error("there is no token for the agent of this call");
    return found;
  }

  #tell(problem: string): void {
    (this.#to.onProblem ?? console.warn)(problem);
  }
}

/** Keep `value` as the newest of `known`, which holds TURNS at most. */
function note<V>(known: Map<string, V>, key: string, value: V): void {
  known.delete(key);
  known.set(key, value);
  for (const old of known.keys()) {
    if (known.size <= TURNS) break;
    known.delete(old);
  }
}

/** What tells the conversation that the service keeps as `id`, which only `agent` goes on with. */
function held(agent: string, id: string): string {
  return JSON.stringify([agent, id]);
}

function pathOf(address: string): string {
  try {
    return new URL(address).pathname;
  } catch {
    return "";
  }
}

function taken(headers: Headers, name: string): string {
  const value = headers.get(name) ?? "";
  headers.delete(name);
  return value;
}

/** The body of a request as text, "" where there is none; undefined for one that is not read here. */
async function textOf(
  input: string | URL | Request,
  init?: RequestInit,
): Promise<string | undefined> {
  const body = init?.body;
  if (typeof body === "string") return body;
  if (body instanceof Blob) return body.text();
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return new TextDecoder().decode(body);
  if (body === undefined && input instanceof Request) return input.clone().text();
  return body === undefined || body === null ? "" : undefined;
}

/** `response`, with `heard` told its whole text when it has been read to its end, or left. */
function listened(response: Response, heard: (said: string) => void): Response {
  const reader = response.body!.getReader();
  const kept: Uint8Array[] = [];
  let length = 0;
  const end = (): void => {
    if (length > MOST_BYTES) return;
    const decoder = new TextDecoder();
    heard(kept.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode());
  };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) {
        end();
        controller.close();
        return;
      }
      length += value.length;
      if (length <= MOST_BYTES) kept.push(value);
      controller.enqueue(value);
    },
    cancel(why) {
      end(); // it may have come to its end all the same
      return reader.cancel(why);
    },
  });
  const { status, statusText, headers } = response;
  const passed = new Response(body, { status, statusText, headers });
  return Object.defineProperty(passed, "url", { value: response.url });
}

async function digest(...texts: string[]): Promise<string> {
  const plain = texts.map((text) => text.split(/\s+/).filter(Boolean).join(" "));
  const bytes = new TextEncoder().encode(JSON.stringify(plain));
  const hash = await crypto.subtle.digest("SHA-256", bytes);
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What happened, without any text of a user. */
function reason(problem: unknown): string {
  if (problem instanceof SyntaxError) return "the body is not JSON";
  return problem instanceof Error ? problem.message : "unknown";
}
