// Every word of the page, in each language: one table, the same keys in all.
import { WORDS as en } from './words/en.js';

/** The words of the languages that were spoken here, and of English. @type {Record<string, Record<string, string>>} */
const TABLES = { en };
/** What the program says in English, in the other languages that were spoken here. @type {Record<string, Record<string, string>>} */
export const SENTENCES = {};
/** @type {Array<[string, string]>} */
export const LANGUAGES = [['en', 'English'], ['de', 'Deutsch']];
/** What a language needs beside English: only who reads it loads it.
 * @type {Record<string, () => Promise<[{WORDS: Record<string, string>}, {SAID: Record<string, string>}]>>} */
const OTHERS = { de: () => Promise.all([import('./words/de.js'), import('./words/said-de.js')]) };
const KEY = 'anamnesis-language';

let spoken = 'en', wish = spoken;

/** The language that the reader chose in this tab, or reads. */
export const wished = () => sessionStorage.getItem(KEY) ?? navigator.languages.map((each) => each.slice(0, 2)).find((each) => each === 'en' || each in OTHERS) ?? 'en';

export const language = () => spoken;

/** The reader's own kind of the language of the page, as en-GB. */
export const tongue = () => navigator.languages.find((each) => each.startsWith(spoken)) ?? spoken;

/** *value* as the language writes it. @param {number} value @param {number} [digits] behind the point */
export const figure = (value, digits = 2) => value.toLocaleString(tongue(), { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** A date in the language of the page: that of a moment where the reader is; a day or month that *iso* names is that of no time zone.
 * @param {string} iso @param {Intl.DateTimeFormatOptions} style */
const dated = (iso, style) => new Intl.DateTimeFormat(tongue(), iso.includes('T') ? style : { ...style, timeZone: 'UTC' }).format(new Date(iso));

/** @param {string} iso */
export const day = (iso) => dated(iso, { dateStyle: 'medium' });

/** @param {string} iso */
export const month = (iso) => dated(iso, { month: 'long', year: 'numeric' });

/** What stands at a tick of an axis of time, of which two are *days* apart. @param {number} second @param {number} days */
export function ticked(second, days) {
  /** @type {Intl.DateTimeFormatOptions} */ const style = days >= 365 ? { year: 'numeric' } : days >= 28 ? { month: 'short', year: 'numeric' } : { day: 'numeric', month: 'short' };
  return new Intl.DateTimeFormat(tongue(), style).format(new Date(second * 1000));
}

/** Speak *id* as soon as its words are there. Rejects when they do not come; then the language stays. @param {string} id */
export async function setLanguage(id) {
  const next = wish = id in OTHERS ? id : 'en';
  if (!(next in TABLES)) {
    const [{ WORDS }, { SAID }] = await OTHERS[next]();
    TABLES[next] = WORDS;
    SENTENCES[next] = SAID;
  }
  if (next !== wish) return;  // another was chosen meanwhile
  spoken = next;
  sessionStorage.setItem(KEY, spoken);
  document.documentElement.lang = spoken;
}

/** @param {string} key */
export const has = (key) => key in en;

/** What *name* of *group* is called; *name* itself where there are no words for it.
 * @param {string} group @param {string} name */
export const called = (group, name) => has(`${group}.${name}`) ? t(`${group}.${name}`) : name;

/** A client by the name that it gave; the program's own ones are called by words. @param {string} name */
export const client = (name) => called('client', name);

/** What wrote a change: the program by its own name for it, a client by the name that it gave. @param {string} source */
export function through(source) {
  const [name] = source.split(/[: ]/);
  return has('through.' + name) ? t('through.' + name) : source;
}

/** Who made a change and what wrote it; "" where neither is known. @param {string} who @param {string} what */
export const author = (who, what) => !what ? who && t('byAgent', who) : who ? t('by', who, what) : t('byItself', what);

/** The words of *key* with {0}, {1} filled in, of one thing those of *key*.one. @param {string} key @param {...(string|number)} values */
export function t(key, ...values) {
  const own = values.includes(1) && has(key + '.one') ? key + '.one' : key;
  const words = TABLES[spoken][own] ?? en[own] ?? own;
  return words.replace(/\{(\d)\}/g, (_, n) => String(values[Number(n)] ?? ''));
}
