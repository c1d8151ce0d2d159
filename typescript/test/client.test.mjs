/** The client against the real server; tests/typescript starts it and names it in the environment. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, MemoryProblem } from "../dist/index.js";

const { MEMORY_URL: url, MEMORY_TOKEN: token } = process.env;
const memory = connect({ url: `${url}/`, token });

test("what is stored is found", async () => {
  const stored = await memory.POST("/memories", {
    body: { text: "The kingfisher Tilda nests under the mill bridge.", tags: ["birds", "mill"] },
  });
  assert.equal(stored.data.status, "stored");
  const found = await memory.POST("/recall", { body: { query: "Where does Tilda nest?" } });
  assert.equal(found.data.memories[0].id, stored.data.id);
  const path = { id: stored.data.id };
  const one = await memory.GET("/memories/{id}", { params: { path } });
  assert.deepEqual(one.data.tags, ["birds", "mill"]);
  const both = { query: { tag: ["birds", "mill"] } };
  const listed = await memory.GET("/memories", { params: both });
  assert.deepEqual(listed.data.memories.map(({ id }) => id), [stored.data.id]);
});

test("an answer of 304 is no refusal", async () => {
  const stored = await memory.POST("/memories", { body: { text: "Tilda was ringed in May." } });
  const path = { id: stored.data.id };
  const first = await memory.GET("/memories/{id}", { params: { path } });
  const known = { "If-None-Match": first.response.headers.get("etag") };
  const again = await memory.GET("/memories/{id}", { params: { path, header: known } });
  assert.equal(again.response.status, 304);
});

test("a refusal is thrown with its code and what to do", async () => {
  const refused = memory.POST("/memories", { body: { text: "a", colour: "red" } });
  await assert.rejects(refused, (problem) => {
    assert.ok(problem instanceof MemoryProblem);
    assert.equal(problem.status, 422);
    assert.match(problem.message, /colour/);
    assert.ok(problem.code && problem.nextStep);
    return true;
  });
});

test("so is that of the door, and of another server", async () => {
  const stranger = connect({ url, token: "no" });
  await assert.rejects(stranger.GET("/stats"), { status: 401 });
  const other = connect({ url, fetch: async () => new Response("<html>", { status: 502 }) });
  await assert.rejects(other.GET("/stats"), { status: 502, code: "unknown" });
});

test("what is no JSON is text", async () => {
  const stored = await memory.POST("/memories", { body: { text: "Tilda eats gudgeon. Größe: 17 cm." } });
  const { data: lines } = await memory.GET("/export");
  const records = lines.trim().split("\n").map((line) => JSON.parse(line));
  const mine = records.find(({ id }) => id === stored.data.id);
  assert.equal(mine.text, "Tilda eats gudgeon. Größe: 17 cm.");
  const again = await memory.POST("/import", { body: lines });
  assert.equal(again.data.trim().split("\n").length, records.length);
  assert.match(again.data, new RegExp(`"id": ?"${stored.data.id}"`));
  const notes = "when,text\n2026-05-04,Tilda has three chicks.\n";
  for (const body of [notes, new Blob([notes]), new TextEncoder().encode(notes)]) {
    const done = await memory.POST("/import/file", { body, params: { query: { name: "a.csv" } } });
    assert.match(done.data, /"run"/);
  }
  const found = await memory.POST("/recall", { body: { query: "How many chicks has Tilda?" } });
  assert.equal(found.data.memories[0].text, "Tilda has three chicks.");
});

test("what never ends, or is an archive, is read as it comes", async () => {
  await assert.rejects(memory.GET("/events"), /parseAs: "stream"/);
  const stop = new AbortController();
  const { data } = await memory.GET("/events", { parseAs: "stream", signal: stop.signal });
  const reader = data.getReader();
  await memory.POST("/memories", { body: { text: "Tilda sings at noon." } });
  let told = "";
  while (!told.includes("data:")) told += new TextDecoder().decode((await reader.read()).value);
  stop.abort();
  const okf = { params: { query: { format: "okf" } } };
  await assert.rejects(memory.GET("/export", okf), /parseAs: "blob"/);
  const archive = await memory.GET("/export", { ...okf, parseAs: "blob" });
  assert.equal((await archive.data.slice(0, 2).text()), "PK");
});
