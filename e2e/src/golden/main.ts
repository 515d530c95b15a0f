import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findSets } from './sets.ts';

/** The copy of the recordings in this repository. */
const OWN_COPY = fileURLToPath(new URL('../../testdata', import.meta.url));

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: args.filter((arg) => arg !== '--'),
    options: { from: { type: 'string' } },
    allowPositionals: true,
  });
  let passed = 0;
  let failed = 0;
  for (const set of findSets(positionals)) {
    for await (const { name, failure } of set.run(values.from ?? OWN_COPY)) {
      if (failure === undefined) passed += 1;
      else {
        failed += 1;
        process.stdout.write(`FAIL ${set.name} ${name}: ${failure}\n`);
      }
    }
  }
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed > 0 || passed === 0 ? 1 : 0;
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
