// Agents and tokens: whose memories are here, and who may reach them.
import { ask, get } from '../api.js';
import { Act, Dialog, Loaded, html, tell, useLoad, useState } from '../ui.js';
import { Stored, when } from '../text.js';
import { t } from '../words.js';

export default function Access() {
  const agents = useLoad((signal) => get('agents', {}, signal), []);
  const tokens = useLoad((signal) => get('/page/tokens', {}, signal), []);
  const [gone, ask1] = useState(/** @type {any} */ (null));
  const close = () => ask1(null);
  const revoke = async () => { await ask(`/page/tokens/${gone.id}`, { method: 'DELETE' }); close(); tokens.again(); tell(t('revoked')); };
  return html`<section><h2>${t('agents')}</h2><${Loaded} of=${agents} none=${(/** @type {import('../answers.js').Answer<'agents'>} */ a) => !a.names.length} empty=${t('nothingYet')}>${(/** @type {import('../answers.js').Answer<'agents'>} */ a) => html`<table><thead><tr><th scope="col">${t('filter.agent')}</th><th scope="col">${t('memories')}</th><th scope="col">${t('lastMemory')}</th></tr></thead>
    <tbody>${a.names.map((n) => html`<tr><th scope="row"><a href=${'#/memories?agent=' + encodeURIComponent(n.name)}><${Stored} text=${n.name} most=${60} /></a></th><td>${n.memories}</td><td>${when(n.last)}</td></tr>`)}</tbody></table>`}<//></section>
    <section><h2>${t('tokens')}</h2><${Loaded} of=${tokens} none=${(/** @type {any} */ x) => !x.tokens.length} empty=${t('noTokens')}>${(/** @type {any} */ x) => html`<table><thead><tr><th scope="col">${t('token')}</th><th scope="col">${t('filter.agent')}</th><th scope="col">${t('rights')}</th><th scope="col">${t('created')}</th><th scope="col">${t('lastUse')}</th><th scope="col"><span class="visually-hidden">${t('revoke')}</span></th></tr></thead>
    <tbody>${x.tokens.map((/** @type {any} */ each) => html`<tr key=${each.id}><th scope="row"><code>${each.id}</code></th><td><${Stored} text=${each.agent + (each.team ? ' · ' + each.team : '')} most=${60} /></td><td>${each.rights.map((/** @type {string} */ r) => t('right.' + r)).join(', ')}</td><td>${when(each.created)}</td><td>${each.last_use ? when(each.last_use) : t('notSince')}</td>
    <td><button type="button" class="danger" aria-label=${t('revokeToken', each.id)} onClick=${() => ask1(each)}>${t('revoke')}</button></td></tr>`)}</tbody></table><p class="hint">${t('addToken')} <code>anamnesis token add</code></p>`}<//></section>
    ${gone ? html`<${Dialog} title=${t('revokeToken', gone.id)} close=${close}><p>${t('revokeHint')}</p><div class="actions"><${Act} kind="danger" does=${revoke}>${t('revoke')}<//><button type="button" onClick=${close}>${t('cancel')}</button></div><//>` : null}`;
}
