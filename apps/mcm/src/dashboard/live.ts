import type { ServerResponse } from 'node:http';
import { type Clock, pause } from '@mcm/kube';
import type { Page, Section } from './page/page.ts';

/** Where changes come from, and how time passes. */
export interface LiveOptions {
  readonly clock: Clock;
  /** Calls back after each change of anything. */
  readonly onChange: (handler: () => void) => () => void;
  /** Aborts when the reader or the server goes away. */
  readonly signal: AbortSignal;
}

/** Ages and deadlines continue without any change. Nothing is asked of a server for them, and it keeps the connection known. */
const TICK_MS = 15_000;
/** How soon a browser that has lost the stream asks for it again. */
const RETRY_MS = 1_000;
/** A burst of changes is drawn once. */
const GAP_MS = 200;
/** Drawing may take this part of the time, however large the fleet. */
const SHARE = 0.2;

/** Writes a page's sections as server-sent events: all of them at first, then each that has changed. Ends with the signal. */
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

/** Until a change, the next tick or the end. */
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

/** What has changed since it was last sent; a comment, which the other side ignores, when nothing has. */
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

/** New lines as they are, and for each run of known ones where it began and how long it is: a row that changes is sent alone. */
export function changedLines(
  before: readonly string[],
  lines: readonly string[],
): (string | [from: number, count: number])[] {
  const known = new Map(before.map((line, index) => [line, index]));
  const told: (string | [number, number])[] = [];
  for (const line of lines) {
    const last = told.at(-1);
    const next = typeof last === 'object' ? last[0] + last[1] : 0;
    // Lines that are alike stand for each other: the one that continues with the run is taken.
    if (typeof last === 'object' && before[next] === line) last[1] += 1;
    else {
      const from = known.get(line);
      told.push(from === undefined ? line : [from, 1]);
    }
  }
  return told;
}

/** A reader who is slow gets the next state, not every state: nothing is drawn until what was written has been taken. */
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
