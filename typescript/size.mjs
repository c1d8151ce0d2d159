// What the client weighs in a page: bundled with what it needs, minified, and compressed.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const told = {};
for (const [name, code] of [
  ["connect", 'export { connect, MemoryProblem } from "./dist/index.js";'],
  ["rememberingFetch", 'export { rememberingFetch } from "./dist/index.js";'],
  ["all", 'export * from "./dist/index.js";'],
]) {
  const done = await build({
    stdin: { contents: code, resolveDir: import.meta.dirname ?? process.cwd() },
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
  });
  const bytes = done.outputFiles[0].contents;
  told[name] = { minified: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length };
}
console.log(JSON.stringify(told));
