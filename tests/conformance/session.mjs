// A whole session of a TypeScript SDK client with a server that is reached as a client would.
//
//   node session.mjs sdk|legacy|auto|modern '{"command": "...", "args": [...], "env": {...}}'
//   node session.mjs sdk|legacy|auto|modern '{"url": "http://...", "token": "..."}'
//
// "sdk" is @modelcontextprotocol/sdk (version 1); the others are @modelcontextprotocol/client
// (version 2) with that way of agreeing on a protocol revision. A URL that ends with /sse is
// reached over SSE. Prints what was agreed; ends with 1 at the first thing that is not right.

import assert from "node:assert/strict";

const SECONDS = 60;
const [sdk, given] = process.argv.slice(2);
const target = JSON.parse(given);
const version1 = sdk === "sdk";

async function parts() {
  if (version1) {
    const folder = "@modelcontextprotocol/sdk/client";
    return Object.assign(
      {},
      ...(await Promise.all(
        ["index", "stdio", "streamableHttp", "sse"].map((name) => import(`${folder}/${name}.js`)),
      )),
      await import("@modelcontextprotocol/sdk/types.js"),
    );
  }
  const folder = "@modelcontextprotocol/client";
  return { ...(await import(folder)), ...(await import(`${folder}/stdio`)) };
}

const kit = await parts();

function transport() {
  if (target.command) {
    const env = { ...kit.getDefaultEnvironment(), ...target.env };
    return new kit.StdioClientTransport({ ...target, env, stderr: "ignore" });
  }
  const url = new URL(target.url);
  const headers = { Authorization: `Bearer ${target.token}` };
  const Kind = url.pathname.endsWith("/sse")
    ? kit.SSEClientTransport
    : kit.StreamableHTTPClientTransport;
  return new Kind(url, { requestInit: { headers } });
}

const mode = sdk === "modern" ? { pin: "2026-07-28" } : sdk;
const options = version1 ? {} : { versionNegotiation: { mode, probe: { timeoutMs: SECONDS * 1e3 } } };
const client = new kit.Client({ name: "session.mjs", version: "1.0.0" }, options);
const patience = { timeout: SECONDS * 1e3 };
const call = (name, args, more = {}) =>
  client.callTool(
    { name, arguments: args },
    ...(version1 ? [undefined] : []),
    { ...patience, ...more },
  );

await client.connect(transport(), { timeout: (target.seconds ?? SECONDS) * 1e3 });
const said = [`${client.getServerVersion().name} ${client.getServerVersion().version}`];
said.push(client.getNegotiatedProtocolVersion?.() ?? client.transport?._protocolVersion ?? "legacy");

const { tools } = await client.listTools({}, patience);
assert.deepEqual(
  tools.map((tool) => tool.name),
  ["remember", "recall", "consolidate", "forget", "health"],
);

// What is remembered is recalled, the same in both channels.
const word = `tin${process.pid}`;
const text = `The tea is in the ${word}.`;
const stored = await call("remember", { text, session: "shelf", tags: ["tea"] });
const { id } = stored.structuredContent;
assert.match(id, /^[0-9a-z]{20}$/);
const found = await call("recall", { query: `What is in the ${word}?` });
assert.equal(found.structuredContent.memories[0].text, text);
assert.ok(found.content[0].text.includes(text));

// Progress, an error that the model can read, and the previewed removal.
let steps = 0;
await call("consolidate", { dry_run: true }, { onprogress: () => (steps += 1) });
const refused = await call("recall", { query: "tea", colour: "green" });
assert.ok(refused.isError && refused.content[0].text.includes("colour"));
const preview = await call("forget", { ids: [id] });
assert.equal(preview.structuredContent.status, "preview");

// Resources, templates, prompts, completions.
const { resources } = await client.listResources({}, patience);
assert.ok(resources.some((resource) => resource.uri === "memory://recent"));
const { resourceTemplates } = await client.listResourceTemplates({}, patience);
assert.equal(resourceTemplates.length, 4);
const item = await client.readResource({ uri: `memory://item/${id}` }, patience);
assert.ok(item.contents[0].text.includes(word));
const { prompts } = await client.listPrompts({}, patience);
assert.deepEqual(prompts.map((prompt) => prompt.name).sort(), ["briefing", "reflect"]);
const prompt = await client.getPrompt({ name: "briefing", arguments: { about: word } }, patience);
assert.ok(prompt.messages.length > 0);
const ref = { type: "ref/resource", uri: "memory://session/{id}" };
const { completion } = await client.complete({ ref, argument: { name: "id", value: "sh" } }, patience);
assert.deepEqual(completion.values, ["shelf"]);

// A change is announced to whoever subscribed.
const changed = new Promise((resolve, reject) => {
  setTimeout(() => reject(new Error("no notification came")), SECONDS * 1e3).unref();
  const about = version1
    ? kit.ResourceUpdatedNotificationSchema
    : "notifications/resources/updated";
  client.setNotificationHandler(about, ({ params }) => resolve(params.uri));
});
if (client.getProtocolEra?.() === "modern") {
  await client.listen({ resourceSubscriptions: ["memory://recent"] }, patience);
} else {
  await client.subscribeResource({ uri: "memory://recent" }, patience);
}
await call("remember", { text: `The coffee is beside the ${word}.` });
assert.equal(await changed, "memory://recent");

// A call that its caller gives up is cancelled and the session goes on.
const giveUp = new AbortController();
const abandoned = call("health", {}, { signal: giveUp.signal });
giveUp.abort();
await assert.rejects(abandoned);
const after = await call("recall", { query: `What is beside the ${word}?` });
assert.ok(after.structuredContent.found > 0 || after.structuredContent.memories.length > 0);

await client.close();
console.log(`${said.join(", ")}; ${steps} steps of progress`);
process.exit(0);
