// Text as people see it: characters that hide or reorder others are named.
import { html } from './ui.js';
import { tongue } from './words.js';

const HIDDEN = /(?<![#*0-9\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\u{1f000}-\u{1faff}])[\ufe0e\ufe0f]|(?<![\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af\ufe0f\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2900-\u297f\u2b00-\u2bff\u{1f000}-\u{1faff}])[\u200c\u200d]|[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** The name of a hidden character, as U+202E. @param {string} c */
const named = (c) => 'U+' + (c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');

/** *text* with every hidden character named, as plain text. @param {string} text */
export const plain = (text) => String(text).replace(HIDDEN, (c) => `⟨${named(c)}⟩`);

/** A short form of *text*. @param {string} text @param {number} most */
export const clipped = (text, most) => {
  const letters = Array.from(String(text).slice(0, most * 2));
  return letters.length > most ? letters.slice(0, most - 1).join('') + '…' : letters.join('');
};

/** Shows stored text: never markup, hidden characters as marks.
 * @param {{text: string, most?: number}} props */
export function Stored({ text, most = 0 }) {
  const whole = most ? clipped(text, most) : String(text);
  const parts = [];
  let last = 0;
  for (const found of whole.matchAll(HIDDEN)) {
    if (found.index > last) parts.push(whole.slice(last, found.index));
    parts.push(html`<span class="hidden-character">${named(found[0])}</span>`);
    last = found.index + found[0].length;
  }
  parts.push(whole.slice(last));
  return html`<bdi class="stored" dir="auto">${parts}</bdi>`;
}

/** A moment in the reader's own words; "" for none.
 * @param {string|null|undefined} iso @param {boolean} [short] */
export function when(iso, short) {
  if (!iso) return '';
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return new Intl.DateTimeFormat(tongue(), short ? { dateStyle: 'medium' } : { dateStyle: 'medium', timeStyle: 'short' }).format(date);
}

/** Pieces of *before* and *after* that are the same, gone and new, word by word.
 * @param {string} before @param {string} after @returns {Array<['='|'-'|'+', string]>} */
export function difference(before, after) {
  const a = before.match(/\s+|\S+/g) ?? [], b = after.match(/\s+|\S+/g) ?? [];
  if (a.length * b.length > 1_000_000) return [['-', before], ['+', after]];
  const table = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  /** @type {Array<['='|'-'|'+', string]>} */
  const out = [];
  const add = (/** @type {'='|'-'|'+'} */ how, /** @type {string} */ part) => {
    const end = out[out.length - 1];
    if (end && end[0] === how) end[1] += part; else out.push([how, part]);
  };
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { add('=', a[i]); i++; j++; }
    else if (j >= b.length || (i < a.length && table[i + 1][j] >= table[i][j + 1])) add('-', a[i++]);
    else add('+', b[j++]);
  }
  return out;
}

/** @param {{before: string, after: string}} props */
export const Diff = ({ before, after }) => html`<span class="diff">${difference(before, after).map(([how, part]) => how === '-' ? html`<del><${Stored} text=${part} /></del>` : how === '+' ? html`<ins><${Stored} text=${part} /></ins>` : html`<${Stored} text=${part} />`)}</span>`;
