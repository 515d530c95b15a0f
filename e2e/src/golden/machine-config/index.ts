import { type Counts, onceEach, sumOf } from '../common/counts.ts';
import type { GoldenSet, Outcome } from '../common/set.ts';
import type { Call } from './calls/call.ts';
import { ignitionCalls } from './calls/ignition.ts';
import { kubeletCalls } from './calls/kubelet.ts';
import { kubeletNameCalls } from './calls/kubelet-names.ts';
import { nodeSyncCalls } from './calls/node-sync.ts';
import { nodeCalls } from './calls/nodes.ts';
import { parseCase, type RecordedCase, readRecordings } from './calls/recording.ts';
import { renderCalls } from './calls/render.ts';
import { renderSyncCalls } from './calls/render-sync.ts';
import { templateCalls } from './calls/templates.ts';
import { differenceOf } from './differences/compare.ts';
import { CORRECTION_NAMES, corrected } from './differences/corrections.ts';

const CALLS: Readonly<Record<string, Call>> = {
  ...ignitionCalls,
  ...renderCalls,
  ...renderSyncCalls,
  ...nodeCalls,
  ...nodeSyncCalls,
  ...templateCalls,
  ...kubeletCalls,
  ...kubeletNameCalls,
};

/** The recorded results of the functions for machine configs in the original. */
export const machineConfig: GoldenSet = {
  name: 'machine-config',
  async *run(dir: string): AsyncIterable<Outcome> {
    for (const one of await readRecordings(dir)) {
      const recorded = parseCase(one);
      if (typeof recorded === 'string') {
        yield { name: one.place, failure: recorded };
        continue;
      }
      yield { name: `${recorded.id} ${recorded.title}`, ...(await play(recorded)) };
    }
  },
};

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function play(recorded: RecordedCase): Promise<Pick<Outcome, 'failure' | 'counts'>> {
  try {
    const answer = await answerOf(recorded);
    return { failure: compare(recorded, answer), counts: excusedIn(recorded, answer) };
  } catch (error) {
    return { failure: `cannot replay this recorded case: ${textOf(error)}` };
  }
}

/**
 * Returns the result of mcm for a recorded call.
 * @throws Error if mcm has no such function
 */
export async function answerOf(recorded: RecordedCase): Promise<unknown> {
  const call = Object.hasOwn(CALLS, recorded.fn) ? CALLS[recorded.fn] : undefined;
  if (!call) throw new Error(`mcm has no template function ${recorded.fn}`);
  return await call(recorded.input as never);
}

/**
 * Compares the result of mcm with the recording. Returns the difference that no correction allows, or undefined.
 * @param names the corrections that are applied
 * @param excuse called with the name of each parser whose error texts differ from the original
 */
export function compare(
  recorded: RecordedCase,
  answer: unknown,
  names: readonly string[] = CORRECTION_NAMES,
  excuse?: (parser: string) => void,
): string | undefined {
  try {
    const { expected, actual } = corrected(recorded, answer, names);
    return differenceOf(expected, actual, excuse);
  } catch (error) {
    return `cannot be compared: ${textOf(error)}`;
  }
}

/**
 * Returns the corrections that the result of mcm needs to equal the recording, and the parsers whose error texts
 * differ.
 */
function excusedIn(recorded: RecordedCase, answer: unknown): Counts {
  const parsers: string[] = [];
  compare(recorded, answer, CORRECTION_NAMES, (parser) => parsers.push(parser));
  const differs = (names: readonly string[]): boolean => compare(recorded, answer, names) !== undefined;
  const isCorrected = differs([]);
  const needed = CORRECTION_NAMES.filter(
    (name) => isCorrected && differs(CORRECTION_NAMES.filter((other) => other !== name)),
  );
  return sumOf([
    onceEach(['results of functions', ...(isCorrected ? ['results that need a correction'] : [])]),
    ...needed.map((name) => ({ [`results that need the correction ${name}`]: 1 })),
    ...parsers.map((parser) => ({ [`texts with other words: ${parser}`]: 1 })),
  ]);
}
