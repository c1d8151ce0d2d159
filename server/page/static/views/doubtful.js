// Pairs of which the later memory may put the earlier one out of date: side by side, to be decided.
import { get, send, session } from '../api.js';
import { Card } from '../memorycard.js';
import { Act, Loaded, Said, html, lastChanges, tell, undoSince, useChanges, useLoad } from '../ui.js';
import { Stored, when } from '../text.js';
import { t } from '../words.js';

export default function Doubtful() {
  const pairs = useLoad((signal) => get('contradictions', {}, signal), []);
  useChanges(() => pairs.again());
  const decide = async (/** @type {any} */ pair, /** @type {string} */ decision) => {
    const ids = [pair.older.id, pair.newer.id];
    const before = await lastChanges(ids);
    await send('contradictions/decide', { older: ids[0], newer: ids[1], decision });
    tell(t('decided'), async () => { await undoSince(before); pairs.again(); });
    pairs.again();
  };
  return html`<p class="hint">${t('doubtfulHint')}</p><${Loaded} of=${pairs} none=${(/** @type {import('../answers.js').Answer<'contradictions'>} */ p) => !p.count} empty=${t('noDoubt')}>${(/** @type {import('../answers.js').Answer<'contradictions'>} */ p) => html`<ol class="pairs">${p.pairs.map((pair) => html`
    <li key=${pair.older.id + pair.newer.id}><div class="two"><div role="group" aria-label=${t('earlier')}><h2>${t('earlier')} · <time>${when(pair.older.occurred_at, true)}</time></h2><${Card} of=${pair.older} most=${1200} /></div>
    <div role="group" aria-label=${t('later')}><h2>${t('later')} · <time>${when(pair.newer.occurred_at, true)}</time></h2><${Card} of=${pair.newer} most=${1200} /></div></div>
    <p>${t('because')} <${Said} text=${pair.reason} />${pair.part ? html` – <${Stored} text=${pair.part} />` : null}</p>
    ${session.can('write') ? html`<div class="actions">${['newer-holds', ...(pair.part ? ['newer-holds-in-part'] : []), 'older-holds', 'keep-both', 'merge'].map((d) => html`<${Act} does=${() => decide(pair, d)}>${t('decision.' + d)}<//>`)}</div>` : null}</li>`)}</ol>`}<//>`;
}
