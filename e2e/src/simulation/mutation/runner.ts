import { pathToFileURL } from 'node:url';
import { PROFILES, type ProfileName } from '../network/profiles.ts';
import type { Case } from '../suites/suites.ts';
import { Swarm } from '../swarm/swarm.ts';
import type { Mutant } from './list.ts';

export interface LoadedMutant extends Pick<Mutant, 'find' | 'replace'> {
  readonly url: string;
}

export interface RunOptions {
  readonly root: string;
  readonly seeds: number;
  readonly maxMs: number;
  readonly workers: number;
}

export interface MutantResult {
  readonly seen: string | undefined;
  readonly played: number;
  readonly isCut: boolean;
}

/** The network profiles of successive seeds. */
const ORDER = ['none', 'lan', 'hostile', 'slow'] as const satisfies readonly ProfileName[];
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
      // The real time depends on the computer, so a violation of the limit for the real time does not count.
      if (/of real time$/.test(first)) return;
      seen ??= `${one.suite} ${one.seed} ${one.profile}: ${first.split('\n')[0]}`;
    },
    onProgress: () => undefined,
  });
  const { played } = await swarm.run();
  const count = [...played.values()].reduce((sum, one) => sum + one, 0);
  return { seen, played: count, isCut: seen === undefined && count < seeds * mutant.suites.length };
}
