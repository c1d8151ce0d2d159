// Tiers and health: counts, the working memory, what is checked, and repairs.
import { get, send, session } from '../api.js';
import { Act, Loaded, Said, Table, html, tell, useChanges, useLoad, useState } from '../ui.js';
import { Fading } from '../fading.js';
import { Card } from '../memorycard.js';
import { Stored, when } from '../text.js';
import { called, day, figure, month, t } from '../words.js';

const MONTHS = 12, HOT = 10;
const PARTS = ['storage', 'model', 'encoder', 'last_run', 'versions', 'engine'];
/** The values of a report that their kind alone does not say how to write. */
const TIMES = ['last_apply', 'last_inspection', 'last_scrub', 'at'], BYTES = ['bytes', 'wal_bytes', 'free_bytes', 'resident', 'proportional'];
const SECONDS = ['seconds', 'pause_seconds'], NUMBERS = ['pid', 'maintenance_process', 'dimension'];
const MARKS = { ok: '✓', repaired: '✓', warning: '!', degraded: '!', failing: '✗', error: '✗' };

export default function Health() {
  const stats = useLoad((signal) => get('stats', {}, signal), []);
  const jobs = useLoad((signal) => get('jobs', {}, signal), []);
  useChanges(() => { stats.again(); jobs.again(); });
  return html`<section><h2>${t('tiers')}</h2><${Loaded} of=${stats} none=${(/** @type {import('../answers.js').Answer<'stats'>} */ s) => !s.memories} empty=${t('nothingYet')}>${(/** @type {import('../answers.js').Answer<'stats'>} */ s) => html`
    <p>${t('memoriesCount', s.memories)} · ${t('topicsCount', s.topics)} · ${t('sessionsCount', s.sessions)}</p>
    ${['tier', 'kind', 'scope', 'agent', 'importance'].map((name) => html`<${Counts} name=${name} counts=${/** @type {any} */ (s)['by_' + name]} />`)}`}<//></section>
    <${Growth} /><${Checks} />
    <section><h2>${t('jobs')}</h2><${Loaded} of=${jobs}>${(/** @type {import('../answers.js').Answer<'jobs'>} */ j) => html`<p>${t('jobsCount', j.queued, j.running, j.failed)}</p>`}<//></section>
    <${State} />`;
}

/** @param {{name: string, counts: Record<string, number>}} props */
function Counts({ name, counts }) {
  const most = Math.max(1, ...Object.values(counts));
  return html`<h3>${t('filter.' + name)}</h3><table class="counts"><tbody>${Object.entries(counts).map(([each, n]) => html`<tr><th scope="row">${called(name, each)}</th>
    <td><meter min="0" max=${most} value=${n} aria-label=${called(name, each)}></meter></td><td class="figure">${n}</td></tr>`)}</tbody></table>`;
}

function Checks() {
  const [turn, set] = useState(0);
  const report = useLoad((signal) => get('health', {}, signal), [turn]);
  const repair = async () => { const done = await send('health/repair', {}); tell(t('repaired', t('status.' + done.status))); set(turn + 1); };
  return html`<section><h2>${t('checks')}</h2><${Loaded} of=${report}>${(/** @type {import('../answers.js').Answer<'health'>} */ r) => html`<p class=${'status ' + r.status}><strong>${/** @type {any} */ (MARKS)[r.status] ?? ''} ${t('status.' + r.status)}</strong></p>
    <ul class="checks">${r.checks.map((c) => html`<li><span class="badge">${/** @type {any} */ (MARKS)[c.status] ?? '?'} ${called('checked', c.status)}</span> <strong>${called('check', c.name)}</strong> <${Said} text=${c.detail} />${c.fix ? html`<p class="fix">${t('fix')} <${Said} text=${c.fix} /></p>` : null}</li>`)}</ul>
    <${Budget} encoder=${r.encoder} />
    <div class="actions"><${Act} does=${() => report.again()}>${t('checkAgain')}<//>${session.can('admin') && r.status !== 'ok' ? html`<${Act} kind="main" does=${repair}>${t('repair')}<//>` : null}</div>
    ${PARTS.map((name) => [name, /** @type {any} */ (r)[name] ?? {}]).filter(([, known]) => Object.keys(known).length).map(([name, known]) => html`<details class=${'part ' + name}><summary>${t('part.' + name)}</summary><${Known} of=${known} as=${name === 'versions' ? 'package' : 'field'} /></details>`)}`}<//></section>`;
}

/** What is known of a part, by its name in the language of the page. @param {{of: Record<string, any>, as: string}} props */
const Known = ({ of, as }) => html`<dl>${Object.entries(of).map(([key, value]) => html`<div><dt>${as === 'day' ? day(key) : called(as, key)}</dt><dd>${written(key, value)}</dd></div>`)}</dl>`;

/** @param {string} key @param {any} value @returns {any} */
function written(key, value) {
  if (value === null && TIMES.includes(key)) return t('never');
  if (value === null || value === '' || Array.isArray(value) && !value.length) return t('none');
  if (TIMES.includes(key)) return when(new Date(value * 1000).toISOString());
  if (BYTES.includes(key)) return t('mebibytes', figure(value / 2 ** 20, 1));
  if (SECONDS.includes(key)) return t('seconds', figure(value, 0));
  if (NUMBERS.includes(key)) return String(value);
  if (key === 'cost_usd') return figure(value, 2);
  if (key === 'state') return called('run', value);
  if (key === 'problem') return html`<${Said} text=${value} />`;
  if (typeof value === 'boolean') return t(value ? 'yes' : 'no');
  if (typeof value === 'number') return figure(value, 0);
  if (Array.isArray(value)) return html`<${Stored} text=${value.join(', ')} />`;
  if (typeof value === 'object') return html`<${Known} of=${value} as=${key === 'days' ? 'day' : 'field'} />`;
  return html`<${Stored} text=${String(value)} />`;
}

/** What the language model used of its tokens of the day; nothing where there is no model. @param {{encoder: any}} props */
function Budget({ encoder }) {
  if (!encoder?.model) return null;
  const { tokens_in, tokens_out } = encoder.today;
  return html`<p>${t('budget', figure(tokens_in + tokens_out, 0), figure(encoder.budget_tokens, 0))}</p>`;
}

/** How many memories of each month are in which tier now. */
function Growth() {
  const spans = useLoad(async (signal) => (await get('stats/timeline', { step: 'month' }, signal)).spans, []);
  useChanges(() => spans.again());
  const tiers = ['active', 'recent', 'long_term'];
  return html`<section><h2>${t('tiersOverTime')}</h2><${Loaded} of=${spans} none=${(/** @type {any[]} */ s) => !s.length} empty=${t('nothingYet')}>${(/** @type {any[]} */ s) => html`<${Table} heads=${[t('month'), ...tiers.map((each) => t('tier.' + each)), t('memories')]}
    rows=${s.slice(-MONTHS).reverse().map((span) => ({ key: span.start, cells: [month(span.start), ...tiers.map((each) => span.by_tier[each] ?? 0), html`<meter min="0" max=${Math.max(...s.map((other) => other.memories))} value=${span.memories} aria-label=${month(span.start)}></meter> ${span.memories}`] }))} />`}<//></section>`;
}

/** What was recalled last, and the newest of each tier, the first of them with how it fades. */
function State() {
  const state = useLoad(async (signal) => {
    const { tiers, hot } = await get(`agents/${encodeURIComponent(session.agent)}/state`, {}, signal);
    const read = (/** @type {string} */ id) => get(`memories/${id}`, {}, signal).catch(() => null);
    const fading = async (/** @type {any[]} */ memories) => memories.length ? (await read(memories[0].id))?.fading : null;
    return {
      hot: (await Promise.all(hot.slice(-HOT).reverse().map(read))).filter(Boolean),
      tiers: await Promise.all(Object.entries(tiers).map(async ([tier, memories]) => ({ tier, memories, fading: await fading(memories) }))),
    };
  }, []);
  return html`<${Loaded} of=${state}>${(/** @type {any} */ { hot, tiers }) => html`<section><h2>${t('hot')}</h2><p class="hint">${t('hotHint')}</p>
    ${hot.length ? hot.map((/** @type {any} */ m) => html`<${Card} key=${m.id} of=${m} />`) : html`<p class="empty">${t('hotEmpty')}</p>`}</section>
    <section><h2>${t('newestOfTiers')}</h2><p class="hint">${t('fadingHint')}</p>${tiers.map((/** @type {any} */ { tier, memories, fading }) => html`<details open=${memories.length > 0}><summary>${t('tier.' + tier)}</summary>
    ${memories.slice(0, 5).map((/** @type {any} */ m, /** @type {number} */ n) => html`<${Card} key=${m.id} of=${m}>${!n && fading ? html`<${Fading} of=${fading} />` : null}<//>`)}</details>`)}</section>`}<//>`;
}
