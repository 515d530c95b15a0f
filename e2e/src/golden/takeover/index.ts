import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { GoldenSet, Outcome } from '../common/set.ts';
import { readHistories } from './recordings/recording.ts';
import { sameContract } from './same-contract.ts';
import { takeOver } from './take-over.ts';

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
    const histories = await readHistories(folder);
    for (const history of histories) {
      for (const index of history.states.keys()) yield await takeOver(history, index);
    }
    for (const history of histories) yield* sameContract(history);
  },
};
