// Agents and tokens: whose memories are here, and who may reach them.
import { ask, get } from '../api.js';
import { Act, Dialog, Loaded, Table, html, tell, useLoad, useState } from '../ui.js';
import { Stored, when } from '../text.js';
import { t } from '../words.js';

export default function Access() {
  const agents = useLoad((signal) => get('agents', {}, signal), []);
  const tokens = useLoad((signal) => get('/page/tokens', {}, signal), []);
  const [gone, ask1] = useState(/** @type {any} */ (null));
  const close = () => ask1(null);
  const revoke = async () => { await ask(`/page/tokens/${gone.id}`, { method: 'DELETE' }); close(); tokens.again(); tell(t('revoked')); };
  return html`<section><h2>${t('agents')}</h2><${Loaded} of=${agents} none=${(/** @type {import('../answers.js').Answer<'agents'>} */ a) => !a.names.length} empty=${t('nothingYet')}>${(/** @type {import('../answers.js').Answer<'agents'>} */ a) => html`<${Table} heads=${[t('filter.agent'), t('memories'), t('lastMemory')]}
    rows=${a.names.map((n) => ({ key: n.name, cells: [html`<a href=${'#/memories?agent=' + encodeURIComponent(n.name)}><${Stored} text=${n.name} most=${60} /></a>`, n.memories, when(n.last)] }))} />`}<//></section>
    <section><h2>${t('tokens')}</h2><${Loaded} of=${tokens} none=${(/** @type {any} */ x) => !x.tokens.length} empty=${t('noTokens')}>${(/** @type {any} */ x) => html`<${Table} heads=${[t('token'), t('filter.agent'), t('rights'), t('created'), t('lastUse'), html`<span class="visually-hidden">${t('revoke')}</span>`]}
    rows=${x.tokens.map((/** @type {any} */ each) => ({ key: each.id, cells: [html`<code>${each.id}</code>`, html`<${Stored} text=${each.agent + (each.team ? ' · ' + each.team : '')} most=${60} />`, each.rights.map((/** @type {string} */ r) => t('right.' + r)).join(', '), when(each.created), each.last_use ? when(each.last_use) : t('notSince'),
      html`<button type="button" class="danger" aria-label=${t('revokeToken', each.id)} onClick=${() => ask1(each)}>${t('revoke')}</button>`] }))} /><p class="hint">${t('addToken')} <code>anamnesis token add</code></p>`}<//></section>
    ${gone ? html`<${Dialog} title=${t('revokeToken', gone.id)} close=${close}><p>${t('revokeHint')}</p><div class="actions"><${Act} kind="danger" does=${revoke}>${t('revoke')}<//><button type="button" onClick=${close}>${t('cancel')}</button></div><//>` : null}`;
}
