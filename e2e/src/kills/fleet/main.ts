import { parseArgs } from 'node:util';
import { realClock, seededRandom, sleep } from '@mcm/kube';
import { percentile } from '../../bench/machines/figure.ts';
import { KilledFleet } from './world.ts';

const HELP = `usage: pnpm simulate:fleet-kills [options]
  Runs replicas of a fleet with real programs, rolls random clusters, and kills a random replica with SIGKILL.

  Another process must hold each Lease of a killed process after 20 seconds.
  A Machine must not have two VMs, and must not lose its VM.

  --shards N     replicas; each replica has a manager and a machine controller (3)
  --planes N     target clusters, whose control planes share few processes (200)
  --machines N   machines of each cluster (2)
  --minutes N    no kill after this time (10)
  --every N      seconds between two kills (30)
  --rolls N      rollouts that start with each kill (10)
  --seed N       seed of the random kills and rollouts (1)
The exit status is 1 after a violation and 2 after an error.
`;

const DEFAULTS = { shards: 3, planes: 200, machines: 2, minutes: 10, every: 30, rolls: 10, seed: 1 };
type Name = keyof typeof DEFAULTS;
const NAMES = Object.keys(DEFAULTS) as readonly Name[];

function fail(sentence: string): never {
  process.stderr.write(`simulate:fleet-kills: ${sentence}\n${HELP}`);
  process.exit(2);
}

function flagsOf(): Readonly<Record<Name, number>> | 'help' {
  const args = process.argv.slice(2).filter((argument) => argument !== '--');
  const options = Object.fromEntries(NAMES.map((name) => [name, { type: 'string' as const }]));
  if (args.includes('--help') || args.includes('-h')) return 'help';
  try {
    const { values } = parseArgs({ args, options });
    const given = { ...DEFAULTS };
    for (const name of NAMES) {
      const text = values[name];
      if (text === undefined) continue;
      given[name] = Number(text);
      if (!Number.isSafeInteger(given[name]) || given[name] < 1)
        fail(`--${name} must be a whole number of at least 1, not ${text}`);
    }
    return given;
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

const LIMIT_MS = 15_000 + 5_000;
const LOOK_MS = 1_000;
const REST_MS = 300_000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function watch(fleet: KilledFleet, untilMs: number): Promise<void> {
  while (performance.now() < untilMs) {
    await fleet.verify();
    await sleep(realClock, LOOK_MS);
  }
}

/** Waits until all clusters are served and complete. */
async function rest(fleet: KilledFleet): Promise<number | undefined> {
  const start = performance.now();
  while ((await fleet.unfinished()) > 0) {
    if (performance.now() - start > REST_MS) return undefined;
    await watch(fleet, performance.now() + LOOK_MS);
  }
  return (performance.now() - start) / 1_000;
}

function report({ record, takeovers }: KilledFleet, kills: number): number {
  const violations = [...record.violations, ...takeovers.violations];
  for (const text of violations) say(`VIOLATION: ${text}`);
  const times = takeovers.done.map(({ ms }) => ms / 1_000);
  const shown = [0.5, 0.99, 1].map((part) => (times.length === 0 ? '-' : percentile(times, part).toFixed(1)));
  say(`${kills} kills; ${times.length} Leases taken over: p50 ${shown[0]} s, p99 ${shown[1]} s, max ${shown[2]} s`);
  say(`${record.verified} deletions of VMs verified, ${violations.length} violations`);
  return violations.length > 0 ? 1 : 0;
}

async function play(flags: Readonly<Record<Name, number>>): Promise<number> {
  const { shards, planes, machines, minutes, every, rolls, seed } = flags;
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random.next() * limit);
  const fleet = await KilledFleet.start({ shards, planes, machines, limitMs: LIMIT_MS });
  let kills = 0;
  try {
    const first = await rest(fleet);
    if (first === undefined) throw new Error(`the first machines were not Running within ${REST_MS / 1_000} s`);
    say(`after ${first.toFixed(0)} s, all machines of ${planes} clusters with ${machines} machines each are Running`);
    for (const end = performance.now() + minutes * 60_000; performance.now() < end; kills += 1) {
      const next = performance.now() + every * 1_000;
      for (let index = 0; index < rolls; index += 1) await fleet.roll(below(planes));
      await sleep(realClock, below(2_000));
      const shard = below(shards);
      const lost = await fleet.kill(shard);
      say(
        `killed replica ${shard} with ${lost} Leases; the rollouts of ${await fleet.unfinished()} clusters are not complete`,
      );
      await watch(fleet, next);
    }
    const last = await rest(fleet);
    if (last === undefined)
      fleet.record.violations.push(`the processes were not idle ${REST_MS / 1_000} s after the last kill`);
    else await fleet.verifyRest();
    return report(fleet, kills);
  } finally {
    await fleet.stop();
  }
}

const flags = flagsOf();
if (flags === 'help') process.stdout.write(HELP);
else process.exitCode = await play(flags);
