// How many memories each day, week or month has, as bars; a stretch of it can be chosen.
import { get } from './api.js';
import { Loaded, html, useChanges, useEffect, useLoad, useRef } from './ui.js';
import { t } from './words.js';

/** @param {{since: string, until: string, brushed: (since: string, until: string) => void}} props */
export function Timeline({ since, until, brushed }) {
  const spans = useLoad(async (signal) => {
    const days = (await get('stats/timeline', { step: 'week' }, signal)).spans;
    return days.length > 300 ? (await get('stats/timeline', { step: 'month' }, signal)).spans : days;
  }, []);
  useChanges(() => spans.again());
  return html`<section aria-label=${t('timeline')}><${Loaded} of=${spans} none=${(/** @type {any[]} */ s) => s.length < 2} empty=${t('timelineEmpty')}>
    ${(/** @type {any[]} */ s) => html`<${Chart} spans=${s} brushed=${brushed} />`}<//>
    ${since || until ? html`<p>${t('between', since || '…', until || '…')} <button type="button" onClick=${() => brushed('', '')}>${t('wholeTime')}</button></p>` : null}</section>`;
}

/** @param {{spans: Array<{start: string, memories: number}>, brushed: (since: string, until: string) => void}} props */
function Chart({ spans, brushed }) {
  const box = useRef(/** @type {HTMLElement|null} */ (null));
  useEffect(() => {
    let plot = /** @type {any} */ (null), gone = false;
    const at = box.current;
    if (!at) return () => {};
    import('./vendor/uplot.js').then(({ default: uPlot }) => {
      if (gone) return;
      const colour = getComputedStyle(at).getPropertyValue('--accent'), ink = getComputedStyle(at).color;
      const day = (/** @type {number} */ s) => new Date(s * 1000).toISOString().slice(0, 10);
      const axis = { stroke: ink, grid: { show: false }, ticks: { stroke: ink } };
      plot = new uPlot({
        width: at.clientWidth, height: 120, legend: { show: false }, cursor: { y: false, drag: { x: true, y: false, setScale: false } },
        axes: [axis, { ...axis, size: 44 }],
        series: [{}, { stroke: colour, fill: colour, paths: uPlot.paths.bars?.({ size: [0.8, 40] }), points: { show: false } }],
        hooks: { setSelect: [(/** @type {any} */ u) => { if (u.select.width > 2) brushed(day(u.posToVal(u.select.left, 'x')), day(u.posToVal(u.select.left + u.select.width, 'x'))); }] },
      }, [spans.map((s) => Date.parse(s.start) / 1000), spans.map((s) => s.memories)], at);
    });
    const sized = new ResizeObserver(() => plot?.setSize({ width: at.clientWidth, height: 120 }));
    sized.observe(at);
    return () => { gone = true; sized.disconnect(); plot?.destroy(); at.replaceChildren(); };
  }, [JSON.stringify(spans)]);
  const total = spans.reduce((sum, s) => sum + s.memories, 0);
  return html`<div class="chart" ref=${box} role="img" aria-label=${t('timelineLabel', total, spans[0].start, spans[spans.length - 1].start)}></div><p class="hint">${t('brushHint')}</p>`;
}
