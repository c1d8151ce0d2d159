// Every word of the page, in each language: one table, the same keys in all.
import { WORDS as de } from './words/de.js';
import { WORDS as en } from './words/en.js';

/** @type {Record<string, Record<string, string>>} */
export const TABLES = { en, de };
/** @type {Array<[string, string]>} */
export const LANGUAGES = [['en', 'English'], ['de', 'Deutsch']];
const KEY = 'anamnesis-language';

let spoken = sessionStorage.getItem(KEY) ?? (navigator.languages.map((l) => l.slice(0, 2)).find((l) => l in TABLES) ?? 'en');

export const language = () => spoken;

/** @param {string} id */
export function setLanguage(id) {
  spoken = id in TABLES ? id : 'en';
  sessionStorage.setItem(KEY, spoken);
  document.documentElement.lang = spoken;
}

/** @param {string} key */
export const has = (key) => key in TABLES.en;

/** What *name* of *group* is called; *name* itself where there are no words for it.
 * @param {string} group @param {string} name */
export const called = (group, name) => has(`${group}.${name}`) ? t(`${group}.${name}`) : name;

/** The words of *key* with {0}, {1} filled in. @param {string} key @param {...(string|number)} values */
export function t(key, ...values) {
  const words = TABLES[spoken][key] ?? TABLES.en[key] ?? key;
  return words.replace(/\{(\d)\}/g, (_, n) => String(values[Number(n)] ?? ''));
}
