// What the reader was at stays with its entry in the browser's history: the way back finds it again.
import { useCallback, useLayoutEffect, useRef, useState } from './ui.js';

/** A value that outlives the view, and how the view that shows it is drawn again. @typedef {{value: any, draw: () => void}} Slot */
/** @typedef {{scroll: number, slots: Record<string, Slot>}} Entry */

const MOST = 50, PATIENCE = 10000;

/** @type {Map<number, Entry>} */ const entries = new Map();
/** @type {Record<string, Slot>} */ const tab = {};
/** The ids of what was forgotten since the page was opened: what is kept may still name it. @type {Set<string>} */
export const lost = new Set();
/** @type {Entry} */ let current = { scroll: 0, slots: {} };
let last = Date.now();

/** Begin with the entry that the address stands for; true when the reader was there before. */
export function arrive() {
  const known = entries.get(history.state?.entry);
  if (known) { current = known; return true; }
  current = { scroll: 0, slots: {} };
  history.replaceState({ entry: ++last }, '');
  entries.set(last, current);
  if (entries.size > MOST) entries.delete(/** @type {number} */ (entries.keys().next().value));
  return false;
}

/** Keep where the reader scrolls to. */
export function watch() {
  history.scrollRestoration = 'manual';
  addEventListener('scroll', () => { current.scroll = scrollY; }, { passive: true });
}

/** Scroll to where the reader was and focus the link that was followed, while *main* fills again: what
 * comes in above would move the page. Whatever the reader does meanwhile ends it.
 * @param {HTMLElement} main @param {string} from the address that was left */
export function restore(main, from) {
  const wanted = current.scroll, stop = new AbortController();
  const look = () => {
    scrollTo(0, wanted);
    const link = [...main.querySelectorAll('a')].find((each) => each.getAttribute('href') === from);
    if (link && document.activeElement === main) link.focus({ preventScroll: true });
  };
  const sized = new ResizeObserver(look), timer = setTimeout(() => stop.abort(), PATIENCE);
  stop.signal.addEventListener('abort', () => { sized.disconnect(); clearTimeout(timer); });
  for (const name of ['wheel', 'touchstart', 'pointerdown', 'keydown', 'hashchange']) addEventListener(name, () => stop.abort(), { once: true, signal: stop.signal });
  sized.observe(main);
}

/** As useState; the value is there again on the way back, or with *always* in the whole tab.
 * @template T @param {string} name @param {T} first @param {boolean} [always] @returns {[T, (next: T | ((old: T) => T)) => void]} */
export function useKept(name, first, always = false) {
  const slots = useRef(always ? tab : current.slots).current;
  const slot = slots[name] ??= { value: first, draw: () => {} };
  const [, draw] = useState(0);
  useLayoutEffect(() => {
    slot.draw = () => draw((n) => n + 1);
    return () => { slot.draw = () => {}; };
  }, []);
  const set = useCallback((/** @type {any} */ next) => {
    slot.value = typeof next === 'function' ? next(slot.value) : next;
    slot.draw();
  }, []);
  return [slot.value, set];
}
