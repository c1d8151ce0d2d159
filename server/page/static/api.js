// Everything the page asks of the server: one token, kept for this tab alone.

const KEY = 'anamnesis-session';

/** A refusal of the server, with what to do next. */
export class Refused extends Error {
  /** @param {number} status @param {string} detail @param {string} next @param {string} [code] of memory_core.errors */
  constructor(status, detail, next, code = '') {
    super(detail);
    this.status = status;
    this.next = next;
    this.code = code;
  }
}

export const session = {
  token: sessionStorage.getItem(KEY) ?? '',
  agent: '', team: '', version: '',
  /** @type {Set<string>} */ rights: new Set(),
  /** @param {string} right */ can(right) { return this.rights.has(right); },
};

/** Called when the session is over. */
export const ended = { call: () => {} };

/** Exchange the code in the address, if there is one, and remove it from the address at once. */
export async function login() {
  const code = location.hash.slice(1);
  if (code && !code.startsWith('/')) {
    history.replaceState(null, '', location.pathname);
    const answer = await fetch('session', {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code }),
      cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer',
    });
    if (!answer.ok) { if (!session.token) throw await refusal(answer); }
    else {
      session.token = (await answer.json()).token;
      sessionStorage.setItem(KEY, session.token);
    }
  }
  if (!session.token) throw new Refused(401, '', '');
  const me = await get('meta');
  Object.assign(session, { agent: me.agent, team: me.team, version: me.version, rights: new Set(me.rights) });
}

/** @param {Response} answer */
async function refusal(answer) {
  const said = await answer.json().catch(() => ({}));
  return new Refused(answer.status, said.detail ?? answer.statusText, said.next_step ?? '', said.code ?? '');
}

/** @param {string} path @param {RequestInit} [more] */
export async function ask(path, more = {}) {
  const address = path.startsWith('/') ? path : '/api/v1/' + path;
  const headers = { Authorization: 'Bearer ' + session.token, ...more.headers };
  /** @type {Response} */ let answer;
  for (let tries = 0; ; tries++) {
    try {
      answer = await fetch(address, { cache: 'no-store', credentials: 'omit', ...more, headers });
    } catch (problem) {
      if (more.signal?.aborted) throw problem;
      throw new Refused(0, 'offline', '', 'offline');
    }
    if (answer.status !== 503 || tries === 3) break;
    await new Promise((go) => setTimeout(go, 1000));  // busy: nothing was done
  }
  if (answer.status === 401) {
    sessionStorage.removeItem(KEY);
    session.token = '';
    ended.call();
  }
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

/** @param {Record<string, unknown>} filters */
export function query(filters) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(filters))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== '' && each !== null && each !== undefined && each !== 0) given.append(name, String(each));
  const text = given.toString();
  return text ? '?' + text : '';
}

/** What the API answers; tests/server/page/types has the types of the answers.
 * @template {string} P @param {P} path @param {Record<string, unknown>} [filters] @param {AbortSignal} [signal]
 * @returns {Promise<import('./answers.js').Answer<P>>} */
export async function get(path, filters = {}, signal) {
  return (await ask(path + query(filters), signal ? { signal } : {})).json();
}

/** @param {string} path @param {object} [body] @param {string} [method] @returns {Promise<any>} */
export async function send(path, body = {}, method = 'POST') {
  const more = { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  return (await ask(path, more)).json();
}

/** @typedef {{memories: string[], gone: string[]}} Changed */

/** Read the stream of changes until *signal* ends it; *heard* gets each.
 * @param {(changed: Changed) => void} heard @param {(open: boolean) => void} state @param {AbortSignal} signal */
export async function follow(heard, state, signal) {
  let last = '', pause = 500;
  while (!signal.aborted && session.token) {
    try {
      /** @type {Record<string, string>} */
      const headers = last ? { 'Last-Event-ID': last } : {};
      const answer = await ask('events', { headers, signal });
      const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
      state(true);
      pause = 500;
      let kept = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const blocks = (kept + value).split('\n\n');
        kept = blocks.pop() ?? '';
        for (const block of blocks) {
          /** @type {Record<string, string>} */ const fields = {};
          for (const line of block.split('\n')) {
            const at = line.indexOf(': ');
            if (at > 0) fields[line.slice(0, at)] = line.slice(at + 2);
          }
          if (fields.id) last = fields.id;
          if (fields.data) heard(JSON.parse(fields.data));
        }
      }
    } catch (problem) {
      if (signal.aborted) return;
    }
    state(false);
    await new Promise((go) => setTimeout(go, pause));
    pause = Math.min(pause * 2, 15000);
  }
}
