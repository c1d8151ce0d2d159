// Why a memory was recalled or rejected: each signal of the score as a sentence and a bar.
import { Bar, html } from './ui.js';
import { Stored } from './text.js';
import { has, t } from './words.js';

/** @param {{why: Record<string, number|string>, score?: number}} props */
export function Why({ why, score }) {
  const figures = Object.entries(why).filter(([, value]) => typeof value === 'number' && value !== 0);
  const words = Object.entries(why).filter(([, value]) => typeof value === 'string');
  const most = Math.max(1, ...figures.filter(([name]) => name !== 'folded').map(([, value]) => Number(value)));
  return html`<details class="why"><summary>${t('why')}${score === undefined ? null : html` <span class="figure">${score.toFixed(2)}</span>`}</summary>
    ${words.map(([name, value]) => html`<p>${sentence(name, String(value))}</p>`)}
    <ul class="signals">${figures.map(([name, value]) => html`<li><span>${has('signal.' + name) ? t('signal.' + name) : t('signal.other', name)}</span>
      ${name === 'folded' ? html`<span class="figure">${value}</span>` : html`<${Bar} name=${name} value=${Number(value)} most=${most} />`}</li>`)}</ul></details>`;
}

/** @param {string} name @param {string} value */
function sentence(name, value) {
  if (name === 'rejected') {
    const reason = value.split(' ')[0];
    return has('rejected.' + reason) ? t('rejected.' + reason) : t('rejected.other', value);
  }
  if (name === 'path') return html`${t('path')} <${Stored} text=${value} />`;
  return html`${name}: <${Stored} text=${value} />`;
}
