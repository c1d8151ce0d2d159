/**
 * Request and answer bodies of the model APIs: whose words are the user's, and what was answered.
 *
 * Three dialects, told apart by the end of the path: chat completions and responses of OpenAI, and
 * the messages of Anthropic. The Python package has the same rules in server/companion/bodies.py.
 */

/** A body of one of these APIs; what is not as they document it throws, and the caller gives up. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Body = any;

export interface Dialect {
  /** Where the turns stand. */
  turns: "messages" | "input";
  /** What a part of text is called. */
  part: "text" | "input_text";
  /** The text of a whole answer, "" for one that did not end as an answer, such as a tool call. */
  answer(body: Body): string;
  /** The same of the events of a stream. */
  streamed(events: Body[]): string;
}

/** A turn that the user worded, and its place; a plain input stands at -1. */
export interface UserTurn {
  place: number;
  text: string;
}

/** The dialect of requests to `path`; undefined for everything else. */
export function dialectOf(path: string): Dialect | undefined {
  const bare = path.replace(/\/+$/, "");
  return DIALECTS.find(([end]) => bare.endsWith(end))?.[1];
}

/** The turns in `body` that the user worded, oldest first, not those that return what a tool did. */
export function userTurns(dialect: Dialect, body: Body): UserTurn[] {
  const turns = body[dialect.turns];
  if (typeof turns === "string") return turns.trim() ? [{ place: -1, text: turns }] : [];
  if (!Array.isArray(turns)) return [];
  return turns
    .map((turn, place) => ({
      place,
      text: turn?.role === "user" ? words([dialect.part], turn.content) : "",
    }))
    .filter(({ text }) => text.trim());
}

/** `body` with each of `blocks` after the user's own words in the turn at its place. */
export function withBlocks(dialect: Dialect, body: Body, blocks: Map<number, string>): Body {
  const turns = body[dialect.turns];
  if (typeof turns === "string") {
    return { ...body, [dialect.turns]: after(turns, blocks.get(-1) ?? "") };
  }
  const changed = [...turns];
  for (const [place, block] of blocks) {
    if (!block) continue;
    const { content } = changed[place];
    const told =
      typeof content === "string"
        ? after(content, block)
        : [...content, { type: dialect.part, text: block }];
    changed[place] = { ...changed[place], content: told };
  }
  return { ...body, [dialect.turns]: changed };
}

/** The text that answered the first of the `turns` of the user in `body`, "" before a second. */
export function firstAnswer(dialect: Dialect, body: Body, turns: UserTurn[]): string {
  const second = turns[1];
  const answer = second && body[dialect.turns][second.place - 1];
  return answer?.role === "assistant" ? words(["text", "output_text"], answer.content) : "";
}

/**
 * What the service has kept that `body` goes on from, "" for nothing: the id of an answer, or that
 * of a conversation, which stays the same (then true).
 */
export function before(body: Body): [string, boolean] {
  const { conversation, thread, previous_response_id } = body;
  const stays = conversation?.id ?? conversation;
  if (stays && typeof stays === "string") return [stays, true];
  const answer = thread?.previous_message_id ?? previous_response_id;
  return [typeof answer === "string" ? answer : "", false];
}

/**
 * The text and the id of the answer `content` of media type `kind`, a call of a tool too. The text
 * is "" when it did not come to its end; the id is "" when there is none.
 */
export function answered(dialect: Dialect, kind: string, content: string): [string, string] {
  try {
    if (!kind.startsWith("text/event-stream")) {
      const whole = JSON.parse(content);
      return [dialect.answer(whole), String(whole.id ?? "")];
    }
    const all = events(content);
    const whole = all.map(({ response, message }) => response ?? message).find(Boolean);
    return [dialect.streamed(all), String(whole?.id ?? "")];
  } catch {
    return ["", ""];
  }
}

function after(text: string, block: string): string {
  return block ? `${text}\n\n${block}` : text;
}

function words(kinds: string[], content: Body): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .filter((part) => kinds.includes(part?.type) && typeof part.text === "string")
    .map((part) => part.text)
    .join("\n");
}

function events(text: string): Body[] {
  return text
    .split(/\r\n|\r|\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice("data:".length).trim())
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data));
}

const CHAT_ENDS = ["stop", "length"];
const MESSAGE_ENDS = ["end_turn", "stop_sequence", "max_tokens"];

const chat: Dialect = {
  turns: "messages",
  part: "text",
  answer({ choices }) {
    if (choices.length !== 1 || !CHAT_ENDS.includes(choices[0].finish_reason)) return "";
    return choices[0].message.content ?? "";
  },
  streamed(events) {
    let said = "";
    let ended = false;
    for (const choice of events.flatMap((event) => event.choices ?? [])) {
      if (choice.index) return ""; // several answers at once are none that was given
      said += choice.delta.content ?? "";
      ended ||= CHAT_ENDS.includes(choice.finish_reason);
    }
    return ended ? said : "";
  },
};

/** Items of a response after which the program has to do something; other tools ran at the service. */
const ASKING = [
  "function_call",
  "custom_tool_call",
  "computer_call",
  "local_shell_call",
  "shell_call",
  "apply_patch_call",
  "mcp_approval_request",
];

const responses: Dialect = {
  turns: "input",
  part: "input_text",
  answer({ status, output }) {
    const calls = output.some((item: Body) => ASKING.includes(item.type));
    if (status !== "completed" || calls) return "";
    return output
      .filter((item: Body) => item.type === "message")
      .flatMap((item: Body) => item.content)
      .filter((part: Body) => part.type === "output_text")
      .map((part: Body) => part.text)
      .join("\n");
  },
  streamed(events) {
    const whole = events.filter((event) => event.type === "response.completed").at(-1);
    return whole ? responses.answer(whole.response) : "";
  },
};

const messages: Dialect = {
  turns: "messages",
  part: "text",
  answer({ stop_reason, content }) {
    if (!MESSAGE_ENDS.includes(stop_reason)) return "";
    return content
      .filter((part: Body) => part.type === "text")
      .map((part: Body) => part.text)
      .join("\n");
  },
  streamed(events) {
    let said = "";
    let reason = "";
    let ended = false;
    for (const { type, delta } of events) {
      if (type === "content_block_delta" && delta.type === "text_delta") said += delta.text;
      if (type === "message_delta") reason = delta.stop_reason ?? reason;
      ended ||= type === "message_stop";
    }
    const content = [{ type: "text", text: said }];
    return ended ? messages.answer({ stop_reason: reason, content }) : "";
  },
};

const DIALECTS: [string, Dialect][] = [
  ["/chat/completions", chat],
  ["/responses", responses],
  ["/messages", messages],
];
