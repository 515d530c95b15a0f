import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '@mcm/kube';
import type { GoldenSet, Outcome } from '../common/set.ts';
import { excusedIn } from './excused.ts';
import { readFolder } from './recordings/recording.ts';
import { sameContract } from './same-contract.ts';
import { type Checked, takeOver } from './take-over.ts';

/**
 * Recorded histories of clusters with the original. mcm takes over the cluster in each state, and replays each history
 * from its start.
 */
export const takeover: GoldenSet = {
  name: 'takeover',
  async *run(dir: string): AsyncIterable<Outcome> {
    const folder = join(dir, 'takeover');
    if (!(await stat(folder).catch(() => undefined))?.isDirectory())
      throw new Error(`${dir} has no folder takeover/: --from must name its parent folder`);
    const files = await readFolder(folder);
    const histories = files.flatMap((read) => ('problem' in read ? [] : [read]));
    for (const read of files) if ('problem' in read) yield { name: read.file, failure: read.problem };
    for (const history of histories)
      for (const [index, { at }] of history.states.entries())
        yield* checked(`take-over ${history.file} from ${at} s`, async function* () {
          yield await takeOver(history, index);
        });
    for (const history of histories) yield* checked(`same contract ${history.file}`, () => sameContract(history));
  },
};

/** If a check throws an error, yields one failed check. */
async function* checked(name: string, check: () => AsyncIterable<Checked>): AsyncIterable<Outcome> {
  try {
    for await (const outcome of check()) yield { ...outcome, counts: excusedIn(outcome) };
  } catch (error) {
    yield { name, failure: `cannot replay this recording: ${errorText(error)}` };
  }
}
