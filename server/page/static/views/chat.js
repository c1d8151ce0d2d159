// A chat with the model of the settings; beside each answer stands what was recalled for it.
import { send } from '../api.js';
import { Why } from '../explain.js';
import { Card } from '../memorycard.js';
import { Act, Field, html, useState } from '../ui.js';
import { Stored } from '../text.js';
import { has, t } from '../words.js';

/** @typedef {import('../schema.js').components['schemas']['ChatOut']} Said */

export default function Chat() {
  const [session] = useState(() => 'page ' + new Date().toISOString().slice(0, 19));
  const [turns, keep] = useState(/** @type {Array<{text: string, said: Said}>} */ ([]));
  const [text, set] = useState('');
  const speak = async () => {
    if (!text.trim()) return;
    /** @type {Said} */ const said = await send('chat', { session, text });
    keep((old) => [...old, { text, said }]);
    set('');
  };
  return html`<p class="hint">${t('chatHint')}</p>
    ${turns.length ? html`<ol class="turns" role="log" aria-label=${t('chat')}>${turns.map(({ text: asked, said }, n) => html`<li key=${n} class="columns"><div>
      <p><strong>${t('you')}</strong> <${Stored} text=${asked} /></p>
      <p class="hint">${stored(said)}</p>
      ${said.reply ? html`<p class="reply"><strong><${Stored} text=${said.model} /></strong> <${Stored} text=${said.reply} /></p>` : null}
      ${said.note ? html`<p class="problem">${t('noReply')} <${Stored} text=${said.note} /></p>` : null}</div>
      <${Trace} found=${said.recalled} text=${asked} /></li>`)}</ol>` : html`<p class="empty">${t('chatEmpty')}</p>`}
    <${Field} label=${t('yourTurn')}><textarea rows="3" maxlength="8000" value=${text} onInput=${(/** @type {any} */ e) => set(e.target.value)}></textarea><//>
    <div class="actions"><${Act} does=${speak} kind="main" disabled=${!text.trim()}>${t('say')}<//></div>`;
}

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
