// Why a memory was recalled or rejected: each signal of the score as a sentence and a bar.
import { Bar, html } from './ui.js';
import { Stored } from './text.js';
import { figure, has, t } from './words.js';

/** @param {{why: Record<string, number|string>, score?: number}} props */
export function Why({ why, score }) {
  const figures = Object.entries(why).filter(([, value]) => typeof value === 'number' && value !== 0);
  const words = Object.entries(why).filter(([, value]) => typeof value === 'string');
  const most = Math.max(1, ...figures.filter(([name]) => name !== 'folded').map(([, value]) => Number(value)));
  return html`<details class="why"><summary>${t('why')}${score === undefined ? null : html` <span class="figure">${figure(score)}</span>`}</summary>
    ${words.map(([name, value]) => html`<p>${sentence(name, String(value))}</p>`)}
    <ul class="signals">${figures.map(([name, value]) => html`<li><span>${has('signal.' + name) ? t('signal.' + name) : t('signal.other', name)}</span>
      ${name === 'folded' ? html`<span class="figure">${value}</span>` : html`<${Bar} name=${name} value=${Number(value)} most=${most} />`}</li>`)}</ul></details>`;
}

/** @param {string} name @param {string} value */
function sentence(name, value) {
  const [reason, ...rest] = value.split(' ');
  if (name === 'path') return html`${t('path')} ${value.split(' <- ').map((step, n) => html`${n ? ' ← ' : ''}${way(step)}`)}`;
  if (name !== 'rejected') return html`${name}: <${Stored} text=${value} />`;
  return html`${has('rejected.' + reason) ? t('rejected.' + reason) : t('rejected.other', value)} ${ID.test(rest[rest.length - 1] ?? '') ? link(rest[rest.length - 1]) : null}`;
}

const ID = /^[0-9a-z]{20}$/;

/** @param {string} id */
const link = (id) => html`<a href=${'#/memory/' + id}>${t('thatMemory')}</a>`;

/** A step by what both name: "shares Ines with", "same topic (chat) as". */
const BY_NAME = /^(shares) (.+) with$|^(same topic) \((.+)\) as$/;

/** One step to a memory: how, and from which other. @param {string} step */
function way(step) {
  const words = step.split(' '), id = words.pop() ?? '', how = words.join(' ');
  const [, shares, name, same, topic] = BY_NAME.exec(how) ?? [];
  const said = shares || same ? html`${t('path.' + (shares ?? same))} <${Stored} text=${name ?? topic} most=${60} />` : t('path.' + how);
  return html`${said}: ${ID.test(id) ? link(id) : id}`;
}
