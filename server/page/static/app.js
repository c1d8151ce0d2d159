// The page: signs in, keeps the stream of changes open, shows one view under a navigation.
import { ended, follow, login, session } from './api.js';
import { Act, Problem, h, html, listeners, messages, render, tell, useEffect, useRef, useState } from './ui.js';
import { LANGUAGES, language, setLanguage, t } from './words.js';

/** @type {Array<[string, string, string]>} name, words, needed right */
const VIEWS = [
  ['now', 'now', 'read'], ['memories', 'memories', 'read'], ['doubtful', 'doubtful', 'read'],
  ['topics', 'topics', 'read'], ['people', 'people', 'read'], ['health', 'health', 'read'],
  ['sleep', 'sleep', 'read'], ['chat', 'chat', 'write'], ['import', 'import', 'write'], ['access', 'access', 'admin'],
];

/** The view and its parameters that the address names. */
function place() {
  const [path, search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [name = 'now', id = ''] = path.split('/');
  return { name: name || 'now', id: decodeURIComponent(id), given: Object.fromEntries(new URLSearchParams(search)) };
}

/** @type {Record<string, any>} */
const loaded = {};

/** @param {{at: ReturnType<typeof place>}} props */
function View({ at }) {
  const [, set] = useState(0);
  const [problem, fail] = useState(/** @type {any} */ (null));
  const name = at.name === 'memory' || VIEWS.some(([each]) => each === at.name) ? at.name : 'now';
  useEffect(() => {
    if (!loaded[name]) import(`./views/${name}.js`).then((module) => { loaded[name] = module.default; set((n) => n + 1); }, fail);
  }, [name]);
  if (problem) return html`<${Problem} problem=${problem} />`;
  if (!loaded[name]) return html`<p class="loading" role="status">${t('loading')}</p>`;
  return h(loaded[name], { key: name + at.id, id: at.id, given: at.given });
}

function Messages() {
  const [said, set] = useState(/** @type {Array<any>} */ ([]));
  messages.show = (message) => set((all) => [...all.slice(-2), { ...message, key: Math.random() }]);
  const drop = (/** @type {number} */ key) => set((all) => all.filter((each) => each.key !== key));
  return html`<div class="messages" role="status" aria-live="polite">${said.map((each) => html`
    <div key=${each.key} class=${each.problem ? 'message problem' : 'message'}><span>${each.text}</span>
    ${each.undo ? html`<${Act} does=${async () => { await each.undo(); drop(each.key); tell(t('undone')); }}>${t('undo')}<//>` : null}
    <button type="button" class="quiet" aria-label=${t('close')} onClick=${() => drop(each.key)}>×</button></div>`)}</div>`;
}

function Ended() {
  return html`<main id="main" class="ended" tabindex="-1"><h1>Anamnesis</h1><p>${t('ended')}</p><pre tabindex="0">anamnesis ui</pre></main>`;
}

function Page() {
  const [at, go] = useState(place());
  const [live, setLive] = useState(false);
  const [over, end] = useState(false);
  const [, spoken] = useState(language());
  const main = useRef(/** @type {HTMLElement|null} */ (null));
  useEffect(() => {
    const stop = new AbortController();
    ended.call = () => { stop.abort(); end(true); };
    const moved = () => { go(place()); main.current?.focus(); window.scrollTo(0, 0); };
    addEventListener('hashchange', moved);
    follow((changed) => { for (const each of [...listeners]) each(changed); }, setLive, stop.signal);
    return () => { stop.abort(); removeEventListener('hashchange', moved); };
  }, []);
  const title = t(at.name === 'memory' ? 'memory' : VIEWS.find(([name]) => name === at.name)?.[1] ?? 'now');
  useEffect(() => { document.title = `${title} · Anamnesis`; }, [title]);
  if (over) return html`<${Ended} />`;
  return html`<header><a class="skip" href=${location.hash || '#/now'} onClick=${(/** @type {any} */ e) => { e.preventDefault(); main.current?.focus(); }}>${t('skip')}</a><a class="brand" href="#/now">Anamnesis</a>
    <nav aria-label=${t('views')}><ul>${VIEWS.filter(([, , right]) => session.can(right)).map(([name, words]) => html`
      <li><a href=${'#/' + name} aria-current=${at.name === name ? 'page' : undefined}>${t(words)}</a></li>`)}</ul></nav>
    <div class="who"><span class=${live ? 'live on' : 'live'} role="status">${t(live ? 'live' : 'notLive')}</span>
      <bdi>${session.agent}${session.team ? ' · ' + session.team : ''}</bdi>
      ${session.can('write') ? null : html`<span class="badge">${t('readOnly')}</span>`}
      <select aria-label=${t('language')} onChange=${(/** @type {any} */ e) => { setLanguage(e.target.value); spoken(e.target.value); }}>
        ${LANGUAGES.map(([id, name]) => html`<option value=${id} lang=${id} selected=${id === language()}>${name}</option>`)}</select></div>
  </header>
  <main id="main" tabindex="-1" ref=${main}><h1>${title}</h1><${View} at=${at} /></main><${Messages} />`;
}

const root = /** @type {HTMLElement} */ (document.getElementById('page'));
setLanguage(language());
/** What stands there before is the header that is painted first. @param {any} what */
const show = (what) => { root.replaceChildren(); render(what, root); };
login().then(
  () => show(h(Page, {})),
  (problem) => show(problem.message && problem.status !== 401
    ? html`<main><h1>Anamnesis</h1><${Problem} problem=${problem} again=${() => location.reload()} /></main>`
    : h(Ended, {})),
);
