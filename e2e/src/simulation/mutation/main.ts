import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { MUTANTS, type Mutant } from './list.ts';
import { runMutant } from './runner.ts';

const HELP = `usage: pnpm simulate:mutants [options]
  Loads the system with one mutant at a time, and runs histories until one of them has a violation. The command changes no file.
  --only LIST      these mutants, by number from 1: 3, 5-9 or 1,4-6 (all)
  --topic NAME     only mutants of this topic
  --seeds N        histories of each suite, at most (200)
  --minutes N      time for each mutant, at most (20)
  --workers N      threads (1)
The command prints a table with one row for each mutant. The exit status is 1 if a mutant survived, and 2 after an error.
`;

const { values: flags } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== '--'),
  options: {
    only: { type: 'string' },
    topic: { type: 'string' },
    seeds: { type: 'string', default: '200' },
    minutes: { type: 'string', default: '20' },
    workers: { type: 'string', default: '1' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

function fail(message: string): never {
  process.stderr.write(`simulate:mutants: ${message}\n`);
  process.exit(2);
}

function positive(flag: 'seeds' | 'minutes' | 'workers'): number {
  const value = Number(flags[flag]);
  return Number.isSafeInteger(value) && value > 0
    ? value
    : fail(`--${flag} must be a number of at least 1, not ${value}`);
}

function numbers(text: string): ReadonlySet<number> {
  const ranges = text.split(',').map((part) => {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    if (first === undefined) return fail(`--only must be a list such as 1,4-6, not ${text}`);
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => Number(first) + index);
  });
  return new Set(ranges.flat());
}

function chosen(): readonly (readonly [number: number, mutant: Mutant])[] {
  const only = flags.only === undefined ? undefined : numbers(flags.only);
  return MUTANTS.map((mutant, index) => [index + 1, mutant] as const).filter(
    ([number, { topic }]) => (only?.has(number) ?? true) && (flags.topic === undefined || topic === flags.topic),
  );
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ').trim().slice(0, 110);
const print = (cells: readonly string[]): boolean => process.stdout.write(`| ${cells.join(' | ')} |\n`);

async function run(): Promise<number> {
  const options = {
    root: ROOT,
    seeds: positive('seeds'),
    maxMs: positive('minutes') * 60_000,
    workers: positive('workers'),
  };
  const survivors: number[] = [];
  print(['#', 'topic', 'file', 'line', 'instead', 'result', 'histories', 'violation']);
  print(Array.from({ length: 8 }, () => '---'));
  for (const [number, mutant] of chosen()) {
    const { topic, file, find, replace } = mutant;
    const { seen, played, isCut } = await runMutant(mutant, options);
    if (seen === undefined) survivors.push(number);
    const result = seen === undefined ? (isCut ? 'survived until the time limit' : 'survived') : 'died';
    print([String(number), topic, file, find, replace, result, String(played), seen ?? ''].map(cell));
  }
  process.stdout.write(`${chosen().length - survivors.length} died, ${survivors.length} survived: ${survivors}\n`);
  return survivors.length;
}

// The code of a history runs only a few times, so V8 compiles the code with Sparkplug at once.
setFlagsFromString('--always-sparkplug');

if (flags.help) process.stdout.write(HELP);
else process.exitCode = (await run()) > 0 ? 1 : 0;
