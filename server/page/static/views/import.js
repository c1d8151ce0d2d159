// Import: a file is read by the server, what would come is shown, and what came can be taken out again.
// Export: everything in the form of one's choice, as a file of the browser.
import { ask, query, send } from '../api.js';
import { useKept } from '../kept.js';
import { Act, Choice, Field, Refusal, Said, html, tell, useEffect, useState } from '../ui.js';
import { Stored, when } from '../text.js';
import { has, t } from '../words.js';

const SHOWN = 20;
/** The end of a file's name in each form of an export. */
const ENDS = { jsonl: 'jsonl', okf: 'zip', 'server-memory': 'jsonl', mem0: 'json', csv: 'csv' };
const FORMS = /** @type {Array<keyof typeof ENDS>} */ (Object.keys(ENDS));

const MISSED = /** @type {const} */ (['dragover', 'drop']);

/** The words for why what was dropped cannot be read; '' when it is one file. @param {DataTransfer|null} dropped */
function unfit(dropped) {
  if (!dropped?.files.length) return 'dropNoFile';
  if (dropped.files.length > 1) return 'dropSeveral';
  return dropped.items[0]?.webkitGetAsEntry()?.isDirectory ? 'dropFolder' : '';
}

/** How a file is read, when nothing is chosen. */
const PLAIN = { encoding: '', columns: '', strict: false };

/** What an import of *file* did, or would do; *moved* hears how many entries are read.
 * @param {File} file @param {boolean} preview @param {typeof PLAIN} how @param {(done: number) => void} moved @returns {Promise<any>} */
async function upload(file, preview, how, moved) {
  const name = file.name.replace(/^\.+/, '') || 'upload';
  const column = how.columns.split(',').map((each) => each.trim()).filter(Boolean);
  const answer = await ask('import/file' + query({ name, dry_run: preview || '', encoding: how.encoding, strict: how.strict || '', column }), { method: 'POST', headers: { 'Content-Type': 'application/octet-stream' }, body: file });
  const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let kept = '', report = /** @type {any} */ ({});
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (kept + value).split('\n');
    kept = lines.pop() ?? '';
    for (const line of lines) { report = JSON.parse(line); if (report.done) moved(report.done); }
  }
  if (report.error) throw new Error(report.error);
  return report;
}

export default function Import() {
  const [file, choose] = useKept('file', /** @type {File|null} */ (null), true);
  const [over, drag] = useState(false);
  const [read, move] = useKept('read', 0, true);
  const [waiting, wait] = useKept('waiting', false, true);
  const [report, show] = useKept('report', /** @type {any} */ (null), true);
  const [problem, fail] = useKept('problem', /** @type {any} */ (null), true);
  const [how, set] = useKept('how', PLAIN, true);
  const run = async (/** @type {File} */ given, /** @type {boolean} */ preview, by = how) => {
    fail(null); show(null); move(0); wait(true);
    try { show(await upload(given, preview, by, move)); }
    catch (said) { fail(said); }
    wait(false);
  };
  const take = (/** @type {File|undefined} */ given) => {
    choose(given ?? null);
    if (given) run(given, true); else show(null);
  };
  const turn = (/** @type {Partial<typeof PLAIN>} */ part) => {
    const next = { ...how, ...part };
    set(next);
    if (file) run(file, true, next);
  };
  const undo = async () => { await send(`runs/${report.run}/undo`, {}); show(null); choose(null); tell(t('undone')); };
  const drop = (/** @type {DragEvent} */ e) => {
    e.preventDefault();
    drag(false);
    if (waiting) return;
    const wrong = unfit(e.dataTransfer);
    if (wrong) fail({ words: wrong }); else take(e.dataTransfer?.files[0]);
  };
  useEffect(() => {  // a file that misses the field would replace the page
    const miss = (/** @type {DragEvent} */ e) => { if (e.dataTransfer?.types.includes('Files')) e.preventDefault(); };
    for (const name of MISSED) addEventListener(name, miss);
    return () => { for (const name of MISSED) removeEventListener(name, miss); };
  }, []);
  const left = (/** @type {any} */ e) => { if (!e.currentTarget.contains(e.relatedTarget)) drag(false); };
  return html`<p class="hint">${t('importHint')}</p>
    <div class=${over ? 'drop over' : 'drop'} onDragEnter=${(/** @type {Event} */ e) => { e.preventDefault(); drag(true); }} onDragOver=${(/** @type {Event} */ e) => e.preventDefault()} onDragLeave=${left} onDrop=${drop}>
    <${Field} label=${t('dropFile')}><input type="file" disabled=${waiting} onChange=${(/** @type {any} */ e) => take(e.target.files[0])} /><//></div>
    <details><summary>${t('importHow')}</summary>
      <${Field} label=${t('importEncoding')}><input type="text" placeholder="cp1252" value=${how.encoding} disabled=${waiting} onChange=${(/** @type {any} */ e) => turn({ encoding: e.target.value.trim() })} /><//>
      <${Field} label=${t('importColumns')}><input type="text" placeholder="text=Remark, when=Day" value=${how.columns} disabled=${waiting} onChange=${(/** @type {any} */ e) => turn({ columns: e.target.value })} /><//>
      <label><input type="checkbox" checked=${how.strict} disabled=${waiting} onChange=${(/** @type {any} */ e) => turn({ strict: e.target.checked })} /> ${t('importStrict')}</label></details>
    ${waiting ? html`<p role="status">${t('importReads', read)}</p>` : null}
    ${problem ? html`<p class="problem" role="alert">${problem.words ? t(problem.words) : html`<${Refusal} of=${problem} />`}</p>` : null}
    ${report ? html`<section role="status"><h2>${t({ preview: 'importPreview', refused: 'importRefused' }[/** @type {string} */ (report.status)] ?? 'importDone')}</h2>
      ${file ? html`<p><bdi>${file.name}</bdi></p>` : null}<${Told} report=${report} />
      <div class="actions">${report.status === 'preview' && file ? html`<${Act} kind="main" does=${() => run(file, false)} disabled=${!report.counts.new && !report.counts.changed}>${t('importNow')}<//>` : null}
      ${report.run ? html`<${Act} does=${undo}>${t('undoImport')}<//>` : null}</div></section>` : null}
    <${Export} />`;
}

/** Take everything along. */
function Export() {
  const [form, choose] = useState(FORMS[0]);
  const save = async () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(await (await ask('export' + query({ format: form }))).blob());
    link.download = `anamnesis.${ENDS[form]}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };
  return html`<section><h2>${t('export')}</h2><p class="hint">${t('exportHint')}</p>
    <${Choice} label=${t('exportForm')} value=${form} set=${choose} options=${FORMS.map((name) => [name, t('exportAs.' + name)])} />
    <div class="actions"><${Act} does=${save}>${t('export')}<//></div></section>`;
}

/** What came, or would, and what not and why. @param {{report: any}} props */
function Told({ report }) {
  const counts = Object.entries(report.counts).filter(([, count]) => count);
  const named = [...report.problems.map((/** @type {string} */ said) => html`<${Said} text=${said} most=${300} />`), ...report.unknown.map((/** @type {string} */ name) => html`<${Stored} text=${t('importUnknown', name)} most=${300} />`)];
  const more = report.problem_count + report.unknown_count - Math.min(named.length, SHOWN);
  return html`<ul>${counts.map(([status, count]) => html`<li>${t('import.' + status, count)}</li>`)}
      ${report.first ? html`<li>${t('between', when(report.first), when(report.last))}${report.dated.file ? ' ' + t('importFileDates', report.dated.file) : ''}</li>` : null}
      ${Object.entries(report.left_out).map(([why, count]) => html`<li>${t('leftOut', count)} ${has('skip.' + why) ? t('skip.' + why) : html`<${Said} text=${why} />`}</li>`)}
      ${report.doubts ? html`<li><a href="#/doubtful">${t('importDoubts', report.doubts)}</a></li>` : null}
      ${Object.entries(report.elsewhere ?? {}).map(([whose, count]) => html`<li><${Stored} text=${t('importElsewhere', whose, count)} most=${300} /></li>`)}
      ${report.gone ? html`<li>${t('importGone', report.gone)}</li>` : null}</ul>
    ${report.samples.length ? html`<h3>${t('importSamples')}</h3><ol>${report.samples.map((/** @type {string} */ text) => html`<li><${Stored} text=${text} most=${200} /></li>`)}</ol>` : null}
    ${named.slice(0, SHOWN).map((said) => html`<p class="problem">${said}</p>`)}
    ${more > 0 ? html`<p class="problem">${t('moreProblems', more)}</p>` : null}`;
}
