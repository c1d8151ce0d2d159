// What the API answers to a GET, by the path that is asked: from the types of its document.
import type { paths } from './schema.js';

/** A path of the document as a type of the addresses that it stands for. */
type Address<P extends string> = P extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${Address<After>}`
  : P;

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

type Content<O> = O extends { responses: { 200: { content: { 'application/json': infer T } } } } ? T : never;

/** The answer to a GET of the address *A*; of the page's own addresses nothing is known. */
export type Answer<A extends string> = A extends `/${string}`
  ? any
  : { [P in keyof paths]: Same<`/${A}`, Address<P & string>> extends true ? Content<paths[P]['get']> : never }[keyof paths];
