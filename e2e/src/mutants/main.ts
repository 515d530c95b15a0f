import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { type Random, seededRandom } from '@mcm/kube';
import { type Mutation, mutationsOf } from './mutations.ts';

/**
 * Checks whether tests notice changes of the code. The program changes an operator or a constant, and runs the tests
 * until one fails. If no test fails, the change is printed: it has no visible effect, or a test is missing. Run it
 * manually in an unused checkout:
 * `node --conditions=source e2e/src/mutants/main.ts <sources> <count> <seed> <tests>...`, such as
 * `'packages/core/src/drain/*.ts' 40 1 packages/core/src/drain packages/core/src/run`.
 */
const [pattern = '', count = '40', seed = '1', ...tests] = process.argv.slice(2);

interface Mutant extends Mutation {
  readonly file: string;
}

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const sources = globSync(pattern.split(',')).filter((file) => !/(\.test|\/testing|\/play)\.ts$/.test(file));
const all: Mutant[] = sources.flatMap((file) =>
  mutationsOf(readFileSync(file, 'utf8')).map((mutation) => ({ ...mutation, file })),
);

function sample<T>(items: readonly T[], size: number, random: Random): T[] {
  const left = [...items];
  const picked: T[] = [];
  while (left.length > 0 && picked.length < size)
    picked.push(...left.splice(Math.floor(random.next() * left.length), 1));
  return picked;
}

function isNoticed({ file, start, end, text }: Mutant): boolean {
  const source = readFileSync(file, 'utf8');
  try {
    writeFileSync(file, source.slice(0, start) + text + source.slice(end));
    return tests.some((path) => spawnSync('vitest', ['run', '--bail=1', path], { timeout: 240_000 }).status !== 0);
  } finally {
    writeFileSync(file, source);
  }
}

const mutants = sample(all, Number(count), seededRandom(Number(seed)));
say(`${mutants.length} of ${all.length} mutants of ${sources.length} files`);
const survivors = mutants.filter((mutant) => {
  const noticed = isNoticed(mutant);
  if (!noticed) say(`survives: ${mutant.file}:${mutant.line}: ${mutant.what}`);
  return !noticed;
});
say(`${mutants.length - survivors.length} of ${mutants.length} were detected by tests`);
