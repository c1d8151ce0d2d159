// A chat with the model of the settings; beside each answer stands what was recalled for it.
import { send } from '../api.js';
import { Why } from '../explain.js';
import { Card } from '../memorycard.js';
import { Act, Field, Said, attempt, html, useLayoutEffect, useState } from '../ui.js';
import { Stored } from '../text.js';
import { has, t } from '../words.js';

/** @typedef {import('../schema.js').components['schemas']['ChatOut']} Said */

/** @typedef {{text: string, said: Said|null}} Turn */

/** The conversation of this tab: it stays while another view is looked at. */
const talk = { session: '', turns: /** @type {Turn[]} */ ([]), draft: '', changed: () => {} };

/** Say *text*; the turn stands there while it waits for its answer. @param {string} text */
async function speak(text) {
  talk.session ||= 'page ' + new Date().toISOString().slice(0, 19);
  const turn = { text, said: /** @type {Said|null} */ (null) };
  Object.assign(talk, { turns: [...talk.turns, turn], draft: '' });
  talk.changed();
  await attempt(async () => { turn.said = await send('chat', { session: talk.session, text }); });
  if (!turn.said) Object.assign(talk, { turns: talk.turns.filter((each) => each !== turn), draft: talk.draft || text });
  talk.changed();
}

export default function Chat() {
  const [, draw] = useState(0);
  useLayoutEffect(() => {
    talk.changed = () => draw((n) => n + 1);
    return () => { talk.changed = () => {}; };
  }, []);
  const { turns, draft } = talk;
  const ready = Boolean(draft.trim()) && turns.every(({ said }) => said);
  const say = () => { if (ready) speak(draft); };
  const key = (/** @type {KeyboardEvent} */ e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); say(); } };
  return html`<p class="hint">${t('chatHint')}</p>
    ${turns.length ? html`<ol class="turns" role="log" aria-label=${t('chat')}>${turns.map(({ text, said }, n) => html`<li key=${n} class="columns"><div>
      <p><strong>${t('you')}</strong> <${Stored} text=${text} /></p>
      ${said ? html`<${Answer} said=${said} />` : html`<p class="loading"><span class="spinner" aria-hidden="true"></span>${t('answering')}</p>`}</div>
      ${said ? html`<${Trace} found=${said.recalled} text=${text} />` : null}</li>`)}</ol>` : html`<p class="empty">${t('chatEmpty')}</p>`}
    <${Field} label=${t('yourTurn')}><textarea rows="3" value=${draft} onKeyDown=${key} onInput=${(/** @type {any} */ e) => { talk.draft = e.target.value; talk.changed(); }}></textarea><//>
    <div class="actions"><button type="button" class="main" disabled=${!ready} onClick=${say}>${t('say')}</button></div>`;
}

/** What became of a turn, and what the model says to it. @param {{said: Said}} props */
const Answer = ({ said }) => html`<p class="hint">${stored(said)}</p>
  ${said.reply ? html`<p class="reply"><strong><${Stored} text=${said.model} /></strong> <${Stored} text=${said.reply} /></p>` : null}
  ${said.note ? html`<p class="problem">${t('noReply')} <${Said} text=${said.note} /></p>` : null}`;

/** What became of the turn itself. @param {Said} said */
function stored(said) {
  if (said.skipped.length) {
    const { reason } = said.skipped[0];
    return `${t('act.skipped')}: ${has('skip.' + reason) ? t('skip.' + reason) : reason}`;
  }
  return said.receipt ? t('change.put') : t('act.skipped');
}

/** What the model was shown of the memory; on request with the reasons, asked for afresh.
 * @param {{found: Said['recalled'], text: string}} props */
function Trace({ found, text }) {
  const [reasons, explain] = useState(/** @type {Map<string, any>} */ (new Map()));
  const ask = async () => {
    const { memories, partial, rejected } = await send('explain', { query: text, k: 20 });
    explain(new Map([...memories, ...partial, ...rejected].map((/** @type {any} */ hit) => [hit.id, hit])));
  };
  const shown = found ? [...found.memories, ...found.partial] : [];
  return html`<section aria-label=${t('recalledForIt')}><h2>${t('recalledForIt')}</h2>
    ${shown.length && !reasons.size ? html`<${Act} does=${ask}>${t('why')}<//>` : null}
    ${shown.length ? shown.map((m) => html`<${Card} of=${m} key=${m.id} most=${200}>${reasons.has(m.id) ? html`<${Why} why=${reasons.get(m.id).why} score=${reasons.get(m.id).score} />` : null}<//>`) : html`<p class="empty">${t('foundNothing')}</p>`}</section>`;
}
