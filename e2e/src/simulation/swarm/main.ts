import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { PROFILES, type ProfileName } from '../network/profiles.ts';
import { type Case, playCase, SUITES } from '../suites/suites.ts';
import { type Failure, readReplay, writeReplay } from './replay.ts';
import { Swarm, type Tally } from './swarm.ts';

const HELP = `usage: pnpm simulate [options]
  Runs histories on the virtual clock and verifies them. If a history fails, the command removes all unnecessary actions and writes the history to a file.
  --seeds A-B       range of seeds, or one seed (1-100; with --for: new seeds until the end)
  --for TIME        runs for this time, e.g. 90s, 30m or 8h
  --suite NAMES     of ${[...SUITES.keys()].join(',')} (all)
  --profile NAMES   of ${Object.keys(PROFILES).join(',')}: faults and delays of the network (none)
  --first           stops at the first violation, and does not shrink the history
  --workers N       threads (one for each core)
  --out DIR         directory for failing histories (simulation-failures)
  --replay FILE     runs a failing history again, and prints its events.
The exit status is 1 after a violation and 2 after an error.
`;

const OPTIONS = {
  seeds: { type: 'string' },
  for: { type: 'string' },
  suite: { type: 'string' },
  profile: { type: 'string', default: 'none' },
  workers: { type: 'string', default: String(availableParallelism()) },
  first: { type: 'boolean', default: false },
  out: { type: 'string', default: 'simulation-failures' },
  replay: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const CASE_MS = 900_000;
const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

function fail(message: string): never {
  process.stderr.write(`simulate: ${message}\n`);
  process.exit(2);
}

function readFlags() {
  const args = process.argv.slice(2).filter((argument) => argument !== '--');
  try {
    return parseArgs({ args, options: OPTIONS }).values;
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\n${HELP}`);
  }
}

const flags = readFlags();

function duration(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smh])$/.exec(text) ?? [];
  return count === undefined
    ? fail(`--for must be a time such as 90s, 30m or 8h, not ${text}`)
    : Number(count) * (UNITS[unit] ?? 0);
}

function range(text: string): readonly [first: number, last: number] {
  const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  if (first === undefined || Number(last) < Number(first))
    return fail(`--seeds must be a seed or a range such as 1-500, not ${text}`);
  return [Number(first), Number(last)];
}

function named(flag: string, text: string | undefined, known: Iterable<string>): readonly string[] {
  const all = [...known];
  const names = text?.split(',') ?? all;
  const strange = names.find((name) => !all.includes(name));
  return strange === undefined ? names : fail(`--${flag} must contain only ${all.join(', ')}, not ${strange}`);
}

function workers(): number {
  const count = Number(flags.workers);
  return Number.isSafeInteger(count) && count > 0
    ? count
    : fail(`--workers must be a number of at least 1, not ${flags.workers}`);
}

function* cases(first: number, last: number): Generator<Case> {
  const suites = named('suite', flags.suite, SUITES.keys());
  const profiles = named('profile', flags.profile, Object.keys(PROFILES)) as readonly ProfileName[];
  for (let seed = first; seed <= last; seed += 1)
    for (const suite of suites) for (const profile of profiles) yield { suite, seed, profile };
}

/** Returns a different seed for each swarm: the number of seconds since 2026. */
const newSeed = (): number => Math.floor((Date.now() - Date.UTC(2026, 0, 1)) / 1_000);

const print = (text: string): void => void process.stdout.write(`${text}\n`);

const sum = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((all, one) => all + one, 0);

function report({ played, failed, minutes }: Tally): void {
  const count = sum(played);
  const rate = (count / Math.max(minutes, 1 / 60_000)).toFixed(1);
  print(`${count} histories in ${minutes.toFixed(1)} min (${rate} per minute), ${sum(failed)} of them with violations`);
}

async function replay(path: string): Promise<void> {
  const { one, violations: before } = readReplay(path);
  const { violations, story } = await playCase(one);
  print(story);
  print(
    violations.length > 0
      ? violations.join('\n')
      : `the repeated history has no violation; the recorded violation was: ${before.join('; ')}`,
  );
  process.exit(violations.length > 0 ? 1 : 0);
}

function tell(failure: Failure): void {
  const { suite, seed, profile, plan } = failure.one;
  print(
    `${suite} ${seed} ${profile}: ${failure.violations[0]?.split('\n')[0] ?? 'the repeated history has no violation'}`,
  );
  print(`  ${plan?.steps.map(({ act }) => act).join(', ') ?? 'not shrunk'}`);
  print(`  pnpm simulate --replay ${writeReplay(flags.out, failure)}`);
  // Other threads may still run long histories, so the process must exit explicitly.
  if (flags.first) process.exit(1);
}

async function swarm(): Promise<void> {
  const forMs = flags.for === undefined ? undefined : duration(flags.for);
  const start = newSeed();
  const [first, last] = flags.seeds
    ? range(flags.seeds)
    : forMs === undefined
      ? [1, 100]
      : [start, Number.MAX_SAFE_INTEGER];
  print(`the first seed is ${first}`);
  const all = cases(first, last);
  const run = new Swarm({
    workers: workers(),
    cases: all,
    forMs,
    caseMs: CASE_MS,
    endsAtFailure: flags.first,
    onFailure: tell,
    onProgress: report,
  });
  const tally = await run.run();
  for (const [name, count] of tally.played)
    print(`${name}: ${count} histories, ${tally.failed.get(name) ?? 0} with violations`);
  report(tally);
  process.exit(sum(tally.failed) > 0 ? 1 : 0);
}

// The code of a history runs too rarely for the optimizing compilers of V8, so V8 compiles the code with Sparkplug at
// once.
setFlagsFromString('--always-sparkplug');

if (flags.help) print(HELP);
else await (flags.replay === undefined ? swarm() : replay(flags.replay)).catch((error: unknown) => fail(String(error)));
