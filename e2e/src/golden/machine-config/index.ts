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
import { corrected } from './differences/corrections.ts';

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
      const recorded = parseCase(one.raw);
      if (typeof recorded === 'string') {
        yield { name: one.place, failure: recorded };
        continue;
      }
      const failure = await play(recorded);
      yield { name: `${recorded.id} ${recorded.title}`, failure };
    }
  },
};

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function play(recorded: RecordedCase): Promise<string | undefined> {
  try {
    return compare(recorded, await answerOf(recorded));
  } catch (error) {
    return `cannot replay this recorded case: ${textOf(error)}`;
  }
}

/**
 * Returns the result of mcm for a recorded call.
 * @throws Error if mcm has no such function
 */
export async function answerOf(recorded: RecordedCase): Promise<unknown> {
  const call = CALLS[recorded.fn];
  if (!call) throw new Error(`mcm has no template function ${recorded.fn}`);
  return await call(recorded.input as never);
}

/** Returns the difference between the result of mcm and the recording that no correction allows, or undefined. */
export function compare(recorded: RecordedCase, answer: unknown): string | undefined {
  try {
    const { expected, actual } = corrected(recorded, answer);
    return differenceOf(expected, actual);
  } catch (error) {
    return `cannot be compared: ${textOf(error)}`;
  }
}
