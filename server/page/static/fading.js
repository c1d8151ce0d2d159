// How a memory fades while nobody uses it: a curve with today on it, and the same in words.
import { html } from './ui.js';
import { t } from './words.js';

const WIDTH = 300, HEIGHT = 90, HALVES = 3, STEPS = 60;

/** @param {{of: {left: number, half_life_days: number}}} props */
export function Fading({ of: { left, half_life_days: half } }) {
  const now = half * -Math.log2(Math.max(left, 1e-6)), end = now + HALVES * half;
  const at = (/** @type {number} */ day) => [WIDTH * day / end, HEIGHT * (1 - 2 ** (-day / half))].map((each) => each.toFixed(1));
  const curve = Array.from({ length: STEPS + 1 }, (_, step) => at(end * step / STEPS).join(',')).join(' ');
  const [x, y] = at(now), says = t('fading', Math.round(100 * left), Math.max(1, Math.round(half)));
  return html`<figure class="fading"><svg viewBox=${`-6 -6 ${WIDTH + 12} ${HEIGHT + 12}`} role="img" aria-label=${says}>
    <path d=${`M0,0 V${HEIGHT} H${WIDTH}`} /><polyline points=${curve} /><circle cx=${x} cy=${y} r="5" /></svg><figcaption class="hint">${says}</figcaption></figure>`;
}
