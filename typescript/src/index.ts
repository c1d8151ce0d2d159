/** Client of the Anamnesis memory server, and a fetch that gives chat clients a memory. */
export { connect, MemoryProblem, type Memory, type Connection } from "./client.js";
export { rememberingFetch, type Remembering, type RememberingFetch } from "./remembering.js";
export type { components, operations, paths } from "./schema.js";
