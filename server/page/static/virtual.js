// A list that draws only the rows in sight and asks for more near its end.
import { useKept } from './kept.js';
import { html, useEffect, useLayoutEffect, useRef, useState } from './ui.js';
import { t } from './words.js';

const ROW = 104;  // pixels of one row, also in style.css

/** @param {{items: any[], row: (item: any) => any, more: (() => void)|null, label: string}} props */
export function Virtual({ items, row, more, label }) {
  const box = useRef(/** @type {HTMLElement|null} */ (null));
  const [top, move] = useKept('top', 0);
  const [height, size] = useState(600);
  useLayoutEffect(() => { if (box.current) box.current.scrollTop = top; }, []);
  useEffect(() => {
    const watched = new ResizeObserver(() => size(box.current?.clientHeight ?? 600));
    if (box.current) watched.observe(box.current);
    return () => watched.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / ROW) - 4);
  const last = Math.min(items.length, Math.ceil((top + height) / ROW) + 4);
  useEffect(() => { if (more && last >= items.length - 10) more(); }, [last, items.length, more]);
  const place = (/** @type {HTMLElement|null} */ el, /** @type {number} */ n) => { if (el) el.style.transform = `translateY(${n * ROW}px)`; };
  return html`<div class="virtual" ref=${box} tabindex="0" role="region" aria-label=${label} onScroll=${(/** @type {any} */ e) => move(e.target.scrollTop)}>
    <ul ref=${(/** @type {HTMLElement|null} */ el) => { if (el) el.style.height = `${items.length * ROW}px`; }}>
    ${items.slice(first, last).map((item, n) => html`<li key=${item.id} aria-setsize=${more ? -1 : items.length} aria-posinset=${first + n + 1} ref=${(/** @type {any} */ el) => place(el, first + n)}>${row(item)}</li>`)}</ul>
    ${more ? html`<p class="loading">${t('loading')}</p>` : null}</div>`;
}
