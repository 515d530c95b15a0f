import type { ServerResponse } from 'node:http';
import { type Clock, pause } from '@mcm/kube';
import type { Page, Section } from './page/page.ts';

/** The inputs of a stream. */
export interface LiveOptions {
  readonly clock: Clock;
  /** Registers a handler for each change of any object. */
  readonly onChange: (handler: () => void) => () => void;
  /** Aborts when the client or the server closes the connection. */
  readonly signal: AbortSignal;
}

/** Ages and deadlines change without an event. A tick redraws them without a request, and keeps the connection open. */
const TICK_MS = 15_000;
/** The delay after which a browser reconnects. */
const RETRY_MS = 1_000;
/** The time between two updates: a burst of changes is drawn once. */
const GAP_MS = 200;
/** The maximum share of the time for drawing. A large fleet is drawn less often. */
const SHARE = 0.2;

/** Writes the sections of a page as server-sent events: first all of them, then each changed one. Ends with the signal. */
export async function streamPage(page: Page, response: ServerResponse, options: LiveOptions): Promise<void> {
  const { clock, signal } = options;
  const sent = new Map<string, readonly string[]>();
  let changed = true;
  let wake: () => void = () => undefined;
  const stop = options.onChange(() => {
    changed = true;
    wake();
  });
  try {
    response.write(`retry: ${RETRY_MS}\n\n`);
    while (!signal.aborted) {
      const began = clock.monotonic();
      if (changed) {
        changed = false;
        await page.read?.(signal);
      }
      await write(response, frames(page.draw(clock.now()), sent), signal);
      await pause(clock, Math.max(GAP_MS, (clock.monotonic() - began) / SHARE), signal);
      if (!changed && !signal.aborted) await untilWoken(clock, signal, (resume) => (wake = resume));
    }
  } finally {
    stop();
  }
}

/** Resolves at a change, the next tick or the end. */
function untilWoken(clock: Clock, signal: AbortSignal, sleepWith: (wake: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const awake = (): void => {
      timer.cancel();
      signal.removeEventListener('abort', awake);
      resolve();
    };
    const timer = clock.setTimeout(awake, TICK_MS);
    signal.addEventListener('abort', awake);
    sleepWith(awake);
  });
}

/** The changed sections since the last call. Without changes it is a comment, which the browser ignores. */
function frames(sections: readonly Section[], sent: Map<string, readonly string[]>): string {
  const changed = sections.flatMap(({ id, body }) => {
    const before = sent.get(id) ?? [];
    const lines = body.text.split('\n');
    if (lines.length === before.length && lines.every((line, index) => line === before[index])) return [];
    sent.set(id, lines);
    return [`event: section\ndata: ${JSON.stringify({ id, lines: changedLines(before, lines) })}\n\n`];
  });
  return changed.length === 0 ? ': nothing new\n\n' : changed.join('');
}

/** Encodes changed lines: new lines as text, and each run of known lines as its start and length. So a changed row is sent alone. */
export function changedLines(
  before: readonly string[],
  lines: readonly string[],
): (string | [from: number, count: number])[] {
  const known = new Map(before.map((line, index) => [line, index]));
  const told: (string | [number, number])[] = [];
  for (const line of lines) {
    const last = told.at(-1);
    const next = typeof last === 'object' ? last[0] + last[1] : 0;
    // Of several equal lines, use the one that continues the run.
    if (typeof last === 'object' && before[next] === line) last[1] += 1;
    else {
      const from = known.get(line);
      told.push(from === undefined ? line : [from, 1]);
    }
  }
  return told;
}

/** A slow client gets the newest state, not every state: the next one is drawn after the client has read the last one. */
function write(response: ServerResponse, text: string, signal: AbortSignal): Promise<void> {
  if (response.write(text)) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    response.once('drain', done);
    signal.addEventListener('abort', done);
  });
}
