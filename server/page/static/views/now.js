// What happens at this moment, what a conversation would be told, and what a prompt would bring up.
import { get, send } from '../api.js';
import { Why } from '../explain.js';
import { useKept } from '../kept.js';
import { Card } from '../memorycard.js';
import { Act, Field, Loaded, html, useChanges, useEffect, useLoad, useState } from '../ui.js';
import { Diff, Stored, when } from '../text.js';
import { author, client, has, t, through } from '../words.js';

const MOST = 60, LOOK = 2500;

/** @returns {any} */
export default function Now() {
  return html`<div class="columns"><section aria-labelledby="feed"><h2 id="feed">${t('feed')}</h2><${Feed} /></section>
    <div><section aria-labelledby="injected"><h2 id="injected">${t('injected')}</h2><${Injected} /></section>
    <section aria-labelledby="brief"><h2 id="brief">${t('brief')}</h2><${Brief} /></section></div></div>`;
}

function Feed() {
  const before = useLoad((signal) => get('memories', { limit: 20 }, signal), []);
  const [news, add] = useState(/** @type {any[]} */ ([]));
  const [acts, setActs] = useState(/** @type {any[]} */ ([]));
  useChanges(async ({ memories, gone }) => {
    const found = (await Promise.all(memories.slice(-20).map(described))).filter((each) => each !== null);
    /** @type {any[]} */ const fresh = found.map((each) => ({ ...each, told: found.some((other) => other.before?.id === each.memory.id) })).reverse();
    const now = new Map(found.map(({ memory }) => [memory.id, memory]));
    if (gone.length) fresh.unshift({ key: 'gone' + gone.join(), gone: gone.length, at: new Date().toISOString() });
    add((old) => [...fresh, ...old.filter((each) => !fresh.some((f) => f.key === each.key)).map((each) => now.has(each.memory?.id) ? { ...each, memory: now.get(each.memory.id) } : each)].slice(0, MOST));
  });
  useEffect(() => {
    let stop = false, timer = 0;
    const look = async () => {
      try { if (!document.hidden) setActs((await get('/page/activity')).acts); } catch { /* the stream says so */ }
      if (!stop) timer = window.setTimeout(look, LOOK);
    };
    look();
    return () => { stop = true; clearTimeout(timer); };
  }, []);
  return html`<${Loaded} of=${before}>${(/** @type {import('../answers.js').Answer<'memories'>} */ { memories }) => {
    const seen = new Set(news.map((each) => each.memory?.id));
    const shown = [...news.filter((each) => !each.told), ...acts.map((act) => ({ ...act, key: 'act' + act.number, act: true }))]
      .sort((a, b) => a.at < b.at ? 1 : a.at > b.at ? -1 : 0).slice(0, MOST);
    const earlier = memories.filter((m) => !seen.has(m.id));
    if (!shown.length && !earlier.length) return html`<p class="empty">${t('nothingYet')}</p>`;
    return html`<ol class="feed">${shown.map((each) => html`<li key=${each.key}>${item(each)}</li>`)}
      ${earlier.map((m) => html`<li key=${m.id}><${Card} of=${m} /></li>`)}</ol>`;
  }}<//>`;
}

/** @param {any} each */
function item(each) {
  if (each.gone) return html`<p class="event">${t('goneNow', each.gone)} <time>${when(each.at)}</time></p>`;
  if (each.act) {
    return html`<div class="event"><strong>${t('act.' + each.kind)}</strong> <time>${when(each.at)}</time> <bdi>${author(each.agent, client(each.client))}</bdi>
      <p><${Stored} text=${each.text} most=${240} /></p>
      ${each.reason ? html`<p>${has('skip.' + each.reason) ? t('skip.' + each.reason) : each.reason}</p>` : null}
      ${each.ids.length ? html`<${Which} ids=${each.ids} />` : each.kind === 'recalled' ? html`<p>${t('foundNothing')}</p>` : null}</div>`;
  }
  return html`<${Card} of=${each.memory}>${each.before ? html`<p><${Diff} before=${each.before.text} after=${each.memory.text} /></p>` : null}${each.newer ? html`<p><span class="hint">${t('doubtedBy')}</span> <a href=${'#/memory/' + each.newer.id}><${Stored} text=${each.newer.text} most=${120} /></a></p>` : null}
    <p class="event"><strong>${t('change.' + each.kind)}</strong> ${author(each.actor, each.through)} <time>${when(each.at)}</time></p><//>`;
}

/** The memories of *ids*, read once they are asked for. @param {{ids: string[]}} props */
function Which({ ids }) {
  const [open, set] = useState(false);
  return html`<details onToggle=${(/** @type {any} */ e) => set(e.target.open)}><summary>${t('hits', ids.length)}</summary>${open ? html`<${These} ids=${ids} />` : null}</details>`;
}

/** Those of *ids*, read again with each *of*, which names what is in doubt. @param {{ids: string[], of?: {doubtful: string[]}}} props */
function These({ ids, of }) {
  const found = useLoad(async (signal) => (await Promise.all(ids.map((id) => get(`memories/${id}`, {}, signal).catch(() => null)))).filter((each) => each !== null), [ids.join(), of]);
  const state = (/** @type {any} */ { id, state }) => state === 'current' && of?.doubtful.includes(id) ? 'doubtful' : state;  // of a part, too
  return html`<${Loaded} of=${found} none=${(/** @type {any[]} */ f) => !f.length} empty=${t('forgotten')}>${(/** @type {any[]} */ list) => list.map((m) => html`<${Card} key=${m.id} of=${{ ...m, state: state(m) }} most=${200} />`)}<//>`;
}

/** What kind of change a later one is. @param {{source: string, body: Record<string, any>|null}} change */
const how = ({ source, body }) => source.startsWith('undo') ? 'undo' : source.startsWith('review') ? 'resolve' : body?.retired_at ? 'retire' : 'changed';

/** @param {string} id */
async function described(id) {
  try {
    const [memory, { changes }] = await Promise.all([get(`memories/${id}`), get(`memories/${id}/history`)]);
    const puts = changes.filter((each) => each.kind === 'put'), last = puts[puts.length - 1], doubt = await doubted(memory, last.at);
    if (doubt) return { key: `${id}:${doubt.at}`, memory, before: null, kind: 'doubt', ...doubt };
    const fresh = puts.length === 1;
    const parent = fresh ? /** @type {string} */ (memory.version.parent) : '', before = parent ? await get(`memories/${parent}`).catch(() => null) : null;
    return { key: `${id}:${last.seq}`, memory, before, at: last.at, kind: before ? 'amend' : fresh ? 'put' : how(last), actor: last.actor, through: fresh && memory.client ? client(memory.client) : through(last.source) };
  } catch { return null; }
}

/** Who put *memory* in doubt, and with what, since it changed *last*; null where nobody did. @param {any} memory @param {string} last */
async function doubted({ id, doubted_by, recorded_at }, last) {
  if (!doubted_by) return null;
  const [newer, { changes }] = await Promise.all([get(`memories/${doubted_by}`), get(`memories/${doubted_by}/history`)]);
  const link = changes.reverse().find(({ kind, body }) => kind === 'link' && body?.b === id && String(body?.kind).startsWith('doubts'));
  const since = (/** @type {string} */ one, /** @type {string} */ other) => Date.parse(one) - Date.parse(other);
  // a change is told to the second: in the same one, what was stored later came later
  return link && (since(link.at, last) || since(newer.recorded_at, recorded_at)) > 0 ? { newer, at: link.at, actor: link.actor, through: through(link.source) } : null;
}

function Brief() {
  const brief = useLoad((signal) => get('/page/brief', {}, signal), []);
  useChanges(() => brief.again());
  return html`<p class="hint">${t('briefHint')}</p><${Loaded} of=${brief} none=${(/** @type {any} */ b) => !b.text} empty=${t('briefEmpty')}>${(/** @type {any} */ b) => html`<${These} ids=${b.ids} of=${b} />
    <details><summary>${t('briefText')}</summary><pre tabindex="0" lang="en"><${Stored} text=${b.text} /></pre></details>`}<//>`;
}

function Injected() {
  const [prompt, set] = useKept('prompt', '', true);
  const [found, show] = useKept('injected', /** @type {any} */ (null), true);
  const go = async () => { if (prompt.trim()) show(await send('explain', { query: prompt, k: 5, max_tokens: 1500 })); };
  return html`<p class="hint">${t('injectedHint')}</p>
    <${Field} label=${t('prompt')}><textarea rows="3" maxlength="2000" value=${prompt} onInput=${(/** @type {any} */ e) => set(e.target.value)}></textarea><//>
    <${Act} does=${go} kind="main" disabled=${!prompt.trim()}>${t('showInjected')}<//>
    ${found ? html`<div role="status">${found.found ? html`<pre tabindex="0" class="block" lang="en"><${Stored} text=${found.block} /></pre>${found.memories.map((/** @type {any} */ m) => html`<${Card} of=${m} key=${m.id}><${Why} why=${m.why} score=${m.score} /><//>`)}` : html`<p class="empty">${t('injectNothing')}</p>`}</div>` : null}`;
}
