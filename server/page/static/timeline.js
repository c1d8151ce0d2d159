// How many memories each week or month has, as bars; a stretch of it is chosen with the mouse or with two handles.
import { get } from './api.js';
import { Loaded, html, useChanges, useEffect, useLoad, useRef, useState } from './ui.js';
import { day, figure, language, t, ticked } from './words.js';

const WEEKS = 300, HEIGHT = 120, DAY = 86_400, NEAR = 3;  // pixels that a hand may miss a bar's middle by

/** @typedef {{start: string, end: string, memories: number}} Span its first and last day, and how many memories it has */
/** @typedef {(since: string, until: string) => void} Brushed */

/** The last day of the week or month that begins on *start*. @param {string} start @param {string} step */
function lastDay(start, step) {
  const [year, month, date] = start.split('-').map(Number);
  return new Date(step === 'month' ? Date.UTC(year, month, 0) : Date.UTC(year, month - 1, date + 6)).toISOString().slice(0, 10);
}

/** @param {{since: string, until: string, brushed: Brushed}} props */
export function Timeline({ since, until, brushed }) {
  const spans = useLoad(async (signal) => {
    const read = async (/** @type {string} */ step) => (await get('stats/timeline', { step }, signal)).spans.map(({ start, memories }) => ({ start: start.slice(0, 10), end: lastDay(start.slice(0, 10), step), memories }));
    const weeks = await read('week');
    return weeks.length > WEEKS ? read('month') : weeks;
  }, []);
  useChanges(() => spans.again());
  return html`<section aria-label=${t('timeline')}><${Loaded} of=${spans} none=${(/** @type {Span[]} */ s) => s.length < 2} empty=${t('timelineEmpty')}>
    ${(/** @type {Span[]} */ s) => html`<${Brush} spans=${s} since=${since} until=${until} brushed=${brushed} />`}<//>
    ${since || until ? html`<p role="status">${t('between', since ? day(since) : '…', until ? day(until) : '…')} <button type="button" onClick=${() => brushed('', '')}>${t('wholeTime')}</button></p>` : null}</section>`;
}

/** The bars, and a handle at each end of what is chosen of them; the whole where nothing is.
 * @param {{spans: Span[], since: string, until: string, brushed: Brushed}} props */
function Brush({ spans, since, until, brushed }) {
  const end = spans.length - 1, from = Math.max(0, spans.findIndex((s) => !since || s.end >= since));
  const to = Math.max(from, spans.filter((s) => !until || s.start <= until).length - 1);
  const pick = (/** @type {number} */ a, /** @type {number} */ b) => brushed(a ? spans[a].start : '', b < end ? spans[b].end : '');
  return html`<${Chart} spans=${spans} from=${from} to=${to} pick=${pick} />
    <div class="two" role="group" aria-label=${t('stretch')}><${Handle} label=${t('stretchFrom')} at=${from} end=${end} name=${(/** @type {number} */ n) => day(spans[n].start)} set=${(/** @type {number} */ n) => pick(n, Math.max(n, to))} />
    <${Handle} label=${t('stretchTo')} at=${to} end=${end} name=${(/** @type {number} */ n) => day(spans[n].end)} set=${(/** @type {number} */ n) => pick(Math.min(n, from), n)} /></div><p class="hint">${t('brushHint')}</p>`;
}

/** One end of the stretch; *name* says which day a place stands for.
 * @param {{label: string, at: number, end: number, name: (place: number) => string, set: (place: number) => void}} props */
function Handle({ label, at, end, name, set }) {
  const [held, move] = useState(/** @type {number|null} */ (null)), place = Math.min(held ?? at, end);
  return html`<label class="field"><span>${label} ${name(place)}</span><input type="range" min="0" max=${end} value=${place} aria-label=${label} aria-valuetext=${name(place)}
    onInput=${(/** @type {any} */ e) => move(Number(e.target.value))} onChange=${(/** @type {any} */ e) => { move(null); set(Number(e.target.value)); }} /></label>`;
}

/** @param {{spans: Span[], from: number, to: number, pick: (from: number, to: number) => void}} props */
function Chart({ spans, from, to, pick }) {
  const box = useRef(/** @type {HTMLElement|null} */ (null)), plot = useRef(/** @type {any} */ (null));
  const chosen = useRef({ from, to, pick });
  chosen.current = { from, to, pick };
  const seconds = (/** @type {string} */ iso, days = 0) => Date.parse(iso) / 1000 + days * DAY;
  const middle = (/** @type {Span} */ s) => (seconds(s.start) + seconds(s.end, 1)) / 2;
  const mark = () => {
    const u = plot.current, { from, to } = chosen.current;
    if (!u) return;
    const all = !from && to === spans.length - 1, left = u.valToPos(seconds(spans[from].start), 'x');
    u.setSelect(all ? { left: 0, width: 0, top: 0, height: 0 } : { left, width: u.valToPos(seconds(spans[to].end, 1), 'x') - left, top: 0, height: u.over.clientHeight }, false);
  };
  useEffect(() => {
    let gone = false;
    const at = box.current;
    if (!at) return () => {};
    import('./vendor/uplot.js').then(({ default: uPlot }) => {
      if (gone) return;
      const colour = getComputedStyle(at).getPropertyValue('--accent'), ink = getComputedStyle(at).color;
      const middles = spans.map(middle), edges = [seconds(spans[0].start), seconds(spans[spans.length - 1].end, 1)];
      const drawn = (/** @type {any} */ u) => {
        const { left, width } = u.select;
        if (width <= 2) return;
        const low = u.posToVal(left - NEAR, 'x'), high = u.posToVal(left + width + NEAR, 'x'), centre = (low + high) / 2;
        const inside = middles.flatMap((each, n) => each >= low && each <= high ? [n] : []);
        const nearest = middles.reduce((best, each, n) => Math.abs(each - centre) < Math.abs(middles[best] - centre) ? n : best, 0);
        const first = inside[0] ?? nearest, last = inside[inside.length - 1] ?? nearest;
        chosen.current.pick(first, last);
        mark();
      };
      const axis = { stroke: ink, grid: { show: false }, ticks: { stroke: ink } };
      plot.current = new uPlot({
        width: at.clientWidth, height: HEIGHT, legend: { show: false }, cursor: { y: false, drag: { x: true, y: false, setScale: false } },
        scales: { x: { range: () => /** @type {[number, number]} */ (edges) }, y: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ most) => /** @type {[number, number]} */ ([0, most]) } },
        axes: [{ ...axis, space: 80, values: (/** @type {any} */ _, /** @type {number[]} */ at, /** @type {any} */ __, /** @type {any} */ ___, /** @type {number} */ step) => at.map((each) => ticked(each, step / DAY)) },
          { ...axis, size: 44, values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map((each) => figure(each, 0)), incrs: [1, 2, 5].flatMap((n) => [1, 10, 100, 1000, 10_000, 100_000].map((ten) => n * ten)).sort((a, b) => a - b) }],
        series: [{}, { stroke: colour, fill: colour, paths: uPlot.paths.bars?.({ size: [0.8, 40] }), points: { show: false } }],
        hooks: { setSelect: [drawn] },
      }, [middles, spans.map((s) => s.memories)], at);
      mark();
    });
    const sized = new ResizeObserver(() => { plot.current?.setSize({ width: at.clientWidth, height: HEIGHT }); mark(); });
    sized.observe(at);
    return () => { gone = true; sized.disconnect(); plot.current?.destroy(); plot.current = null; at.replaceChildren(); };
  }, [JSON.stringify(spans), language()]);
  useEffect(mark, [from, to]);
  const total = spans.reduce((sum, s) => sum + s.memories, 0);
  return html`<div class="chart" ref=${box} role="img" aria-label=${t('timelineLabel', total, day(spans[0].start), day(spans[spans.length - 1].end))}></div>`;
}
