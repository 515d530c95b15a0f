import { pathToFileURL } from 'node:url';
import { PROFILES, type ProfileName } from '../network/profiles.ts';
import type { Case } from '../suites/suites.ts';
import { Swarm } from '../swarm/swarm.ts';
import type { Mutant } from './list.ts';

/** The data of a mutant for a thread. */
export interface LoadedMutant extends Pick<Mutant, 'find' | 'replace'> {
  /** The URL of the changed file. */
  readonly url: string;
}

export interface RunOptions {
  readonly root: string;
  /** The maximum number of histories of each suite. */
  readonly seeds: number;
  /** The maximum real time in milliseconds. */
  readonly maxMs: number;
  readonly workers: number;
}

export interface MutantResult {
  /** The first violation, with the case that shows it. `seen` is undefined if no history has detected the mutant. */
  readonly seen: string | undefined;
  /** The number of histories. */
  readonly played: number;
  /** Whether the time expired before the last history. */
  readonly isCut: boolean;
}

/** The network profiles of consecutive seeds, because some mutants need a slow or faulty network. */
const ORDER = ['none', 'lan', 'hostile', 'slow'] as const satisfies readonly ProfileName[];
/** The maximum real time of one history. A longer history has an endless loop. */
const CASE_MS = 300_000;

function* casesOf({ suites, firstSeed = 1 }: Mutant, seeds: number): Generator<Case> {
  for (let index = 0; index < seeds; index += 1) {
    const profile = ORDER[index % Object.keys(PROFILES).length] ?? 'none';
    for (const suite of suites) yield { suite, seed: firstSeed + index, profile };
  }
}

/** Runs histories of a mutant until the first violation. */
export async function runMutant(mutant: Mutant, { root, seeds, maxMs, workers }: RunOptions): Promise<MutantResult> {
  let seen: string | undefined;
  const { file, find, replace } = mutant;
  const loaded: LoadedMutant = { url: pathToFileURL(`${root}/${file}`).href, find, replace };
  const swarm = new Swarm({
    workers,
    cases: casesOf(mutant, seeds),
    forMs: maxMs,
    caseMs: CASE_MS,
    endsAtFailure: true,
    worker: new URL('./worker.ts', import.meta.url),
    workerData: loaded,
    onFailure: ({ one, violations: [first = ''] }) => {
      if (/SyntaxError/.test(first)) throw new Error(`${file} cannot be loaded with the mutant: ${first}`);
      // A violation of the real-time limit is no result, because real time depends on the computer.
      if (/of real time$/.test(first)) return;
      seen ??= `${one.suite} ${one.seed} ${one.profile}: ${first.split('\n')[0]}`;
    },
    onProgress: () => undefined,
  });
  const { played } = await swarm.run();
  const count = [...played.values()].reduce((sum, one) => sum + one, 0);
  return { seen, played: count, isCut: seen === undefined && count < seeds * mutant.suites.length };
}
