// What the program says in English, in the language of the page, by the forms of its sentences.
import { SENTENCES, figure, language } from './words.js';

/** @typedef {{pattern: RegExp, longest: string, fixed: number, open: boolean[], words: string}} Form */
/** *sure*: how many letters of the sentence are known. @typedef {{words: string, sure: number}} Told */

/** A sentence of which fewer letters are known is left as it is: "{} is {}" fits too much.
 * One that is longer or has more parts is none of the program; to look for each part takes too long. */
const LEAST = 6, PARTS = 60, LONG = 2000, KEPT = 20_000;
const PART = /[;:,.] /g;

/** @type {Record<string, Form[]>} */ const read = {};
/** @type {Map<string, Told|null>} */ const known = new Map();
let of = '';

/** @param {[string, string]} entry @returns {Form} */
function form([said, words]) {
  const parts = said.split('{}');
  return {
    pattern: new RegExp('^' + parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('(.*?)') + '$', 's'),
    longest: parts.reduce((a, b) => b.length > a.length ? b : a),
    fixed: said.replace(/[^a-z]/gi, '').length,
    open: parts.slice(1).map((_, n) => !/["']$/.test(parts[n])),  // what is in quotes is somebody's
    words,
  };
}

/** A large number as the language writes it. @param {string} value */
const counted = (value) => /^\d{1,3}(,\d{3})+$/.test(value) ? figure(Number(value.replaceAll(',', '')), 0) : value;

/** *text* where enough of it is known to say it by itself. @param {string} text @returns {Told|null} */
function alone(text) {
  const found = told(text);
  return found && (found.sure >= LEAST || text in SENTENCES[of]) ? found : null;
}

/** *text* as one sentence of which a form is known: the one that has most of its letters. @param {string} text @returns {Told|null} */
function whole(text) {
  /** @type {Told|null} */ let best = null;
  for (const { pattern, longest, fixed, open, words } of read[of]) {
    const found = text.includes(longest) && pattern.exec(text);
    if (!found) continue;
    const values = found.slice(1).map((value, n) => open[n] && value.length < text.length && !/^["']/.test(value) ? alone(value) : null);
    const sure = values.reduce((sum, value) => sum + (value?.sure ?? 0), fixed);
    if (sure > (best?.sure ?? 0)) best = { sure, words: words.replace(/\{(\d)\}/g, (_, n) => values[n]?.words ?? counted(found[Number(n) + 1])) };
  }
  return best;
}

/** *text* as one sentence, or as several, of which some may be unknown. @param {string} text @returns {Told|null} */
function told(text) {
  const before = known.get(text);
  if (before !== undefined) return before;
  let best = whole(text);
  const ends = [...text.matchAll(PART)];
  for (const { index } of ends.length > PARTS ? [] : ends) {
    const end = index + 2, first = whole(text.slice(0, index)), rest = told(text.slice(end));
    const sure = (first?.sure ?? 0) + (rest?.sure ?? 0);
    if (sure > (best?.sure ?? 0)) best = { sure, words: (first?.words ?? text.slice(0, index)) + text.slice(index, end) + (rest?.words ?? text.slice(end)) };
  }
  known.set(text, best);
  return best;
}

/** The sentence *text* of the program in the language of the page; "" when it is not known there, and in English.
 * @param {string} text */
export function said(text) {
  const now = language();
  if (!(now in SENTENCES) || text.length > LONG) return '';
  if (now !== of || known.size > KEPT) known.clear();
  of = now;
  read[of] ??= Object.entries(SENTENCES[of]).map(form);
  return alone(text)?.words ?? '';
}
