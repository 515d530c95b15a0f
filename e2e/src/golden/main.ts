import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
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

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: args.filter((arg) => arg !== '--'),
    options: { from: { type: 'string' } },
    allowPositionals: true,
  });
  const all = new Tally();
  const uses = new Map<string, Tally>();
  for (const set of findSets(positionals)) {
    for await (const { name, failure, use } of set.run(values.from ?? OWN_COPY)) {
      all.add(failure);
      if (failure !== undefined) process.stdout.write(`FAIL ${set.name} ${name}: ${failure}\n`);
      if (use === undefined) continue;
      const key = `${set.name}, ${use}`;
      uses.set(key, uses.get(key) ?? new Tally());
      uses.get(key)?.add(failure);
    }
  }
  for (const [use, tally] of uses) process.stdout.write(`${use}: ${tally}\n`);
  process.stdout.write(`${all}\n`);
  return all.failed > 0 || all.passed === 0 ? 1 : 0;
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`golden: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
