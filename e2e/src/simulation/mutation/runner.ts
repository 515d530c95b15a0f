import { pathToFileURL } from 'node:url';
import { PROFILES, type ProfileName } from '../network/profiles.ts';
import type { Case } from '../suites/suites.ts';
import { Swarm } from '../swarm/swarm.ts';
import type { Mutant } from './list.ts';

/** The data about a mutant that a thread needs. */
export interface LoadedMutant extends Pick<Mutant, 'find' | 'replace'> {
  /** The URL of the file that the mutant changes. */
  readonly url: string;
}

export interface RunOptions {
  readonly root: string;
  /** The maximum number of histories in each suite. */
  readonly seeds: number;
  /** The maximum real time for a mutant in milliseconds. */
  readonly maxMs: number;
  readonly workers: number;
}

export interface MutantResult {
  /** The first violation, and the case in which it occurred. If no history noticed the mutant, `seen` is undefined. */
  readonly seen: string | undefined;
  /** The number of histories that were run. */
  readonly played: number;
  /** Whether the time ran out before the last history. */
  readonly isCut: boolean;
}

/** The network profiles of successive seeds. Some mutants are noticed only in a slow or faulty network. */
const ORDER = ['none', 'lan', 'hostile', 'slow'] as const satisfies readonly ProfileName[];
/** The maximum real time of a history in milliseconds. A history that takes longer has an endless loop. */
const CASE_MS = 300_000;

function* casesOf({ suites, firstSeed = 1 }: Mutant, seeds: number): Generator<Case> {
  for (let index = 0; index < seeds; index += 1) {
    const profile = ORDER[index % Object.keys(PROFILES).length] ?? 'none';
    for (const suite of suites) yield { suite, seed: firstSeed + index, profile };
  }
}

/** Runs histories with a mutant until a verifier reports a violation. */
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
      // The real time depends on the computer, so a violation of its limit does not count.
      if (/of real time$/.test(first)) return;
      seen ??= `${one.suite} ${one.seed} ${one.profile}: ${first.split('\n')[0]}`;
    },
    onProgress: () => undefined,
  });
  const { played } = await swarm.run();
  const count = [...played.values()].reduce((sum, one) => sum + one, 0);
  return { seen, played: count, isCut: seen === undefined && count < seeds * mutant.suites.length };
}
