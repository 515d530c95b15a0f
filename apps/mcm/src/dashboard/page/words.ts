import { type Html, html } from './html.ts';

/** The state of an object, for its color. The text next to it says the same. */
export type Mood = 'good' | 'busy' | 'bad' | 'idle';

const MOODS: Readonly<Record<string, Mood>> = {
  Running: 'good',
  Available: 'good',
  Creating: 'busy',
  Pending: 'busy',
  Terminating: 'busy',
  InPlaceUpdating: 'busy',
  Failed: 'bad',
  CrashLoopBackOff: 'bad',
  Unknown: 'bad',
  InPlaceUpdateFailed: 'bad',
};

/** The mood of a machine's phase. */
export const moodOf = (phase: string): Mood => MOODS[phase] ?? 'idle';

export const badge = (mood: Mood, words: string): Html => html`<span class="badge ${mood}">${words}</span>`;

/** The age, similar to `kubectl get`. The element has the exact time as its title. */
export function age(since: string | undefined, now: Date): Html {
  const words = ageInWords(since, now);
  return words === '' ? html`–` : html`<time datetime="${since}" title="${since}">${words}</time>`;
}

/** The age as text; empty if it is not known. */
export function ageInWords(since: string | undefined, now: Date): string {
  const start = Date.parse(since ?? '');
  return Number.isNaN(start) ? '' : roughly(now.getTime() - start);
}

function roughly(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [minutes, hours, days] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600), Math.floor(seconds / 86_400)];
  if (days >= 2) return `${days}d`;
  if (hours >= 2) return `${hours}h${minutes % 60}m`;
  return minutes >= 2 ? `${minutes}m` : `${seconds}s`;
}

/** `1 machine`, `2 machines`. */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
