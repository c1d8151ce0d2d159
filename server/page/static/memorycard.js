// One memory in a list, and what its fields are called.
import { html } from './ui.js';
import { Stored, when } from './text.js';
import { t } from './words.js';

/** @typedef {{id: string, text: string, state: string, kind: string, tier: string, tags: string[], occurred_at: string, agent: string, speaker: string, importance: number, trust: string, client: string, topic: string, entities: string[]} & Record<string, any>} Memory */

export const SIGNS = { current: '✓', doubtful: '?', superseded: '↷', retired: '–' };

/** The state of a memory: a sign and a word, not a colour alone. @param {{state: string}} props */
export const State = ({ state }) => html`<span class=${'state ' + state}><span aria-hidden="true">${/** @type {any} */ (SIGNS)[state]}</span> ${t('state.' + state)}</span>`;

/** The importance that keeps a memory for good. */
export const PINNED = 1;

/** A summary is as important as its sources, so that alone pins none. @param {Memory} memory */
export const isPinned = ({ importance, derived_from }) => importance >= PINNED && !derived_from.length;

/** @param {{of: Memory, most?: number, children?: any}} props */
export const Card = ({ of, most = 280, children }) => html`<article class=${'card ' + of.state}>
  <p class="text"><a href=${'#/memory/' + of.id}><${Stored} text=${of.text} most=${most} /></a></p>
  <p class="facts"><${State} state=${of.state} /> <time datetime=${of.occurred_at}>${when(of.occurred_at)}</time>
    <span>${t('kind.' + of.kind)}</span> ${of.speaker ? html`<${Stored} text=${of.speaker} most=${40} />` : null}
    ${of.tags.slice(0, 8).map((tag) => html`<span class="tag"><${Stored} text=${tag} most=${40} /></span>`)}
    ${of.tags.length > 8 ? html`<span>+${of.tags.length - 8}</span>` : null}
    ${isPinned(of) ? html`<span class="badge">${t('pinned')}</span>` : null}</p>${children}</article>`;
