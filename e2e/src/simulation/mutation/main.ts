import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MUTANTS, type Mutant } from './list.ts';

const HELP = `usage: pnpm simulate:mutants [options]
  Applies one mutant at a time to a copy of the repository. Runs histories until one of them has a violation.
  --only A-B       these mutants, or one, counted from 1 (all)
  --topic NAME     only those of a topic
  --seeds N        histories of each suite, at most (200)
  --minutes N      time for each mutant, at most (20)
  --workers N      threads (1)
It prints a row of a table for each mutant. The exit status is 1 if one survived.
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
const SWARM = 'e2e/src/simulation/swarm/main.ts';
/** A history without a violation of the unchanged code, to verify the copy. */
const CONTROL = 1;
const CONTROL_MINUTES = 10;

/** A copy of the repository that shares its installed packages. */
function copyRepository(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mutants-'));
  const isLeftOut = (path: string): boolean => ['.git', 'node_modules'].includes(relative(ROOT, path));
  cpSync(ROOT, folder, { recursive: true, verbatimSymlinks: true, filter: (path) => !isLeftOut(path) });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

interface Played {
  /** 0: no violation; 1: a violation; 2: an error; null: the time was over. */
  readonly status: number | null;
  /** The first reported violation. */
  readonly told: string;
}

interface Asked {
  readonly suites: readonly string[];
  readonly seeds: number;
  readonly firstSeed?: number | undefined;
  readonly minutes?: number;
}

function play(folder: string, { suites, seeds, firstSeed = 1, minutes = Number(flags.minutes) }: Asked): Played {
  const asked = [
    '--seeds',
    `${firstSeed}-${firstSeed + seeds - 1}`,
    '--suite',
    suites.join(','),
    '--workers',
    flags.workers,
    '--first',
  ];
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--conditions=source', SWARM, ...asked], {
    cwd: folder,
    encoding: 'utf8',
    timeout: minutes * 60_000,
    killSignal: 'SIGKILL',
  });
  const suite = new RegExp(`^(${suites.join('|')}) \\d+ .*`, 'm');
  return { status, told: suite.exec(stdout)?.[0] ?? stderr.split('\n')[0] ?? '' };
}

function verify(folder: string, { file, find, replace, suites, firstSeed }: Mutant): Played {
  const path = join(folder, file);
  const sound = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    sound.replace(find, () => replace),
  );
  try {
    return play(folder, { suites, seeds: Number(flags.seeds), firstSeed });
  } finally {
    writeFileSync(path, sound);
  }
}

function chosen(): readonly (readonly [number: number, mutant: Mutant])[] {
  const [, first = '1', last = flags.only === undefined ? String(MUTANTS.length) : first] =
    /^(\d+)(?:-(\d+))?$/.exec(flags.only ?? '') ?? [];
  const all = MUTANTS.map((mutant, index) => [index + 1, mutant] as const);
  return all.filter(
    ([number, { topic }]) =>
      number >= Number(first) && number <= Number(last) && (flags.topic === undefined || topic === flags.topic),
  );
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ').trim().slice(0, 110);
const VERDICTS: Readonly<Record<string, string>> = { '0': 'survived', '1': 'died', '2': 'died: nothing runs' };

function run(): number {
  const folder = copyRepository();
  let survivors = 0;
  try {
    const { status, told } = play(folder, {
      suites: ['machines', 'rolls', 'join'],
      seeds: CONTROL,
      minutes: CONTROL_MINUTES,
    });
    if (status === null) throw new Error(`the unchanged code has no result within ${CONTROL_MINUTES} min`);
    if (status !== 0) throw new Error(`the unchanged code breaks a rule: ${told}`);
    process.stdout.write('| # | topic | file | line | instead | verdict | seen |\n|---|---|---|---|---|---|---|\n');
    for (const [number, mutant] of chosen()) {
      const { topic, file, find, replace } = mutant;
      const played = verify(folder, mutant);
      const verdict = VERDICTS[String(played.status)] ?? 'no violation in time';
      if (played.status !== 1 && played.status !== 2) survivors += 1;
      const cells = [String(number), topic, file, find, replace, verdict, played.told].map(cell);
      process.stdout.write(`| ${cells.join(' | ')} |\n`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return survivors;
}

if (flags.help) process.stdout.write(HELP);
else process.exitCode = run() > 0 ? 1 : 0;
