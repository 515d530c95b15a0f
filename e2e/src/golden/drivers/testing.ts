import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Counts, sumOf } from '../common/counts.ts';
import { type Verified, verifyMutants } from './mutants.ts';
import { readCases } from './recording.ts';
import { type PlayCase, runCases } from './run-set.ts';

/** The replay needs several seconds of CPU time, and up to a minute on a busy machine. */
export const LONGEST_MS = 300_000;

const COPY = fileURLToPath(new URL('../../../testdata', import.meta.url));

export interface Played {
  readonly played: number;
  readonly failures: readonly string[];
  /** The rows of docs/compatibility/differences.md that explain a difference of at least one driver call. */
  readonly rows: ReadonlySet<string>;
  readonly verified: readonly (Verified & { readonly name: string })[];
  readonly counts: Counts;
}

/** Replays all recordings of a cloud. */
export async function playAll(cloud: string, play: PlayCase): Promise<Played> {
  const failures: string[] = [];
  const rows = new Set<string>();
  const verified: (Verified & { name: string })[] = [];
  const counted: (Counts | undefined)[] = [];
  const watched: PlayCase = (recorded, watch) =>
    play(recorded, (played) => {
      watch?.(played);
      for (const row of played.expect(played.step).rows) rows.add(row);
      if (recorded.alsoAccepted) return;
      for (const each of verifyMutants(played)) verified.push({ ...each, name: recorded.name });
    });
  let played = 0;
  for await (const { name, failure, counts } of runCases(COPY, cloud, watched)) {
    played++;
    counted.push(counts);
    if (failure !== undefined) failures.push(`${name}: ${failure}`);
  }
  return { played, failures, rows, verified, counts: sumOf(counted) };
}

/** The changes of a recording that the comparison did not detect, although no rule excuses them. */
export const missed = ({ verified }: Played): readonly string[] =>
  verified
    .filter(({ outcome }) => outcome === 'missed')
    .map(({ name, change, rows }) => `${name}: ${change} [${rows}]`);

export function coverage({ verified }: Played): Readonly<Record<string, readonly string[]>> {
  const covered = verified.filter(({ outcome }) => outcome === 'covered');
  const keys = [...new Set(covered.map(({ rows }) => rows.join(' + ')))].toSorted();
  const of = (key: string): readonly string[] =>
    [...new Set(covered.filter(({ rows }) => rows.join(' + ') === key).map(({ change }) => change))].toSorted();
  return Object.fromEntries(keys.map((key) => [key, of(key)]));
}

/** Resolves with the rows of docs/compatibility/differences.md. */
export async function documentedRows(): Promise<readonly (string | undefined)[]> {
  const docs = await readFile(new URL('../../../../docs/compatibility/differences.md', import.meta.url), 'utf8');
  return docs.split('\n').map((line) => line.split('|')[1]?.trim());
}

export async function caseOf(cloud: string, name: string) {
  const found = (await readCases(COPY, cloud)).find((each) => each.name === name);
  if (!found || !('recorded' in found)) throw new Error(`there is no case ${name}`);
  return found.recorded;
}
