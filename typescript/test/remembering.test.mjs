/** The SDKs of OpenAI and Anthropic with rememberingFetch, a real memory and a stand-in model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { connect, rememberingFetch } from "../dist/index.js";

const { MEMORY_URL: url, MODEL_URL: model, TOKENS } = process.env;
const tokens = JSON.parse(TOKENS);
const SAID = "It waits by the weir.";
const FACT = "The heron Alfred sleeps in the boathouse at Millbrook.";
const PROMPT = "The heron Alfred hurt its left wing today. Where does it sleep at Millbrook?";
const DARK = "it is dark";
const SECOND = "And what does the heron Alfred of Millbrook eat on Sundays?";
const user = (content) => ({ role: "user", content });

/** A client over a memory that knows FACT, and what the model was sent. */
async function made(Client, agent, { change, fetch = globalThis.fetch, ...more } = {}) {
  const token = tokens[agent];
  const own = connect({ url, token });
  await own.POST("/memories", { body: { text: FACT } });
  const sent = [];
  const seen = async (input, init) => {
    if (!String(input).startsWith(model)) return fetch(input, init);
    sent.push({ body: init.body, headers: new Headers(init.headers) });
    const response = await globalThis.fetch(input, init);
    return change ? change(response, sent.length) : response;
  };
  const problems = [];
  const onProblem = (problem) => problems.push(problem);
  const remembering = rememberingFetch({ url, token, fetch: seen, onProblem, ...more });
  const baseURL = Client === OpenAI ? `${model}/v1` : model;
  const client = new Client({ apiKey: "sk-test", baseURL, maxRetries: 0, fetch: remembering });
  const kept = async () => {
    await remembering.flush();
    const { data } = await own.GET("/memories", { params: { query: { limit: 100 } } });
    return data.memories.filter(({ role }) => role);
  };
  return { client, sent, problems, kept, remembering };
}

const chat = (client, messages, more) =>
  client.chat.completions.create({ model: "m", messages, ...more });
const claude = (client, messages) =>
  client.messages.create({ model: "m", max_tokens: 9, messages });

async function streamed(parts, text) {
  let said = "";
  for await (const part of parts) said += text(part) ?? "";
  return said;
}

const WAYS = {
  create: [OpenAI, async (c, t) => (await chat(c, t)).choices[0].message.content],
  create_streamed: [
    OpenAI,
    async (c, t) => streamed(await chat(c, t, { stream: true }), (p) => p.choices[0].delta.content),
  ],
  stream_helper: [
    OpenAI,
    (c, t) => c.chat.completions.stream({ model: "m", messages: t }).finalContent(),
  ],
  raw: [
    OpenAI,
    async (c, t) => (await (await chat(c, t).asResponse()).json()).choices[0].message.content,
  ],
  responses: [
    OpenAI,
    async (c, t) => (await c.responses.create({ model: "m", input: t })).output_text,
  ],
  responses_streamed: [
    OpenAI,
    async (c, t) => {
      const events = await c.responses.create({ model: "m", input: t, stream: true });
      return streamed(events, (e) => e.response?.status === "completed" && e.type === "response.completed" ? SAID : "");
    },
  ],
  messages: [Anthropic, async (c, t) => (await claude(c, t)).content[0].text],
  messages_streamed: [
    Anthropic,
    (c, t) => c.messages.stream({ model: "m", max_tokens: 9, messages: t }).finalText(),
  ],
};

for (const [way, [Client, call]] of Object.entries(WAYS)) {
  test(`${way}: a turn is told what it brings to mind and is kept`, async () => {
    const { client, sent, problems, kept } = await made(Client, way);
    assert.equal((await call(client, [user(PROMPT)])).trim(), SAID);
    const [first] = turnsOf(sent[0]);
    assert.ok(first.content.startsWith(`${PROMPT}\n\n`), first.content);
    assert.ok(first.content.includes(FACT));
    const texts = Object.fromEntries((await kept()).map(({ role, text }) => [role, text.trim()]));
    assert.deepEqual(texts, { user: PROMPT, assistant: SAID });
    await call(client, [user(PROMPT), { role: "assistant", content: SAID }, user(SECOND)]);
    assert.deepEqual(turnsOf(sent[1])[0], first);
    assert.deepEqual(problems, []);
  });
}

function turnsOf({ body }) {
  const { messages, input } = JSON.parse(body);
  return messages ?? input;
}

test("twenty turns keep the prefix byte for byte", async () => {
  const { client, sent } = await made(OpenAI, "twenty");
  const own = connect({ url, token: tokens.twenty });
  const turns = [];
  for (let number = 0; number < 20; number += 1) {
    await own.POST("/memories", {
      body: { text: `The heron Alfred caught eel number ${number} at Millbrook.` },
    });
    turns.push(user(`Which eel, number ${number}, did the heron Alfred catch at Millbrook?`));
    const { choices } = await chat(client, turns);
    turns.push({ role: "assistant", content: choices[0].message.content });
  }
  const starts = sent.map(({ body }) => body.slice(0, body.indexOf("]")));
  for (let at = 1; at < starts.length; at += 1) {
    assert.ok(starts[at].startsWith(starts[at - 1].slice(0, -1)), `turn ${at}`);
  }
  assert.ok(sent.filter(({ body }) => body.includes("<recalled-")).length > 10);
});

test("a loop of tools is one turn, and its results ask nothing", async () => {
  const call = { type: "tool_use", id: "t1", name: "look", input: {} };
  const change = async (response, number) => {
    if (number > 2) return response;
    const answer = { ...(await response.json()), content: [call], stop_reason: "tool_use" };
    return Response.json(answer);
  };
  const { client, sent, kept } = await made(Anthropic, "tools", { change });
  const turns = [user(PROMPT)];
  for (let round = 0; round < 3; round += 1) {
    const { content } = await claude(client, turns);
    const result = { type: "tool_result", tool_use_id: "t1", content: DARK };
    turns.push({ role: "assistant", content }, user([result]));
  }
  const [first, , last] = sent.map(turnsOf);
  assert.deepEqual(last[0], first[0]);
  const blocks = (turns) => JSON.stringify(turns).split("<recalled-").length - 1;
  assert.deepEqual([blocks(first), blocks(last)], [1, 1]);
  const texts = (await kept()).map(({ text }) => text);
  assert.equal(texts.filter((text) => text === PROMPT).length, 1);
  assert.ok(!texts.includes(DARK));
});

/** A loop of tools over the responses API: the service holds what was said, or each request has it. */
async function lookThrice(client, kept) {
  let input = [user(PROMPT)];
  let more = {};
  for (;;) {
    const done = await client.responses.create({ model: "m", input, ...more });
    const calls = done.output.filter(({ type }) => type === "function_call");
    if (!calls.length) return done.output_text;
    const results = calls.map(({ call_id }) => ({ type: "function_call_output", call_id, output: DARK }));
    input = kept ? results : [...input, ...done.output, ...results];
    more = kept ? { previous_response_id: done.id } : {};
  }
}

for (const [agent, kept_there] of [["loop", false], ["loop_kept", true]]) {
  test(`${agent}: tools of the responses API are one turn`, async () => {
    const change = async (response, number) => {
      const answer = await response.json();
      const call = { type: "function_call", id: "f", call_id: `c${number}`, name: "look", arguments: "{}" };
      const search = { type: "web_search_call", id: "w", status: "completed" };
      return Response.json({ ...answer, output: number > 2 ? [search, ...answer.output] : [call] });
    };
    const { client, sent, kept } = await made(OpenAI, agent, { change });
    assert.equal(await lookThrice(client, kept_there), SAID);
    const blocks = sent.map(({ body }) => body.split("<recalled-").length - 1);
    assert.deepEqual(blocks, kept_there ? [1, 0, 0] : [1, 1, 1]);
    const told = (await kept()).map(({ role, text }) => [role, text]).sort();
    assert.deepEqual(told, [["assistant", SAID], ["user", PROMPT]]);
  });
}

test("a conversation that the service holds is one", async () => {
  const { client, kept } = await made(OpenAI, "held");
  const ways = [(last) => (last ? { previous_response_id: last } : {}), () => ({ conversation: "conv_7" })];
  for (const [number, about] of ways.entries()) {
    let last = "";
    for (const input of [`${PROMPT} That is heron ${number}.`, `It ate ${number}7 eels on Sunday.`]) {
      last = (await client.responses.create({ model: "m", input, ...about(last) })).id;
    }
  }
  const turns = (await kept()).filter(({ role }) => role === "user");
  const sessions = [0, 1].map((n) => new Set(turns.filter(({ text }) => text.includes(String(n))).map(({ session }) => session)));
  assert.deepEqual(sessions.map(({ size }) => size), [1, 1]);
  assert.equal(turns.length, 4);
  assert.notDeepEqual(...sessions);
});

test("what begins like an earlier conversation is told again", async () => {
  const { client, sent, kept } = await made(OpenAI, "again");
  for (let round = 0; round < 2; round += 1) {
    await chat(client, [user(PROMPT)]);
    await kept();
  }
  assert.deepEqual(sent.map(({ body }) => body.includes(FACT)), [true, true]);
  const named = await made(OpenAI, "named", { session: "pond" });
  for (let round = 0; round < 2; round += 1) await chat(named.client, [user(PROMPT)]);
  assert.ok(named.sent[0].body.includes(FACT));
  assert.equal(named.sent[1].body, named.sent[0].body);
});

test("an answer whose end was not seen is not kept", async () => {
  const change = async (response, number) => {
    const said = await response.text();
    if (number > 1) return new Response('{"error": {"message": "no"}}', { status: 500 });
    const { headers } = response;
    return new Response(said.slice(0, said.indexOf("weir")).replace(/data:[^\n]*$/, ""), { headers });
  };
  const { client, kept } = await made(OpenAI, "broken", { change });
  await WAYS.create_streamed[1](client, [user(PROMPT)]);
  await assert.rejects(chat(client, [user(SECOND)]), { status: 500 });
  assert.deepEqual((await kept()).filter(({ role }) => role === "assistant"), []);
});

test("memory never fails a call", async () => {
  const fetch = async () => {
    throw new Error("the memory is away");
  };
  const { client, sent, problems } = await made(OpenAI, "away", { fetch });
  assert.equal((await chat(client, [user(PROMPT)])).choices[0].message.content, SAID);
  assert.deepEqual(turnsOf(sent[0]), [user(PROMPT)]);
  assert.ok(problems.length && !problems.join().includes(PROMPT));
  const revoked = await made(OpenAI, "away", { token: "no" });
  assert.equal((await chat(revoked.client, [user(PROMPT)])).choices[0].message.content, SAID);
  assert.match(revoked.problems.join(), /401/);
});

test("a Blob is read, and a body that is read only once goes on without memory", async () => {
  const { sent, problems, remembering } = await made(OpenAI, "blob");
  const text = JSON.stringify({ model: "m", messages: [user(PROMPT)] });
  const post = { method: "POST" };
  const address = `${model}/v1/chat/completions`;
  const blob = new Blob([text], { type: "application/json" });
  assert.equal((await remembering(address, { ...post, body: blob })).status, 200);
  assert.ok(sent[0].body.includes(FACT));
  assert.equal(sent[0].headers.get("content-type"), "application/json");
  assert.deepEqual(problems, []);
  const given = [];
  const fetch = async (_, init) => {
    given.push(init.body);
    return new Response("{}");
  };
  const passing = rememberingFetch({ url, fetch, onProblem: (problem) => problems.push(problem) });
  const body = blob.stream();
  await passing(address, { ...post, body });
  assert.deepEqual(given, [body]);
  assert.match(problems.join(), /without memory: its body is no string/);
});

test("a memory that hangs is waited for a second at most", { timeout: 20_000 }, async () => {
  const fetch = () => new Promise(() => {});
  const { client, problems } = await made(OpenAI, "away", { fetch });
  assert.equal((await chat(client, [user(PROMPT)])).choices[0].message.content, SAID);
  assert.match(problems.join(), /too long/);
});

test("a call names its conversation and agent to nobody else", async () => {
  const { client, sent } = await made(OpenAI, "ann", {
    token: (agent) => tokens[agent || "ann"],
  });
  const headers = { "X-Anamnesis-Session": "chat 7", "X-Anamnesis-Agent": "ben" };
  await client.chat.completions.create({ model: "m", messages: [user(PROMPT)] }, { headers });
  assert.deepEqual([...sent[0].headers.keys()].filter((name) => name.includes("anamnesis")), []);
  assert.equal(sent[0].headers.get("authorization"), "Bearer sk-test");
  assert.ok(!sent[0].body.includes(FACT), "what is ann's alone");
  const ben = connect({ url, token: tokens.ben });
  const { data } = await ben.GET("/memories");
  assert.ok(data.memories.some(({ text, session }) => text === PROMPT && session === "chat 7"));
});

test("no agent goes on with a conversation of another", async () => {
  const { client } = await made(OpenAI, "ann", { token: (agent) => tokens[agent || "ann"] });
  const asked = (agent, input) =>
    client.responses.create(
      { model: "m", input, conversation: "conv_8" },
      { headers: { "X-Anamnesis-Agent": agent } },
    );
  await asked("", `${PROMPT} That is heron 41.`);
  await asked("ben", `${PROMPT} That is heron 42.`);
  const sessions = await Promise.all(
    ["ann", "ben"].map(async (agent) => {
      const { data } = await connect({ url, token: tokens[agent] }).GET("/memories");
      return data.memories.find(({ text }) => text.startsWith(`${PROMPT} That is heron 4`)).session;
    }),
  );
  assert.ok(sessions.every(Boolean));
  assert.notEqual(...sessions);
});

test("an agent without a token of its own gets no other's memory", async () => {
  const { client, sent, problems } = await made(OpenAI, "ann");
  const headers = { "X-Anamnesis-Agent": "ben" };
  await client.chat.completions.create({ model: "m", messages: [user(PROMPT)] }, { headers });
  assert.deepEqual(turnsOf(sent[0]), [user(PROMPT)]);
  assert.match(problems.join(), /no token/);
});

test("what asks nothing is sent as it is", async () => {
  const { client, sent } = await made(OpenAI, "plain");
  await chat(client, [user("ok go ahead")]);
  assert.equal(sent[0].body, JSON.stringify({ model: "m", messages: [user("ok go ahead")] }));
});

test("a Request is taken as well, and everything else is passed on", async () => {
  const seen = [];
  const fetch = async (input, init) => {
    if (String(input).endsWith("/hook")) return globalThis.fetch(input, init);
    seen.push(init?.body ?? input);
    return new Response(null, { status: 204 });
  };
  const remembering = rememberingFetch({ url, token: tokens.create, fetch });
  const body = JSON.stringify({ messages: [user(`${PROMPT} Tell me.`)] });
  await remembering(new Request(`${model}/v1/chat/completions`, { method: "POST", body }));
  assert.ok(seen[0].includes(FACT));
  await remembering(`${model}/v1/models`);
  assert.equal(seen[1], `${model}/v1/models`);
});
