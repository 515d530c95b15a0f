import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { errorText } from '@mcm/kube';
import { type Counts, sumOf } from './common/counts.ts';
import type { GoldenSet, Outcome } from './common/set.ts';
import { findSets } from './sets.ts';

const OWN_COPY = fileURLToPath(new URL('../../testdata', import.meta.url));

class Tally {
  passed = 0;
  failed = 0;

  add(failure: string | undefined): void {
    if (failure === undefined) this.passed += 1;
    else this.failed += 1;
  }

  toString(): string {
    return `${this.passed} passed, ${this.failed} failed`;
  }
}

const byText = ([a]: readonly [string, number], [b]: readonly [string, number]): number => (a < b ? -1 : 1);

/** If a set throws an error, yields one failed check. */
async function* wholly(set: GoldenSet, dir: string): AsyncIterable<Outcome> {
  try {
    yield* set.run(dir);
  } catch (error) {
    yield { name: 'recordings', failure: errorText(error) };
  }
}

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: args.filter((arg) => arg !== '--'),
    options: { from: { type: 'string' } },
    allowPositionals: true,
  });
  const all = new Tally();
  const uses = new Map<string, Tally>();
  const excused = new Map<string, Counts>();
  for (const set of findSets(positionals)) {
    for await (const { name, failure, use, counts } of wholly(set, values.from ?? OWN_COPY)) {
      all.add(failure);
      excused.set(set.name, sumOf([excused.get(set.name), counts]));
      if (failure !== undefined) process.stdout.write(`FAIL ${set.name} ${name}: ${failure}\n`);
      if (use === undefined) continue;
      const key = `${set.name}, ${use}`;
      uses.set(key, uses.get(key) ?? new Tally());
      uses.get(key)?.add(failure);
    }
  }
  for (const [set, counts] of excused)
    for (const [what, count] of Object.entries(counts).toSorted(byText))
      process.stdout.write(`${set}: ${count} ${what}\n`);
  for (const [use, tally] of uses) process.stdout.write(`${use}: ${tally}\n`);
  process.stdout.write(`${all}\n`);
  return all.failed > 0 || all.passed === 0 ? 1 : 0;
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`golden: ${errorText(error)}\n`);
    process.exitCode = 1;
  },
);
