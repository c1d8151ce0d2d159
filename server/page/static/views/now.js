// What happens at this moment, what a conversation would be told, and what a prompt would bring up.
import { get, send } from '../api.js';
import { Why } from '../explain.js';
import { Card } from '../memorycard.js';
import { Act, Field, Loaded, html, useChanges, useEffect, useLoad, useState } from '../ui.js';
import { Stored, when } from '../text.js';
import { has, t } from '../words.js';

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
    const found = await Promise.all(memories.slice(-20).map(described));
    /** @type {any[]} */ const fresh = found.filter(Boolean).reverse();
    if (gone.length) fresh.unshift({ key: 'gone' + gone.join(), gone: gone.length, at: new Date().toISOString() });
    add((old) => [...fresh, ...old.filter((each) => !fresh.some((f) => f.key === each.key))].slice(0, MOST));
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
    const shown = [...news, ...acts.map((act) => ({ ...act, key: 'act' + act.number, act: true }))]
      .sort((a, b) => (a.at < b.at ? 1 : -1)).slice(0, MOST);
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
    return html`<div class="event"><strong>${t('act.' + each.kind)}</strong> <time>${when(each.at)}</time> <bdi>${each.client}</bdi>
      <p><${Stored} text=${each.text} most=${240} /></p>
      ${each.reason ? html`<p>${has('skip.' + each.reason) ? t('skip.' + each.reason) : each.reason}</p>` : null}
      ${each.ids.length ? html`<p>${each.ids.map((/** @type {string} */ id, /** @type {number} */ n) => html`<a href=${'#/memory/' + id}>${t('hit', n + 1)}</a> `)}</p>` : each.kind === 'recalled' ? html`<p>${t('foundNothing')}</p>` : null}</div>`;
  }
  return html`<${Card} of=${each.memory}><p class="event"><strong>${t('change.' + each.kind)}</strong> ${t('by', each.actor || '–', each.memory.client || each.source || '–')}</p><//>`;
}

/** @param {string} id */
async function described(id) {
  try {
    const [memory, { changes }] = await Promise.all([get(`memories/${id}`), get(`memories/${id}/history`)]);
    const last = changes[changes.length - 1];
    const kind = changes.length === 1 ? 'put' : last.kind === 'put' ? 'changed' : last.kind;
    return { key: `${id}:${last.seq}`, memory, at: last.at, kind: has('change.' + kind) ? kind : 'changed', actor: last.actor, source: last.source };
  } catch { return null; }
}

function Brief() {
  const brief = useLoad((signal) => get('/page/brief', {}, signal), []);
  useChanges(() => brief.again());
  return html`<p class="hint">${t('briefHint')}</p><${Loaded} of=${brief} none=${(/** @type {any} */ b) => !b.text} empty=${t('briefEmpty')}>${(/** @type {any} */ b) => html`<pre tabindex="0"><${Stored} text=${b.text} /></pre>`}<//>`;
}

function Injected() {
  const [prompt, set] = useState('');
  const [found, show] = useState(/** @type {any} */ (null));
  const go = async () => { if (prompt.trim()) show(await send('explain', { query: prompt, k: 5, max_tokens: 1500 })); };
  return html`<p class="hint">${t('injectedHint')}</p>
    <${Field} label=${t('prompt')}><textarea rows="3" maxlength="2000" value=${prompt} onInput=${(/** @type {any} */ e) => set(e.target.value)}></textarea><//>
    <${Act} does=${go} kind="main" disabled=${!prompt.trim()}>${t('showInjected')}<//>
    ${found ? html`<div role="status">${found.found ? html`<pre tabindex="0" class="block"><${Stored} text=${found.block} /></pre>${found.memories.map((/** @type {any} */ m) => html`<${Card} of=${m} key=${m.id}><${Why} why=${m.why} score=${m.score} /><//>`)}` : html`<p class="empty">${t('injectNothing')}</p>`}</div>` : null}`;
}
