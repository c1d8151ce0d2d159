// All memories: a timeline to brush, filters, and the search with its explanation.
import { get, query, send, session } from '../api.js';
import { Why } from '../explain.js';
import { Card } from '../memorycard.js';
import { Timeline } from '../timeline.js';
import { lost, useKept } from '../kept.js';
import { Act, Choice, Field, Problem, attempt, html, useCallback, useChanges, useEffect, useLoad, useRef, useState } from '../ui.js';
import { t } from '../words.js';
import { Virtual } from '../virtual.js';

const NONE = { state: '', kind: '', tier: '', scope: '', trust: '', agent: '', project: '', tag: '', topic: '', entity: '', session: '', speaker: '', since: '', until: '' };
const PAGE = 100, MOST = 50;
/** What a recall does not filter itself: its best MOST are sifted here. */
const SIFTED = ['state', 'tier', 'trust', 'agent'];
const PROJECT = 'project:';

/** The tags that *filters* ask for. @param {any} filters */
const tags = ({ tag, project }) => [tag, project].filter(Boolean);

/** What a list is asked for. @param {any} filters */
const wanted = ({ project, ...filters }) => ({ ...filters, tag: tags({ ...filters, project }) });

/** @param {any} filters @returns {(hit: any) => boolean} */
const fits = (filters) => (hit) => SIFTED.every((name) => !filters[name] || stands(hit, name) === filters[name]);

/** @param {any} hit @param {string} name */
const stands = (hit, name) => name === 'agent' ? hit.agent || session.agent : hit[name];  // a private memory is the reader's own

/** @param {{given: Record<string, string>}} props */
export default function Memories({ given }) {
  const [filters, filter] = useKept('filters', Object.fromEntries(Object.entries(NONE).map(([name, none]) => [name, given[name] ?? none])));
  const [question, ask] = useKept('question', given.q ?? '');
  const [found, show] = useKept('found', /** @type {any} */ (null));
  const set = (/** @type {string} */ name, /** @type {string} */ value) => filter((old) => ({ ...old, [name]: value }));
  const search = async (asked = question) => {
    if (/^#\/memories(?:\?|$)/.test(location.hash)) history.replaceState(history.state, '', '#/memories' + query({ ...filters, q: asked.trim() }));  // for the way back; the reader may have gone on
    if (!asked.trim()) { show(null); return; }
    const { kind, scope, topic, entity, session: talk, speaker, since, until } = filters;
    const left = SIFTED.some((name) => filters[name]);
    const answer = await send('explain', { query: asked, k: left ? MOST : 20, kinds: kind ? [kind] : [], tags: tags(filters), scope, topic, entity, session: talk, speaker, since, until });
    show(left ? { ...answer, sifted: MOST, memories: answer.memories.filter(fits(filters)), partial: answer.partial.filter(fits(filters)), rejected: answer.rejected.filter(fits(filters)) } : answer);
  };
  useEffect(() => { attempt(search); }, [JSON.stringify(filters)]);
  return html`<form role="search" onSubmit=${(/** @type {Event} */ e) => { e.preventDefault(); attempt(search); }}>
    <${Field} label=${t('search')}><input type="search" maxlength="2000" value=${question} onInput=${(/** @type {any} */ e) => { ask(e.target.value); if (!e.target.value) attempt(() => search('')); }} placeholder=${t('searchHint')} /><//>
    <button type="submit" class="main">${t('find')}</button></form>
    <${Filters} filters=${filters} set=${set} clear=${() => filter({ ...NONE })} />
    ${found ? html`<${Found} found=${found} />` : html`<${Timeline} since=${filters.since} until=${filters.until} brushed=${(/** @type {string} */ a, /** @type {string} */ b) => filter((old) => ({ ...old, since: a, until: b }))} /><${All} filters=${filters} />`}`;
}

/** @param {{filters: any, set: (name: string, value: string) => void, clear: () => void}} props */
function Filters({ filters, set, clear }) {
  const names = useLoad(async (signal) => ({
    agent: await get('agents', {}, signal), tag: await get('tags', {}, signal), topic: await get('topics', {}, signal),
    entity: await get('entities', {}, signal), session: await get('sessions', {}, signal),
  }), []);
  const fixed = { state: ['current', 'doubtful', 'superseded', 'retired'], kind: ['episode', 'fact', 'preference', 'event', 'relationship', 'procedure', 'summary', 'concept'], tier: ['active', 'recent', 'long_term'], scope: ['private', 'team', 'shared'], trust: ['user', 'agent', 'import', 'web', 'quoted'] };
  const set1 = Object.entries(filters).filter(([, value]) => value).length;
  const [open] = useState(set1 > 0);  // from then on it is the reader's
  return html`<details class="filters" open=${open}><summary>${t('filters')}${set1 ? ` (${set1})` : ''}</summary><div class="grid">
    ${Object.entries(fixed).map(([name, values]) => html`<${Choice} label=${t('filter.' + name)} value=${filters[name]} set=${(/** @type {string} */ v) => set(name, v)} options=${[['', t('all')], ...values.map((v) => [v, t(`${name}.${v}`)])]} />`)}
    ${['project', 'agent', 'tag', 'topic', 'entity', 'session'].map((name) => html`<${Named} name=${name} value=${filters[name]} known=${/** @type {any} */ (names.value)?.[name === 'project' ? 'tag' : name]} set=${(/** @type {string} */ v) => set(name, v)} />`)}
    <${Field} label=${t('filter.speaker')}><input value=${filters.speaker} maxlength="200" onChange=${(/** @type {any} */ e) => set('speaker', e.target.value)} /><//>
    <${Field} label=${t('filter.since')}><input type="date" value=${filters.since} onChange=${(/** @type {any} */ e) => set('since', e.target.value)} /><//>
    <${Field} label=${t('filter.until')}><input type="date" value=${filters.until} onChange=${(/** @type {any} */ e) => set('until', e.target.value)} /><//>
    <button type="button" onClick=${clear}>${t('clearFilters')}</button></div></details>`;
}

/** *old* after something changed: its *first* page as it is now, and what was read behind that.
 * @param {any[]} old @param {any[]} first */
function renewed(old, first) {
  const last = first[first.length - 1], there = new Set([...first.map((m) => m.id), ...lost]);
  const behind = (/** @type {any} */ m) => m.occurred_at < last.occurred_at || (m.occurred_at === last.occurred_at && m.id < last.id);
  return [...first, ...old.filter((m) => !there.has(m.id) && behind(m))];
}

/** A filter by a name: a choice of all that are known, or a field where these are only the most frequent.
 * @param {{name: string, value: string, known: {names: any[], next: string}|undefined, set: (value: string) => void}} props */
function Named({ name, value, known = { names: [], next: '' }, set }) {
  const label = t('filter.' + name), before = name === 'project' ? PROJECT : '', bare = (/** @type {string} */ full) => full.slice(before.length);
  const given = known.names.filter((each) => each.name.startsWith(before));
  if (known.next) return html`<${Field} label=${label}><input list=${'known-' + name} maxlength="200" value=${bare(value)} onChange=${(/** @type {any} */ e) => set(e.target.value && before + e.target.value)} /><//>
    <datalist id=${'known-' + name}>${given.map((each) => html`<option value=${bare(each.name)}>${each.memories}</option>`)}</datalist>`;
  const stray = value && !given.some((each) => each.name === value) ? [[value, bare(value)]] : [];
  return html`<${Choice} label=${label} value=${value} set=${set} options=${[['', t('all')], ...stray, ...given.map((each) => [each.name, `${bare(each.name).slice(0, 60)} (${each.memories})`])]} />`;
}

/** What was read of the list *of* filters. @typedef {{memories: any[], next: string|null, of: string}} Read */

/** @param {{filters: any}} props */
function All({ filters }) {
  const [{ memories, next }, keep] = useKept('list', /** @type {Read} */ ({ memories: [], next: null, of: '' }));
  const [problem, fail] = useState(/** @type {any} */ (null));
  const [turn, again] = useState(0);
  const asking = useRef(false);
  const key = JSON.stringify(filters);
  useEffect(() => {
    const stop = new AbortController();
    asking.current = true;
    get('memories', { ...wanted(filters), limit: PAGE }, stop.signal).then((page) => {
      if (stop.signal.aborted) return;
      keep((old) => old.of === key && page.next && old.memories.length > PAGE ? { ...old, memories: renewed(old.memories, page.memories) } : { ...page, of: key });
      fail(null); asking.current = false;
    }, (wrong) => { if (!stop.signal.aborted) { fail(wrong); asking.current = false; } });
    return () => stop.abort();
  }, [key, turn]);
  useChanges(() => again((n) => n + 1));
  const more = useCallback(async () => {
    if (asking.current || !next) return;
    asking.current = true;
    await attempt(async () => {
      const page = await get('memories', { ...wanted(filters), limit: PAGE, cursor: next });
      keep((old) => old.next === next ? { ...old, memories: [...old.memories, ...page.memories], next: page.next } : old);
    });
    asking.current = false;
  }, [next, key]);
  if (problem) return html`<${Problem} problem=${problem} again=${() => again((n) => n + 1)} />`;
  if (next === null) return html`<p class="loading" role="status">${t('loading')}</p>`;
  if (!memories.length) return html`<p class="empty">${t(Object.values(filters).some(Boolean) ? 'noneFits' : 'nothingYet')}</p>`;
  return html`<${Virtual} label=${t('memories')} items=${memories} more=${next ? more : null} row=${(/** @type {any} */ m) => html`<${Card} of=${m} most=${150} />`} />`;
}

/** @param {{found: any}} props */
function Found({ found }) {
  const [all, open] = useKept('rejected', false);
  const list = (/** @type {any[]} */ hits) => html`<ol class="hits">${hits.map((hit) => html`<li key=${hit.id}><${Card} of=${hit}><${Why} why=${hit.why} score=${hit.score} /><//></li>`)}</ol>`;
  return html`<div role="status"><p>${t('foundCount', found.memories.length)} · ${t('confidence.' + found.feeling)}</p>${found.sifted ? html`<p class="hint">${t('sifted', found.sifted)}</p>` : null}</div>
    <section aria-label=${t('results')}>${found.memories.length ? list(found.memories) : html`<p class="empty">${t('foundNothing')}</p>`}</section>
    ${found.partial.length ? html`<section><h2>${t('partial')}</h2>${list(found.partial)}</section>` : null}
    ${found.rejected.length ? html`<section><h2>${t('rejected')}</h2><${Act} does=${() => open(!all)}>${t(all ? 'hideRejected' : 'showRejected', found.rejected.length)}<//>${all ? list(found.rejected) : null}</section>` : null}`;
}
