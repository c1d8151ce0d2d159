// What is remembered as a graph: each node is a link, laid out in slices so that the page never stands still.
import { get } from '../api.js';
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from '../vendor/d3-force.js';
import { useKept } from '../kept.js';
import { Loaded, Table, html, useChanges, useEffect, useLoad, useMemo, useRef, useState } from '../ui.js';
import { clipped, plain } from '../text.js';
import { t } from '../words.js';

const NAMED = 60, LETTERS = 12, SHORT = 5, TIES = 1500, WIDTH = 900, HEIGHT = 600, TICKS = 220, SLICE = 10, PAUSE = 400, NAMES = 200;
const TYPES = ['topic', 'summary', 'episode', 'entity'];
/** The outline of each type around (0, 0): told apart by form. @type {Record<string, string>} */
const FORMS = { topic: 'M-1,0a1,1 0 1,0 2,0a1,1 0 1,0 -2,0', summary: 'M-1,-1H1V1H-1Z', episode: 'M0,-1.3L1.3,0L0,1.3L-1.3,0Z', entity: 'M0,-1.2L1.2,1L-1.2,1Z' };

/** @typedef {import('../answers.js').Answer<'graph'>} Whole */

/** How many nodes of each type the picture has at most (memory_core/overview/memory_graph.py). @type {Record<string, number>} */
const LIMITS = { topic: 120, summary: 80, episode: 200, entity: 100 };

/** What of all that is remembered the picture holds, a clause for each type that it does not hold whole; else "".
 * @param {Whole} whole @param {import('../answers.js').Answer<'stats'>} counts @param {number} named how many people and things there are at least */
function partial({ nodes, ties }, counts, named) {
  const derived = (counts.by_kind.summary ?? 0) + (counts.by_kind.concept ?? 0);
  /** @type {Record<string, number>} */ const all = { topic: counts.topics, summary: derived, episode: counts.memories - derived, entity: named };
  const held = (/** @type {string} */ type) => nodes.filter((n) => n.type === type).length;
  const said = TYPES.filter((type) => held(type) === LIMITS[type] && held(type) < all[type]).map((type) => t('graphOf.' + type, held(type), all[type]));
  if (ties.length > TIES) said.push(t('graphOf.ties', TIES, ties.length));
  return said.length ? t('graphPart', said.join(', ')) : '';
}

export default function Topics() {
  const graph = useLoad(async (signal) => {
    const [whole, counts, names] = await Promise.all([get('graph', {}, signal), get('stats', {}, signal), get('entities', { limit: NAMES }, signal)]);
    return { ...whole, part: partial(whole, counts, names.names.length) };
  }, []);
  const [hidden, hide] = useState(/** @type {string[]} */ ([]));
  useChanges(() => graph.again());
  const turn = (/** @type {string} */ type) => hide((old) => old.includes(type) ? old.filter((each) => each !== type) : [...old, type]);
  return html`<${Loaded} of=${graph} none=${(/** @type {Whole} */ g) => !g.nodes.length} empty=${t('noTopics')}>${(/** @type {Whole & {part: string}} */ g) => {
    const nodes = g.nodes.filter((n) => !hidden.includes(n.type)), shown = new Set(nodes.map((n) => n.key));
    const part = { ...g, nodes, ties: g.ties.filter((each) => shown.has(each.a) && shown.has(each.b)) };
    return html`<p class="hint">${t('topicsHint')} ${t('graphKeys')}</p>${g.part ? html`<p class="hint part">${g.part}</p>` : null}<fieldset class="legend"><legend>${t('shown')}</legend>${TYPES.map((type) => html`<label><input type="checkbox" checked=${!hidden.includes(type)} onChange=${() => turn(type)} />
      <svg class="graph ${type}" viewBox="-2 -2 4 4" aria-hidden="true"><path class=${type} d=${FORMS[type]} /></svg> ${t('nodes.' + type)} (${g.nodes.filter((n) => n.type === type).length})</label>`)}</fieldset>
    ${nodes.length ? html`<${Graph} graph=${part} /><${AsTable} graph=${part} />` : html`<p class="empty">${t('noneFits')}</p>`}`;
  }}<//>`;
}

/** @param {string} label */
export function short(label) {
  const words = plain(label).split(/\s+/);
  return clipped(words.slice(0, SHORT).join(' ') + (words.length > SHORT ? '…' : ''), 28);
}

/** Where a node leads. @param {Whole['nodes'][number]} node */
const address = ({ key, type, label }) => type === 'topic' ? '#/memories?topic=' + encodeURIComponent(label) : type === 'entity' ? '#/people/' + encodeURIComponent(label) : '#/memory/' + key;

/** @param {Whole['nodes'][number]} node */
const named = ({ type, label, size }) => type === 'topic' ? t('topicLabel', short(label), size) : t('node.' + type, short(label), size);

/** @param {{graph: Whole}} props */
function Graph({ graph }) {
  const [turn, draw] = useState(0);
  const key = graph.nodes.map((n) => n.key).join('\n');
  const { nodes, ties, moving } = useMemo(() => {
    const tall = innerWidth < innerHeight;
    const nodes = graph.nodes.map((n, i) => ({ ...n, r: (n.type === 'episode' ? 4 : 5) + 3 * Math.sqrt(n.type === 'topic' || n.type === 'entity' ? n.size : 0), x: WIDTH / 2 + 12 * Math.sqrt(i) * Math.cos(i * 2.4), y: HEIGHT / 2 + 12 * Math.sqrt(i) * Math.sin(i * 2.4) }));
    const by = new Map(nodes.map((n) => [n.key, n]));
    const ties = graph.ties.slice(0, TIES).map((each) => ({ ...each, source: /** @type {any} */ (by.get(each.a)), target: /** @type {any} */ (by.get(each.b)) }));
    const moving = forceSimulation(nodes).stop().force('links', forceLink(ties).distance(70).strength(0.15)).force('apart', forceManyBody().strength(-70).distanceMax(WIDTH / 3)).force('x', forceX(WIDTH / 2).strength(tall ? 0.12 : 0.06)).force('y', forceY(HEIGHT / 2).strength(tall ? 0.06 : 0.12)).force('collide', forceCollide((n) => n.r + 4));
    return { nodes, ties, moving };
  }, [key]);
  const [settled, settle] = useState(false);
  useEffect(() => {
    settle(false);
    let left = TICKS, frame = 0, drawn = 0;  // drawing takes far longer than a tick
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const slice = () => {
      const until = performance.now() + SLICE;
      while (left > 0 && performance.now() < until) { moving.tick(); left--; }
      if (left <= 0 || (!still && performance.now() - drawn > PAUSE)) { draw((n) => n + 1); drawn = performance.now(); }
      if (left > 0) frame = requestAnimationFrame(slice); else settle(true);
    };
    slice();
    return () => cancelAnimationFrame(frame);
  }, [moving]);
  const xs = nodes.map((n) => n.x), ys = nodes.map((n) => n.y);
  const box = [Math.min(...xs) - 60, Math.min(...ys) - 40, Math.max(200, Math.max(...xs) - Math.min(...xs) + 120), Math.max(150, Math.max(...ys) - Math.min(...ys) + 80)];
  const at = useRef(/** @type {any} */ (null)), pixel = at.current ? Math.max(box[2] / at.current.clientWidth, box[3] / at.current.clientHeight) : 1;
  const labelled = useMemo(() => placed(nodes, LETTERS * pixel, box[0], box[0] + box[2]), [nodes, turn, pixel]);
  const edges = useMemo(() => html`<g class="edges" aria-hidden="true">${ties.map((each) => html`<line x1=${each.source.x} y1=${each.source.y} x2=${each.target.x} y2=${each.target.y} class=${each.relation} />`)}</g>`, [ties, turn]);
  const [chosen, choose] = useKept('node', '');
  const first = nodes.some((n) => n.key === chosen) ? chosen : nodes[0]?.key;
  const walk = (/** @type {KeyboardEvent} */ e) => {
    const here = nodes.find((n) => n.key === first), next = here && toward(here, nodes, e.key);
    if (!next) return;
    e.preventDefault();
    /** @type {SVGElement|undefined} */ (at.current?.querySelectorAll('a')[nodes.indexOf(next)])?.focus();
  };
  return html`<svg class="graph" ref=${at} viewBox=${box.map(Math.round).join(' ')} role="group" aria-label=${t('graphLabel')} data-settled=${settled} onKeyDown=${walk}>
    ${edges}
    ${nodes.map((n) => html`<a key=${n.key} href=${address(n)} aria-label=${named(n)} tabindex=${n.key === first ? 0 : -1} onFocus=${() => choose(n.key)}>
      <title>${plain(clipped(n.label, 200))}</title><path class=${n.type} d=${FORMS[n.type]} transform=${`translate(${n.x} ${n.y}) scale(${n.r})`} />${labelled.has(n.key) ? html`<text x=${labelled.get(n.key)} y=${n.y + n.r + LETTERS * pixel} font-size=${LETTERS * pixel} text-anchor="middle" aria-hidden="true">${short(n.label)}</text>` : null}</a>`)}</svg>`;
}

/** The directions of the arrow keys. @type {Record<string, [number, number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The nearest of *nodes* in the direction of an arrow *key*; the other keys go through all, the weightiest of a type first.
 * @template {{x: number, y: number}} N @param {N} here @param {N[]} nodes @param {string} key @returns {N|undefined} */
function toward(here, nodes, key) {
  const at = nodes.indexOf(here);
  if (key === 'Home' || key === 'End') return nodes.at(key === 'Home' ? 0 : -1);
  if (key === 'PageDown' || key === 'PageUp') return nodes[at + (key === 'PageDown' ? 1 : -1)];
  const [dx, dy] = ARROWS[key] ?? [0, 0];
  const far = (/** @type {N} */ n) => {
    const along = (n.x - here.x) * dx + (n.y - here.y) * dy, aside = Math.abs((n.x - here.x) * dy) + Math.abs((n.y - here.y) * dx);
    return along > 0 && along >= aside ? along + 2 * aside : Infinity;
  };
  const best = nodes.reduce((a, b) => far(b) < far(a) ? b : a);
  return far(best) < Infinity ? best : undefined;
}

/** The middles of the names, *high*, that find room beside those of weightier nodes between *left* and *right*, by key.
 * @param {Array<{key: string, label: string, x: number, y: number, r: number}>} nodes @param {number} high @param {number} left @param {number} right */
function placed(nodes, high, left, right) {
  /** @type {number[][]} */ const taken = [];
  /** @type {Map<string, number>} */ const found = new Map();
  for (const n of nodes) {
    const half = 0.3 * high * (short(n.label).length + 1), x = Math.max(left + half, Math.min(right - half, n.x)), top = n.y + n.r;
    const box = [x - half, top, x + half, top + 1.4 * high];
    if (found.size >= NAMED || taken.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3])) continue;
    taken.push(box);
    found.set(n.key, x);
  }
  return found;
}

/** The same as a table, for whoever cannot use the picture. @param {{graph: Whole}} props */
function AsTable({ graph }) {
  const by = new Map(graph.nodes.map((n) => [n.key, n])), tied = new Map(graph.nodes.map((n) => [n.key, /** @type {string[]} */ ([])]));
  for (const { a, b } of graph.ties) { tied.get(a)?.push(b); tied.get(b)?.push(a); }
  return html`<details><summary>${t('asTable')}</summary><${Table} heads=${[t('label'), t('what'), t('tiedTo')]}
    rows=${graph.nodes.map((n) => ({ key: n.key, cells: [html`<a href=${address(n)}>${short(n.label)}</a>`, t('nodes.' + n.type), (tied.get(n.key) ?? []).slice(0, 4).map((each) => short(by.get(each)?.label ?? '')).join(', ')] }))} /></details>`;
}
