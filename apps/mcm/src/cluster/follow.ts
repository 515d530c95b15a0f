import { formatTime } from '@mcm/api';
import { type Clock, KubeError, pause, realClock } from '@mcm/kube';
import type { CommandEnvironment } from '../command/environment.ts';
import { eachFormatted, formatted, type OutputFormat } from '../output/format.ts';
import type { Telling } from './answers.ts';

export type Following = Telling & Pick<CommandEnvironment, 'signal'>;

interface FollowFlags {
  readonly output: OutputFormat;
  readonly watch?: true;
}

const GAP_MS = 2_000;
const SHARE = 10;

interface Report<T> {
  readonly read: () => Promise<T>;
  readonly text: (model: T, wide: boolean) => readonly string[];
  /** Returns the part of the model that mcm compares. If this part has changed, mcm prints the model again. */
  readonly watched?: (model: T) => unknown;
  readonly clock?: Clock;
}

/** Returns the model as text without durations. */
export const withoutDurations = (model: object): string => JSON.stringify(model).replaceAll(DURATION, '');

const DURATION = /\b(?:\d+(?:\.\d+)?(?:ms|[smhd]))+\b/g;

/** Prints the lines of a model. */
export async function reportOrFollow<T extends object>(
  telling: Following,
  flags: FollowFlags,
  report: Report<T>,
): Promise<void> {
  const { say, draw } = telling;
  const drawn: Report<T>['text'] = (model, wide) => report.text(model, wide).map(draw);
  if (flags.watch) return follow(telling, flags.output, { ...report, text: drawn });
  for (const line of formatted(flags.output, await report.read(), drawn)) say(line);
}

/** Returns the result of a promise, and rejects if the signal is aborted first. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function follow<T extends object>(
  { say, warn, signal }: Following,
  output: OutputFormat,
  { read, text, watched, clock = realClock }: Report<T>,
): Promise<void> {
  const isText = output === 'text' || output === 'wide';
  const printed = (model: T): unknown => (isText ? text(model, output === 'wide') : model);
  const until = signal();
  let before: string | undefined;
  let failure: string | undefined;
  while (!until.aborted) {
    const startMs = clock.monotonic();
    try {
      const model = await unlessAborted(read(), until);
      const now = JSON.stringify((watched ?? printed)(model));
      const separator = before === undefined ? [] : ['', formatTime(clock.now())];
      if (now !== before) for (const line of linesOf(model, separator)) say(line);
      before = now;
      failure = undefined;
    } catch (error) {
      // After the first successful read, a failed read does not end the command.
      if (before === undefined || !(error instanceof KubeError)) throw error;
      if (error.message !== failure) warn(`mcm: ${error.message}; retrying`);
      failure = error.message;
    }
    await pause(clock, Math.max(GAP_MS, SHARE * (clock.monotonic() - startMs)), until);
  }
  until.throwIfAborted();

  function linesOf(model: T, separator: readonly string[]): readonly string[] {
    if (!isText) return eachFormatted(output, model, '');
    return [...separator, ...formatted(output, model, text)];
  }
}
