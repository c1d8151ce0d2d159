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
