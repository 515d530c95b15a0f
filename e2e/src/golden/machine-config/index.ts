import type { GoldenSet, Outcome } from '../set.ts';
import { differenceOf } from './compare.ts';
import { ignitionCalls } from './ignition.ts';
import { kubeletCalls } from './kubelet.ts';
import { kubeletNameCalls } from './kubelet-names.ts';
import { mended } from './mendings.ts';
import { nodeSyncCalls } from './node-sync.ts';
import { nodeCalls } from './nodes.ts';
import { type RecordedCase, readRecordings } from './recording.ts';
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
    for (const recorded of await readRecordings(dir)) {
      const failure = await play(recorded);
      yield { name: `${recorded.id} ${recorded.title}`, ...(failure !== undefined && { failure }) };
    }
  },
};

async function play(recorded: RecordedCase): Promise<string | undefined> {
  const call = CALLS[recorded.fn];
  if (!call) return `no such function here: ${recorded.fn}`;
  const { expected, actual } = mended(recorded, await call(recorded.input as never));
  return differenceOf(expected, actual);
}
