// Sleep: what consolidation did, would do, and how it is undone.
import { get, send, session } from '../api.js';
import { Act, Loaded, Said, html, tell, useChanges, useLoad, useState } from '../ui.js';
import { Stored, when } from '../text.js';
import { called, has, t } from '../words.js';

export default function Sleep() {
  const runs = useLoad((signal) => get('runs', { limit: 100 }, signal), []);
  const [report, show] = useState(/** @type {any} */ (null));
  useChanges(() => runs.again());
  const undo = async (/** @type {string} */ id) => { await send(`runs/${id}/undo`, {}); runs.again(); };
  const dry = async () => show(await send('consolidate', { mode: 'sleep', dry_run: true }));
  const run = async () => {
    const done = await send('consolidate', { mode: 'sleep' });
    show(done); runs.again();
    tell(t('slept'), done.run ? () => undo(done.run) : undefined);
  };
  return html`<p class="hint">${t('sleepHint')}</p>
    ${session.can('write') ? html`<div class="actions"><${Act} does=${dry}>${t('dryRun')}<//><${Act} kind="main" does=${run}>${t('sleepNow')}<//></div>` : null}
    ${report ? html`<${Report} report=${report} />` : null}
    <section><h2>${t('runs')}</h2><${Loaded} of=${runs} none=${(/** @type {import('../answers.js').Answer<'runs'>} */ r) => !r.runs.length} empty=${t('noRuns')}>${(/** @type {import('../answers.js').Answer<'runs'>} */ r) => html`<ol class="runs">${r.runs.map((each) => html`<li key=${each.run}>
      <p><strong>${when(each.at)}</strong> <span class="badge">${called('run', each.state)}</span> ${called('mode', each.mode)} ${each.scheduled ? t('scheduled') : ''}</p>
      <${Effects} run=${each} />${each.why ? html`<p><${Said} text=${each.why} /></p>` : null}
      ${session.can('write') && !['undone', 'preview', 'failed'].includes(each.state) ? html`<${Act} does=${async () => { await undo(each.run); tell(t('runUndone')); }}>${t('undoRun')}<//>` : null}</li>`)}</ol>`}<//></section>`;
}

/** What a run made and took away. @param {{run: any}} props */
function Effects({ run }) {
  const [open, set] = useState(false);
  const changed = run.steps.filter((/** @type {any} */ s) => s[1]).map((/** @type {any} */ s) => has('import.' + s[0]) ? t('import.' + s[0], s[1]) : `${s[1]} ${called('step', s[0])}`).join(', ');
  return html`<p>${changed || t('changedNothing')}</p>${run.summaries.length || run.retired.length ? html`<details onToggle=${(/** @type {any} */ e) => set(e.target.open)}><summary>${t('runDiff', run.summaries.length, run.retired.length)}</summary>
    ${open ? html`<${Ids} ids=${run.summaries} sign="+" /><${Ids} ids=${run.retired} sign="−" />` : null}</details>` : null}`;
}

/** @param {{ids: string[], sign: string}} props */
function Ids({ ids, sign }) {
  const found = useLoad(async (signal) => (await Promise.all(ids.slice(0, 50).map((id) => get(`memories/${id}`, {}, signal).catch(() => null)))).filter(Boolean), [ids.join()]);
  return html`<${Loaded} of=${found} none=${(/** @type {any[]} */ f) => !f.length} empty=" ">${(/** @type {any[]} */ list) => html`<ul class="diff">${list.map((m) => html`<li>${sign === '+' ? html`<ins>+ <a href=${'#/memory/' + m.id}><${Stored} text=${m.text} most=${300} /></a></ins>` : html`<del>− <a href=${'#/memory/' + m.id}><${Stored} text=${m.text} most=${300} /></a></del>`}</li>`)}</ul>`}<//>`;
}

/** @param {{report: any}} props */
function Report({ report }) {
  return html`<section role="status" aria-label=${t('report')}><h2>${t(report.status === 'preview' ? 'wouldDo' : 'report')}</h2>
    <ul>${report.steps.map((/** @type {any} */ s) => html`<li>${s.changed} ${called('step', s.name)}${s.detail ? html` <span class="hint"><${Said} text=${s.detail} /></span>` : null}</li>`)}</ul>
    <ul class="diff">${report.summaries.map((/** @type {any} */ s) => html`<li><ins>+ <${Stored} text=${s.text} most=${400} /></ins> <span class="hint">${t('outOf', s.derived_from.length)}</span></li>`)}</ul>
    ${report.retired.length ? html`<${Ids} ids=${report.retired} sign="−" />` : null}${report.note ? html`<p><${Said} text=${report.note} /></p>` : null}</section>`;
}
