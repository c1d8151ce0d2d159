// What all views share: markup, loading states, buttons, messages with undo, dialogs.
import { h, render } from './vendor/preact.js';
import { useCallback, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useRef, useState } from './vendor/hooks.js';
import htm from './vendor/htm.js';
import { get, send, session } from './api.js';
import { said } from './said.js';
import { clipped, plain } from './text.js';
import { figure, has, t } from './words.js';

export const html = htm.bind(h);
export { h, render, useCallback, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useRef, useState };

/** @type {Set<(changed: {memories: string[], gone: string[]}) => void>} */
export const listeners = new Set();

/** Run *heard* whenever another client or this page changed something.
 * @param {(changed: {memories: string[], gone: string[]}) => void} heard */
export function useChanges(heard) {
  const now = useRef(heard);
  now.current = heard;
  useEffect(() => {
    const call = (/** @type {any} */ changed) => now.current(changed);
    listeners.add(call);
    return () => { listeners.delete(call); };
  }, []);
}

/** What *make* resolves to, again whenever *on* changes.
 * @template T @param {(signal: AbortSignal) => Promise<T>} make @param {unknown[]} on
 * @returns {{value: T|null, problem: Error|null, busy: boolean, again: () => void, stop: () => void}} */
export function useLoad(make, on) {
  const [state, set] = useState({ value: /** @type {T|null} */ (null), problem: /** @type {Error|null} */ (null), busy: true });
  const [turn, next] = useState(0);
  const running = useRef(/** @type {AbortController|null} */ (null));
  useEffect(() => {
    const stop = running.current = new AbortController();
    set((old) => ({ ...old, busy: true }));
    make(stop.signal).then(
      (value) => { if (!stop.signal.aborted) set({ value, problem: null, busy: false }); },
      (problem) => { if (!stop.signal.aborted) set({ value: null, problem, busy: false }); },
    );
    return () => stop.abort();
  }, [...on, turn]);
  const again = useCallback(() => next((/** @type {number} */ n) => n + 1), []);
  const stop = useCallback(() => running.current?.abort(), []);
  return { ...state, again, stop };
}

/** What the program says: in the language of the page, or in English, marked as such, where its form is not known.
 * @param {{text: string|undefined, most?: number}} props */
export function Said({ text, most = 0 }) {
  if (!text) return null;
  const words = said(text), shown = words || text;
  return html`<bdi lang=${words ? undefined : 'en'}>${plain(most ? clipped(shown, most) : shown)}</bdi>`;
}

/** Why something failed: by its code in the words of the page, then in those of the program. @param {{of: any}} props */
export function Refusal({ of }) {
  const { code = '', next = '', message } = of ?? {};
  return html`<span>${has('code.' + code) ? t('code.' + code) + ' ' : null}${code === 'offline' ? null : html`<${Said} text=${message} />`}${next ? html`<br /><${Said} text=${next} />` : null}</span>`;
}

/** @param {{problem: any, again?: () => void}} props */
export function Problem({ problem, again }) {
  return html`<div class="problem" role="alert"><strong>${t('failed')}</strong> <${Refusal} of=${problem} />
    ${again ? html`<button type="button" onClick=${again}>${t('again')}</button>` : null}</div>`;
}

/** Shows what was loaded, or that it is not yet, or why not.
 * @param {{of: {value: any, problem: any, busy: boolean, again: () => void}, empty?: string, none?: (value: any) => boolean, children: (value: any) => any}} props */
export function Loaded({ of, empty = '', none = () => false, children }) {
  if (of.problem) return html`<${Problem} problem=${of.problem} again=${of.again} />`;
  if (of.value === null) return html`<p class="loading" role="status"><span class="spinner" aria-hidden="true"></span>${t('loading')}</p>`;
  if (none(of.value)) return html`<p class="empty">${empty || t('empty')}</p>`;
  return children(of.value);
}

/** @typedef {{text: string, undo?: () => Promise<any>, problem?: unknown}} Message */
export const messages = { show: (/** @type {Message} */ m) => { void m; } };

/** Say what was done, with a way back. @param {string} text @param {() => Promise<any>} [undo] */
export const tell = (text, undo) => messages.show(undo ? { text, undo } : { text });

/** Do *work*; a failure is shown. @param {() => Promise<any>} work */
export async function attempt(work) {
  try { return await work(); } catch (problem) {
    messages.show({ text: t('failed'), problem });
    return null;
  }
}

/** Undo what an answer of the server names. @param {{id: string, change: number}|null} undo */
export const undoing = (undo) => undo ? () => send(`memories/${undo.id}/undo`, { change: undo.change }) : undefined;

/** Undo the changes that memories got since *before*, the last one first.
 * @param {Record<string, number>} before last change by memory */
export async function undoSince(before) {
  for (const [id, seen] of Object.entries(before)) {
    const { changes } = await get(`memories/${id}/history`);
    for (const each of changes.filter((/** @type {any} */ c) => c.seq > seen).reverse())
      await send(`memories/${id}/undo`, { change: each.seq });
  }
}

/** The last change of each of *ids*. @param {string[]} ids */
export async function lastChanges(ids) {
  /** @type {Record<string, number>} */ const found = {};
  for (const id of ids) {
    const { changes } = await get(`memories/${id}/history`);
    found[id] = Math.max(...changes.map((/** @type {any} */ c) => c.seq));
  }
  return found;
}

/** A button that works once at a time.
 * @param {{does: () => Promise<any>|any, children?: any, kind?: string, label?: string, right?: string, disabled?: boolean}} props */
export function Act({ does, children, kind = '', label = '', right = '', disabled = false }) {
  const [busy, set] = useState(false);
  if (right && !session.can(right)) return null;
  const go = async () => { set(true); await attempt(async () => does()); set(false); };
  return html`<button type="button" class=${kind} aria-label=${label || undefined} disabled=${busy || disabled} aria-busy=${busy} onClick=${go}>${children}</button>`;
}

/** A modal dialog that keeps the focus and gives it back.
 * @param {{title: string, close: () => void, children?: any}} props */
export function Dialog({ title, close, children }) {
  const box = useRef(/** @type {HTMLDialogElement|null} */ (null));
  useEffect(() => {
    const before = /** @type {HTMLElement|null} */ (document.activeElement);
    box.current?.showModal();
    return () => before?.focus();
  }, []);
  return html`<dialog ref=${box} aria-labelledby="dialog-title" onClose=${close} onCancel=${close}>
    <h2 id="dialog-title">${title}</h2>${children}</dialog>`;
}

/** A labelled field. @param {{label: string, children?: any}} props */
export const Field = ({ label, children }) => html`<label class="field"><span>${label}</span>${children}</label>`;

/** @param {{label: string, value: string, options: Array<[string, string]>, set: (value: string) => void}} props */
export const Choice = ({ label, value, options, set }) => html`<${Field} label=${label}>
  <select value=${value} onChange=${(/** @type {any} */ e) => set(e.target.value)}>
  ${options.map(([id, name]) => html`<option value=${id} selected=${id === value}>${name}</option>`)}</select><//>`;

/** A table; on a narrow screen each row stands as a list, with the name of the column before each cell.
 * The roles say what a browser forgets of a table that it lays out otherwise.
 * @param {{heads: any[], rows: Array<{key?: string, cells: any[]}>}} props */
export const Table = ({ heads, rows }) => html`<table class="rows" role="table"><thead role="rowgroup"><tr role="row">${heads.map((head) => html`<th scope="col" role="columnheader">${head}</th>`)}</tr></thead>
  <tbody role="rowgroup">${rows.map(({ key, cells: [first, ...more] }) => html`<tr key=${key} role="row"><th scope="row" role="rowheader">${first}</th>
  ${more.map((cell, n) => html`<td role="cell"><span class="head" aria-hidden="true">${heads[n + 1]}</span><span>${cell}</span></td>`)}</tr>`)}</tbody></table>`;

/** A number from 0 to *most* as a bar with its figure. @param {{name: string, value: number, most: number}} props */
export const Bar = ({ name, value, most }) => html`<span class="bar"><meter min="0" max=${most} value=${Math.max(0, value)} aria-label=${name}></meter><span class="figure">${figure(value)}</span></span>`;
