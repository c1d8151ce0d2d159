// People, places and things: who is named how often, and what is known about one.
import { get, send } from '../api.js';
import { Card } from '../memorycard.js';
import { Act, Field, Loaded, html, useChanges, useLoad, useState } from '../ui.js';
import { Stored, when } from '../text.js';
import { t } from '../words.js';

const STEP = 200, MOST = 1000;

/** @param {{id: string}} props */
export default function People({ id }) {
  return id ? html`<${One} name=${id} />` : html`<${Everybody} />`;
}

function Everybody() {
  const [part, set] = useState(''), [most, go] = useState(STEP);
  const names = useLoad((signal) => get('entities', { part, limit: most }, signal), [part, most]);
  useChanges(() => names.again());
  return html`<${Field} label=${t('narrow')}><input type="search" maxlength="200" value=${part} onInput=${(/** @type {any} */ e) => { set(e.target.value); go(STEP); }} /><//>
    <${Loaded} of=${names} none=${(/** @type {import('../answers.js').Answer<'entities'>} */ n) => !n.names.length} empty=${t(part ? 'nobodySo' : 'nobody')}>${(/** @type {import('../answers.js').Answer<'entities'>} */ n) => html`
    <ul class="names">${n.names.map((each) => html`<li key=${each.name}>
      <a href=${'#/people/' + encodeURIComponent(each.name)}><${Stored} text=${each.name} most=${80} /></a> <span>${t('memoriesCount', each.memories)}</span> <span class="hint">${when(each.first, true)} – ${when(each.last, true)}</span></li>`)}</ul>
    ${n.next && most < MOST ? html`<${Act} does=${async () => go(Math.min(most + STEP, MOST))}>${t('more')}<//>` : n.next ? html`<p class="hint">${t('moreByName')}</p>` : null}`}<//>`;
}

/** @param {{name: string}} props */
function One({ name }) {
  const known = useLoad(async (signal) => ({
    facts: (await send('recall', { query: name.slice(0, 500), entity: name, k: 8, kinds: ['fact', 'preference', 'event', 'relationship', 'procedure', 'summary', 'concept'], rehearse: false })).memories,
    all: (await get('memories', { entity: name, limit: 100 }, signal)),
  }), [name]);
  useChanges(() => known.again());
  return html`<p><a href="#/people">${t('everybody')}</a></p><h2><${Stored} text=${name} most=${120} /></h2>
    <${Loaded} of=${known} none=${(/** @type {any} */ k) => !k.all.memories.length} empty=${t('noneFits')}>${(/** @type {any} */ k) => html`
      ${k.facts.length ? html`<section><h3>${t('facts')}</h3>${k.facts.map((/** @type {any} */ m) => html`<${Card} key=${m.id} of=${m} />`)}</section>` : null}
      <section><h3>${t('namedIn', k.all.memories.length + (k.all.next ? '+' : ''))}</h3>${k.all.memories.map((/** @type {any} */ m) => html`<${Card} key=${m.id} of=${m} />`)}
      ${k.all.next ? html`<a href=${'#/memories?entity=' + encodeURIComponent(name)}>${t('allOf')}</a>` : null}</section>`}<//>`;
}
