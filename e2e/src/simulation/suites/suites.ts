import { playFleet } from '../clusters/fleet-history.ts';
import { playGroups } from '../histories/group-history.ts';
import { FLEET_MODES } from '../histories/modes.ts';
import type { HistoryOptions, Outcome } from '../histories/outcome.ts';
import { POOL_MODES, playPool } from '../histories/pool-history.ts';
import { play } from '../histories/random-history.ts';
import { playScaler } from '../histories/scaler-history.ts';
import { playMachines, playVolumes } from '../machines/machine-history.ts';

type Play = (options: HistoryOptions) => Promise<Outcome>;

export const SUITES: ReadonlyMap<string, Play> = new Map<string, Play>([
  ['machines', playMachines],
  ['volumes', playVolumes],
  ...FLEET_MODES.map((mode): [string, Play] => [mode, (options) => play(mode, options)]),
  ['scaler', playScaler],
  ['groups', playGroups],
  ['fleet-mode', playFleet],
  ...POOL_MODES.map((mode): [string, Play] => [mode, (options) => playPool(mode, options)]),
]);

export interface Case extends HistoryOptions {
  readonly suite: string;
}

export function playCase({ suite, ...options }: Case): Promise<Outcome> {
  const play = SUITES.get(suite);
  if (!play) throw new Error(`suite must be one of ${[...SUITES.keys()].join(', ')}, not ${suite}`);
  return play(options);
}
