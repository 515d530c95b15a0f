import type { GoldenSet, Outcome } from '../set.ts';
import { differenceOf } from './differences/compare.ts';
import { corrected } from './differences/corrections.ts';
import { ignitionCalls } from './ignition.ts';
import { kubeletCalls } from './kubelet.ts';
import { kubeletNameCalls } from './kubelet-names.ts';
import { nodeSyncCalls } from './node-sync.ts';
import { nodeCalls } from './nodes.ts';
import { parseCase, type RecordedCase, readRecordings } from './recording.ts';
import { renderCalls } from './render.ts';
import { renderSyncCalls } from './render-sync.ts';
import { templateCalls } from './templates.ts';

/** How one function of the original is called here: the answer in the recordings' shape. */
export type Call = (input: never) => Record<string, unknown> | Promise<Record<string, unknown>>;

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

/** What the original's machine-config functions answered, case by case. */
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
      yield { name: `${recorded.id} ${recorded.title}`, ...(failure !== undefined && { failure }) };
    }
  },
};

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A case that cannot be played, or whose answer cannot be compared, is one failed case. */
async function play(recorded: RecordedCase): Promise<string | undefined> {
  try {
    return compare(recorded, await answerOf(recorded));
  } catch (error) {
    return `cannot be played: ${textOf(error)}`;
  }
}

/** Our answer to a recorded call. @throws Error for a function that is not here */
export async function answerOf(recorded: RecordedCase): Promise<unknown> {
  const call = CALLS[recorded.fn];
  if (!call) throw new Error(`there is no function ${recorded.fn} here`);
  return await call(recorded.input as never);
}

/** Where our answer differs from the recorded one, other than on purpose; undefined: nowhere. */
export function compare(recorded: RecordedCase, answer: unknown): string | undefined {
  try {
    const { expected, actual } = corrected(recorded, answer);
    return differenceOf(expected, actual);
  } catch (error) {
    return `cannot be compared: ${textOf(error)}`;
  }
}
