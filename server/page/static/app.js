// The page: signs in, keeps the stream of changes open, shows one view under a navigation.
import { ended, follow, login, session } from './api.js';
import { arrive, lost, restore, watch } from './kept.js';
import { Act, Problem, Refusal, attempt, h, html, listeners, messages, render, tell, useEffect, useErrorBoundary, useRef, useState } from './ui.js';
import { LANGUAGES, language, setLanguage, t, wished } from './words.js';

/** @type {Array<[string, string]>} name, needed right */
const VIEWS = [
  ['now', 'read'], ['memories', 'read'], ['doubtful', 'read'], ['topics', 'read'], ['people', 'read'],
  ['health', 'read'], ['sleep', 'read'], ['chat', 'write'], ['import', 'write'], ['access', 'admin'],
];

let visits = 0;

/** The view and its parameters that the address names; each visit is a new one, also *back* to one. */
function place() {
  const back = arrive();
  const [path, search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [name = 'now', id = ''] = path.split('/');
  return { name: name || 'now', id: decodeURIComponent(id), given: Object.fromEntries(new URLSearchParams(search)), visit: visits++, back };
}

/** The view of *name*, if there is one and the rights allow it. @param {string} name */
const known = (name) => name === 'memory' || VIEWS.some(([each, right]) => each === name && session.can(right)) ? name : 'now';

/** @type {Record<string, any>} */
const loaded = {};

/** @param {{at: ReturnType<typeof place>}} props */
function View({ at }) {
  const [, set] = useState(0);
  const [problem, fail] = useState(/** @type {any} */ (null));
  const [broken, mend] = useErrorBoundary();
  const name = known(at.name);
  useEffect(() => {
    if (!loaded[name]) import(`./views/${name}.js`).then((module) => { loaded[name] = module.default; set((n) => n + 1); }, fail);
  }, [name]);
  if (broken) return html`<${Problem} problem=${broken} again=${mend} />`;
  if (problem) return html`<${Problem} problem=${problem} again=${() => location.reload()} />`;
  if (!loaded[name]) return html`<p class="loading" role="status">${t('loading')}</p>`;
  return h(loaded[name], { id: at.id, given: at.given });
}

function Messages() {
  const [said, set] = useState(/** @type {Array<any>} */ ([]));
  messages.show = (message) => set((all) => [...all.slice(-2), { ...message, key: Math.random() }]);
  const drop = (/** @type {number} */ key) => set((all) => all.filter((each) => each.key !== key));
  return html`<div class="messages" role="status" aria-live="polite">${said.map((each) => html`
    <div key=${each.key} class=${each.problem ? 'message problem' : 'message'}><span>${each.text}${each.problem ? html` <${Refusal} of=${each.problem} />` : null}</span>
    ${each.undo ? html`<${Act} does=${async () => { await each.undo(); drop(each.key); tell(t('undone')); }}>${t('undo')}<//>` : null}
    <button type="button" class="quiet" aria-label=${t('close')} onClick=${() => drop(each.key)}>×</button></div>`)}</div>`;
}

function Ended() {
  return html`<main id="main" class="ended" tabindex="-1"><h1>Anamnesis</h1><p>${t('ended')}</p><pre tabindex="0">anamnesis ui</pre></main>`;
}

function Page() {
  const [at, go] = useState(place);
  const [live, setLive] = useState(false);
  const [over, end] = useState(false);
  const [, spoken] = useState(language());
  const main = useRef(/** @type {HTMLElement|null} */ (null));
  useEffect(() => {
    const stop = new AbortController();
    ended.call = () => { stop.abort(); end(true); };
    const moved = (/** @type {HashChangeEvent} */ e) => {
      const at = place();
      go(at);
      main.current?.focus({ preventScroll: true });
      if (at.back && main.current) restore(main.current, new URL(e.oldURL).hash); else window.scrollTo(0, 0);
    };
    watch();
    addEventListener('hashchange', moved);
    follow((changed) => { for (const id of changed.gone) lost.add(id); for (const each of [...listeners]) each(changed); }, setLive, stop.signal);
    return () => { stop.abort(); removeEventListener('hashchange', moved); };
  }, []);
  const speak = async (/** @type {HTMLSelectElement} */ choice) => {
    await attempt(() => setLanguage(choice.value));
    choice.value = language();
    spoken(language());
  };
  const name = known(at.name), title = t(name);
  useEffect(() => { document.title = `${title} · Anamnesis`; }, [title]);
  if (over) return html`<${Ended} />`;
  return html`<header><a class="skip" href=${location.hash || '#/now'} onClick=${(/** @type {any} */ e) => { e.preventDefault(); main.current?.focus(); }}>${t('skip')}</a><a class="brand" href="#/now">Anamnesis</a>
    <nav aria-label=${t('views')}><ul>${VIEWS.filter(([, right]) => session.can(right)).map(([each]) => html`
      <li><a href=${'#/' + each} aria-current=${each === name ? 'page' : undefined}>${t(each)}</a></li>`)}</ul></nav>
    <div class="who"><span class=${live ? 'live on' : 'live'} role="status">${t(live ? 'live' : 'notLive')}</span>
      <bdi>${session.agent}${session.team ? ' · ' + session.team : ''}</bdi>
      ${session.can('write') ? null : html`<span class="badge">${t('readOnly')}</span>`}
      <select aria-label=${t('language')} onChange=${(/** @type {any} */ e) => speak(e.target)}>
        ${LANGUAGES.map(([id, name]) => html`<option value=${id} lang=${id} selected=${id === language()}>${name}</option>`)}</select></div>
  </header>
  <main id="main" tabindex="-1" ref=${main}><h1>${title}</h1><${View} key=${at.visit} at=${at} /></main><${Messages} />`;
}

// A fresh address in an open tab changes only the part that holds its code, which loads nothing.
addEventListener('hashchange', () => { if (/^#[^/]/.test(location.hash)) location.reload(); });
const root = /** @type {HTMLElement} */ (document.getElementById('page'));
/** English is there where the words of another language do not come. */
const worded = setLanguage(wished()).catch(() => setLanguage('en'));
/** What stands there before is the header that is painted first. @param {any} what */
const show = (what) => { root.replaceChildren(); render(what, root); };
login().finally(() => worded).then(
  () => show(h(Page, {})),
  (problem) => show(problem.message && problem.status !== 401
    ? html`<main><h1>Anamnesis</h1><${Problem} problem=${problem} again=${() => location.reload()} /></main>`
    : h(Ended, {})),
);
