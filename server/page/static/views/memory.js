// One memory: its text, when, who, source and validity, its history as a diff, its links, and what can be changed.
import { get, send, session } from '../api.js';
import { Fading } from '../fading.js';
import { Card, PINNED, State, isPinned } from '../memorycard.js';
import { Act, Dialog, Field, Loaded, Said, html, tell, undoing, useChanges, useLoad, useRef, useState } from '../ui.js';
import { Diff, Stored, clipped, when } from '../text.js';
import { author, called, client, figure, has, t, through } from '../words.js';

/** How many other memories are read to be named. */
const OTHERS = 60;

/** A link of this kind leads from what was derived to its source. */
const DERIVED = 'derived_from';

/** @param {{id: string}} props */
export default function MemoryView({ id }) {
  const all = useLoad(async (signal) => {
    const memory = await get(`memories/${id}`, {}, signal);
    const [{ changes }, { links }] = await Promise.all([get(`memories/${id}/history`, {}, signal), get(`memories/${id}/links`, {}, signal)]);
    const ends = (/** @type {boolean} */ derived) => links.filter((l) => (l.kind === DERIVED) === derived).flatMap((l) => [l.a, l.b]);
    const others = [...new Set([memory.superseded_by, memory.doubted_by, memory.version.parent, memory.version.latest, ...memory.derived_from.slice(0, OTHERS / 3), ...ends(true).slice(0, OTHERS), ...ends(false)])]
      .filter((each) => each && each !== memory.id).slice(0, OTHERS);
    const found = await Promise.all(others.map((each) => get(`memories/${each}`, {}, signal).catch(() => null)));
    return { memory, changes, links, others: new Map(found.flatMap((m) => m ? [[m.id, m]] : [])) };
  }, [id]);
  const [over, end] = useState(false);
  const going = useRef(false);
  useChanges(({ memories, gone }) => {
    if (gone.some((m) => m.startsWith(id))) end(true);
    else if (!going.current && memories.some((m) => m.startsWith(id))) all.again();
  });
  /** Nothing is loaded while it is being forgotten: what comes too late would find nothing.
   * @param {() => Promise<void>} send */
  const forget = async (send) => {
    going.current = true;
    all.stop();
    try { await send(); }
    catch (problem) { going.current = false; all.again(); throw problem; }
  };
  if (over) return html`<p class="empty">${t('forgotten')}</p>`;
  return html`<${Loaded} of=${all}>${(/** @type {any} */ found) => html`<${Whole} ...${found} again=${all.again} forget=${forget} />`}<//>`;
}

/** Kinds of links that say something of their first memory about their second. */
const DIRECTED = new Set(['duplicate_of', 'updates', 'updates_part', 'extends', 'doubts', 'doubts_part', 'suspends', 'pair']);

/** A link of the memory *id* to *other*, in its direction. @param {any} link @param {string} id @param {any} other */
function tie({ a, kind }, id, other) {
  const how = html`<span class="badge">${called('link', kind)}</span>`, there = html`<a href=${'#/memory/' + other.id}><${Stored} text=${other.text} most=${120} /></a>`;
  return a !== id && DIRECTED.has(kind) ? html`<li>${there} ${how} ${t('thisOne')}</li>` : html`<li>${how} ${there}</li>`;
}

/** @param {{memory: any, changes: any[], links: any[], others: Map<string, any>, again: () => void, forget: (send: () => Promise<void>) => Promise<void>}} props */
function Whole({ memory, changes, links, others, again, forget }) {
  const rows = [['occurred', when(memory.occurred_at)], ['recorded', when(memory.recorded_at)], ['who', memory.speaker || called('role', memory.role)], ['agent', memory.agent], ['scope', t('scope.' + memory.visibility)],
    ['kind', t('kind.' + memory.kind)], ['tier', t('tier.' + memory.tier)], ['source', memory.source], ['client', client(memory.client)], ['trust', has('trust.' + memory.trust) ? t('trust.' + memory.trust) : memory.trust],
    ['session', memory.session], ['lead', memory.lead.join(' · ')], ['topic', memory.topic], ['entities', memory.entities.join(', ')], ['importance', figure(memory.importance)], ['validFrom', when(memory.valid_from)], ['validUntil', when(memory.valid_until)],
    ['used', t('times', memory.access_count)], ['lastUsed', when(memory.last_accessed)], ['retiredAt', when(memory.retired_at)]].filter(([, value]) => value);
  const ties = links.filter((l) => l.kind !== DERIVED).map((l) => ({ ...l, other: l.a === memory.id ? l.b : l.a })).filter((l) => others.has(l.other));
  const resting = links.filter((l) => l.kind === DERIVED && l.b === memory.id).map((l) => l.a);
  const list = (/** @type {string[]} */ ids) => {
    const known = ids.filter((each) => others.has(each)), more = ids.length - known.length;
    return html`${known.map((each) => html`<${Card} key=${each} of=${others.get(each)} most=${160} />`)}${more ? html`<p class="hint">${t('andMore', more)}</p>` : null}`;
  };
  const less = (/** @type {any} */ { importance, text }) => (importance ?? (text ? 0 : PINNED)) < PINNED;  // a new one of the normal importance names none
  const was = changes.some(({ kind, body }) => kind === 'put' && body && less(body)), pinned = isPinned(memory) || (was && memory.importance >= PINNED);
  return html`<p><${State} state=${memory.state} />${pinned ? html` <span class="badge">${t('pinned')}</span>` : null}</p>
    <blockquote class="whole" tabindex="0"><${Stored} text=${memory.text} /></blockquote>
    ${memory.superseded_by ? html`<section><h2>${t('replacedBy')}</h2>${list([memory.superseded_by])}</section>` : null}
    ${memory.doubted_by ? html`<section><h2>${t('doubtedBy')}</h2>${list([memory.doubted_by])}<a href="#/doubtful">${t('decide')}</a></section>` : null}
    <${Changing} memory=${memory} was=${was} pinned=${pinned} again=${again} forget=${forget} />
    <section><h2>${t('about')}</h2><dl>${rows.map(([name, value]) => html`<div><dt>${t('about.' + name)}</dt><dd><${Stored} text=${value} most=${600} /></dd></div>`)}</dl>
      <p>${memory.tags.map((/** @type {string} */ tag) => html`<a class="tag" href=${'#/memories?tag=' + encodeURIComponent(tag)}><${Stored} text=${tag} most=${60} /></a> `)}</p>${memory.state === 'retired' ? null : html`<${Fading} of=${memory.fading} />`}</section>
    ${memory.derived_from.length ? html`<section><h2>${t('restsOn')}</h2>${list(memory.derived_from)}</section>` : null}
    <section><h2>${t('restOnIt')}</h2>${memory.topic ? html`<p>${t('about.topic')}: <a href=${'#/memories?topic=' + encodeURIComponent(memory.topic)}><${Stored} text=${memory.topic} most=${80} /></a></p>` : null}
      ${resting.length ? list(resting) : html`<p class="empty">${t('nothingRests')}</p>`}</section>
    <section><h2>${t('links')}</h2>${ties.length ? html`<ul>${ties.map((l) => tie(l, memory.id, others.get(l.other)))}</ul>` : html`<p class="empty">${t('noLinks')}</p>`}</section>
    <section><h2>${t('history')}</h2><ol class="history">${told(changes).map((each, n) => html`<li key=${each.seq}><${Change} change=${each} number=${n} again=${again} others=${others} previous=${each.kind === 'put' && !n && memory.version.parent ? others.get(memory.version.parent)?.text : undefined} text=${memory.text} /></li>`)}</ol></section>`;
}

/** What of a memory a change of it shows, and the words for it. @type {Record<string, string>} */
const FIELDS = { text: 'text', tags: 'filter.tag', kind: 'about.kind', tier: 'about.tier', topic: 'about.topic', entities: 'about.entities', importance: 'about.importance', speaker: 'about.who', visibility: 'about.scope', occurred_at: 'about.occurred', valid_from: 'about.validFrom', valid_until: 'about.validUntil', superseded_by: 'replacedBy', retired_at: 'about.retiredAt' };
const SHOWN = new Set(['put', 'link', 'forget']);

/** The changes that somebody or sleep made, each with what stood there before it. @param {any[]} changes */
function told(changes) {
  /** @type {Record<string, unknown>} */ const known = {};
  return changes.map((change) => {
    const before = { ...known, ...change.before };
    if (change.kind === 'put') Object.assign(known, change.body);
    return { ...change, before };
  }).filter(({ kind, body }) => SHOWN.has(kind) && body?.kind !== 'co_recall');  // each recall makes some
}

/** @param {{change: any, number: number, again: () => void, previous?: string, text: string, others: Map<string, any>}} props */
function Change({ change, number, again, previous, text, others }) {
  const after = change.body ?? {}, { before } = change, linked = change.kind === 'link';
  const kind = change.kind === 'put' && number ? 'changed' : has('change.' + change.kind) ? change.kind : 'changed';
  const fields = number && !linked ? Object.keys(FIELDS).filter((name) => name in after && shown(name, before[name]) !== shown(name, after[name])) : [];
  const value = (/** @type {string} */ name, /** @type {any} */ of) => name === 'superseded_by' && others.has(of) ? clipped(others.get(of).text, 120) : shown(name, of);
  const undo = async () => { await send(`memories/${change.target ?? location.hash.split('/')[2]}/undo`, { change: change.seq }); tell(t('undone')); again(); };
  return html`<strong>${t('change.' + kind)}</strong> <time datetime=${change.at}>${when(change.at)}</time> <span>${author(change.actor, through(change.source))}</span> ${number && session.can('write') ? html`<${Act} does=${undo}>${t('undoThis')}<//>` : null}
    ${change.body === null ? html`<p class="empty">${t('erased')}</p>` : null}
    ${previous !== undefined ? html`<p><${Diff} before=${previous} after=${text} /></p>` : null}
    ${linked && others.has(after.b) ? html`<p><span class="badge">${called('link', after.kind)}</span> <a href=${'#/memory/' + after.b}><${Stored} text=${others.get(after.b).text} most=${120} /></a></p>` : null}
    ${fields.map((name) => html`<p><span class="hint">${t(FIELDS[name])}</span> <${Diff} before=${value(name, before[name])} after=${value(name, after[name])} /></p>`)}`;
}

/** The *value* of a field as people read it. @param {string} name @param {any} value @returns {string} */
function shown(name, value) {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.join(' · ');
  if (typeof value === 'number' && name !== 'importance') return when(new Date(value * 1000).toISOString());
  if (typeof value === 'number') return figure(value);
  return has(`${name}.${value}`) ? called(name, value) : name === 'visibility' ? called('scope', value) : String(value);
}

/** The importance of what was never less important and is unpinned: that of a decision (memory_core/beliefs/importance.py). */
const UNPINNED = 0.85;

/** *was*: it was less important once. @param {{memory: any, was: boolean, pinned: boolean, again: () => void, forget: (send: () => Promise<void>) => Promise<void>}} props */
function Changing({ memory, was, pinned, again, forget }) {
  const [open, set] = useState('');
  if (!session.can('write')) return null;
  const most = memory.importance >= PINNED, retired = memory.state === 'retired';
  const done = (/** @type {any} */ answer, /** @type {string} */ said) => { tell(t(answer.status === 'unchanged' ? 'unchanged' : said), undoing(answer.undo)); again(); };
  const unpin = async () => done(was ? await send(`memories/${memory.id}/pin`, { pinned: false }) : await send(`memories/${memory.id}`, { importance: UNPINNED }, 'PATCH'), 'unpinned');
  const close = () => set('');
  return html`<div class="actions" role="group" aria-label=${t('changeIt')}>
    <button type="button" onClick=${() => set('correct')}>${t('correct')}</button>
    <button type="button" onClick=${() => set('tags')}>${t('retag')}</button>
    ${!most ? html`<${Act} key="pin" does=${async () => done(await send(`memories/${memory.id}/pin`, {}), 'pinnedNow')}>${t('pin')}<//>`
      : pinned ? html`<${Act} key="unpin" does=${unpin}>${t('unpin')}<//>` : null}
    <${Act} does=${async () => done(await send(`memories/${memory.id}/retire`, { retired: !retired }), retired ? 'revived' : 'retiredNow')}>${t(retired ? 'revive' : 'retire')}<//>
    <button type="button" class="danger" onClick=${() => set('forget')}>${t('forget')}</button></div>
    ${open === 'correct' ? html`<${Correct} memory=${memory} close=${close} done=${done} />` : null}
    ${open === 'tags' ? html`<${Tags} memory=${memory} close=${close} done=${done} />` : null}
    ${open === 'forget' ? html`<${Forget} memory=${memory} close=${close} forget=${forget} />` : null}`;
}

/** @param {{memory: any, close: () => void, done: (answer: any, said: string) => void}} props */
function Correct({ memory, close, done }) {
  const [text, set] = useState(memory.text);
  const save = async () => {
    const answer = await send(`memories/${memory.id}`, { text }, 'PATCH');
    if (answer.status === 'refused') throw new Error(answer.warnings.join('; '));
    close(); done(answer, 'corrected');
    if (answer.id !== memory.id) location.hash = '#/memory/' + answer.id;
  };
  return html`<${Dialog} title=${t('correct')} close=${close}><p class="hint">${t('correctHint')}</p>
    <${Field} label=${t('text')}><textarea rows="6" value=${text} onInput=${(/** @type {any} */ e) => set(e.target.value)}></textarea><//>
    ${text !== memory.text ? html`<p class="preview"><${Diff} before=${memory.text} after=${text} /></p>` : null}
    <div class="actions"><${Act} kind="main" does=${save} disabled=${!text.trim() || text === memory.text}>${t('save')}<//><button type="button" onClick=${close}>${t('cancel')}</button></div><//>`;
}

/** @param {{memory: any, close: () => void, done: (answer: any, said: string) => void}} props */
function Tags({ memory, close, done }) {
  const [text, set] = useState(memory.tags.join(', '));
  const save = async () => {
    const tags = [...new Set(text.split(',').map((/** @type {string} */ each) => each.trim()).filter(Boolean))];
    const answer = await send(`memories/${memory.id}`, { tags }, 'PATCH');
    close(); done(answer, 'retagged');
  };
  return html`<${Dialog} title=${t('retag')} close=${close}><${Field} label=${t('tagsHint')}><input value=${text} onInput=${(/** @type {any} */ e) => set(e.target.value)} /><//>
    <div class="actions"><${Act} kind="main" does=${save}>${t('save')}<//><button type="button" onClick=${close}>${t('cancel')}</button></div><//>`;
}

/** @param {{memory: any, close: () => void, forget: (send: () => Promise<void>) => Promise<void>}} props */
function Forget({ memory, close, forget }) {
  const [never, set] = useState(true);
  const preview = useLoad(() => send('forget', { ids: [memory.id], never_again: never }), [never]);
  const go = async () => {
    await forget(() => send('forget', { ids: [memory.id], confirm: true, never_again: never }));
    close(); tell(t('forgotten')); location.hash = '#/memories';
  };
  return html`<${Dialog} title=${t('forgetTitle')} close=${close}><p>${t('forgetHint')}</p>
    <${Loaded} of=${preview}>${(/** @type {any} */ p) => html`<h3>${t('goes', p.removed.length)}</h3><ul>${p.removed.map((/** @type {any} */ m) => html`<li><${Stored} text=${m.text} most=${200} /></li>`)}</ul>
      ${p.derived.length ? html`<h3>${t('goesToo', p.derived.length)}</h3><ul>${p.derived.map((/** @type {any} */ m) => html`<li><${Stored} text=${m.text} most=${200} /></li>`)}</ul>` : null}
      ${p.note ? html`<p class="hint"><${Said} text=${p.note} /></p>` : null}
      <label><input type="checkbox" checked=${never} onChange=${(/** @type {any} */ e) => set(e.target.checked)} /> ${t('neverAgain')}</label>
      <div class="actions"><${Act} kind="danger" does=${go}>${t('forgetNow')}<//><button type="button" onClick=${close}>${t('cancel')}</button></div>`}<//><//>`;
}
