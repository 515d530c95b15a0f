import { parseArgs } from 'node:util';
import { type Machine, type MachineDeployment, machineDeployments } from '@mcm/api';
import { type Random, realClock, seededRandom, sleep } from '@mcm/kube';
import { NAMESPACE } from '../../harness/stack.ts';
import { PROGRAM_NAMES, type ProgramName, runningPrograms } from './programs.ts';
import { CLASSES, KilledStack } from './stack.ts';

const HELP = `usage: pnpm simulate:kills [options]
  Runs \`mcm up\` with its five programs, rolls and scales a fleet, and kills random programs with SIGKILL.
  The command checks in the record of the local cloud that no Machine has two VMs or loses its VM.
  --kills N      kills in all (200)
  --machines N   machines of the fleet (30)
  --minutes N    no kill after this time (60)
  --seed N       seed of the instants and of the programs (1)
The exit status is 1 after a violation and 2 after an error.
`;

function flagsOf() {
  try {
    return parseArgs({
      args: process.argv.slice(2).filter((argument) => argument !== '--'),
      options: {
        kills: { type: 'string', default: '200' },
        machines: { type: 'string', default: '30' },
        minutes: { type: 'string', default: '60' },
        seed: { type: 'string', default: '1' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    process.stderr.write(`simulate:kills: ${error instanceof Error ? error.message : error}\n${HELP}`);
    return process.exit(2);
  }
}

const flags = flagsOf();
const number = (name: 'kills' | 'machines' | 'minutes' | 'seed'): number => {
  const value = Number(flags[name]);
  if (Number.isSafeInteger(value) && value > 0) return value;
  process.stderr.write(`simulate:kills: --${name} must be a number of at least 1, not ${flags[name]}\n`);
  return process.exit(2);
};

const PAUSE_MS = 4_000;
const LEAST_PAUSE_MS = 200;
/** During one change of the deployment, programs are killed at most this often, because each change must complete. */
const KILLS_AN_ACT = 8;
const REST_MS = 600_000;
const LOOK_MS = 500;
const LAG_MS = 3_000;

interface Run {
  readonly stack: KilledStack;
  readonly random: Random;
  readonly machines: number;
  readonly killed: Map<ProgramName, number>;
  readonly until: number;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const total = (killed: ReadonlyMap<ProgramName, number>): number => [...killed.values()].reduce((a, b) => a + b, 0);

/** Reads all pods and machines into the record, until the signal is aborted. */
async function watch({ stack }: Run, signal: AbortSignal): Promise<void> {
  let provenAt = 0;
  while (!signal.aborted) {
    const before = Date.now();
    if (stack.isProven) provenAt = before;
    await stack.verify(provenAt - LAG_MS).catch(() => undefined);
    await sleep(realClock, LOOK_MS, signal).catch(() => undefined);
  }
}

const isRunning = ({ metadata, status }: Machine): boolean =>
  metadata.deletionTimestamp === undefined && status?.currentStatus?.phase === 'Running';

async function untilSuccess<T>(request: () => Promise<T>): Promise<T> {
  const end = Date.now() + REST_MS;
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(realClock, LOOK_MS);
    }
  }
}

async function isAtRest({ stack }: Run): Promise<boolean> {
  const resource = stack.client.resource<MachineDeployment>(machineDeployments, NAMESPACE);
  const all = await resource.list();
  const wanted = all.items.reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0);
  const fleet = await stack.machines();
  const done = all.items.every(
    ({ metadata, spec, status }) =>
      (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0) &&
      (status?.updatedReplicas ?? 0) === (spec.replicas ?? 0) &&
      (status?.availableReplicas ?? 0) === (spec.replicas ?? 0),
  );
  return done && fleet.length === wanted && fleet.every(isRunning);
}

function kill({ stack, random, killed }: Run): ProgramName | undefined {
  const name = PROGRAM_NAMES[Math.floor(random.next() * PROGRAM_NAMES.length)];
  const pid = name && runningPrograms(stack.run.child.pid ?? 0).get(name);
  if (name === undefined || pid === undefined) return undefined;
  process.kill(pid, 'SIGKILL');
  killed.set(name, (killed.get(name) ?? 0) + 1);
  return name;
}

async function change({ stack, random, machines }: Run, acts: number): Promise<string> {
  const replicas = Math.ceil(machines * (0.6 + 0.4 * random.next()));
  const name = CLASSES[Math.ceil(acts / 2) % 2] ?? CLASSES[0];
  const isRoll = acts % 2 === 1;
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } };
  const spec = isRoll ? { strategy, template: { spec: { class: { name } } } } : { replicas };
  const resource = stack.client.resource(machineDeployments, NAMESPACE);
  await untilSuccess(() => resource.patch('workers', { type: 'merge', body: { spec } }));
  return isRoll ? `roll to ${name}` : `scale to ${replicas}`;
}

async function act(run: Run, acts: number, most: number): Promise<void> {
  const { random, stack } = run;
  const changeName = await change(run, acts);
  const names: string[] = [];
  while (names.length < most && Date.now() < run.until) {
    await sleep(realClock, LEAST_PAUSE_MS + Math.floor(random.next() * PAUSE_MS));
    const name = kill(run);
    if (name) names.push(name);
    if (names.length > 1 && (await isAtRest(run).catch(() => false))) break;
  }
  const end = Date.now() + REST_MS;
  while (!(await isAtRest(run).catch(() => false))) {
    if (Date.now() > end) {
      stack.record.violations.push(
        `${changeName}: the programs were not idle ${REST_MS / 1_000} s after the last kill`,
      );
      break;
    }
    await sleep(realClock, LOOK_MS);
  }
  await untilSuccess(() => stack.verifyRest());
  say(
    `${changeName}, killed ${names.join(', ') || 'none'}: ${stack.record.verified} VM deletions, ${total(run.killed)} kills`,
  );
}

async function play(): Promise<number> {
  const [kills, machines] = [number('kills'), number('machines')];
  const until = Date.now() + number('minutes') * 60_000;
  const stack = await KilledStack.start(machines);
  const run: Run = { stack, machines, until, random: seededRandom(number('seed')), killed: new Map() };
  const end = new AbortController();
  let acts = 0;
  const { violations } = stack.record;
  void stack.run.ended.then(({ code, stderr }) => {
    if (!end.signal.aborted) violations.push(`mcm up ended unexpectedly with ${code}: ${stderr}`);
  });
  const watching = watch(run, end.signal);
  while (total(run.killed) < kills && Date.now() < until && violations.length === 0) {
    acts += 1;
    await act(run, acts, Math.min(KILLS_AN_ACT, kills - total(run.killed)));
  }
  // Waits until the record of pods is complete, because the last VMs are verified with this record.
  await sleep(realClock, LAG_MS + 2 * LOOK_MS);
  end.abort(new Error('over'));
  await watching;
  const code = await stack.stop();
  if (code !== 0) violations.push(`mcm up ended with ${code}`);
  for (const text of violations) say(`VIOLATION: ${text}`);
  const each = PROGRAM_NAMES.map((name) => `${name} ${run.killed.get(name) ?? 0}`).join(', ');
  say(`${total(run.killed)} kills (${each}) during ${acts} rolls and scalings`);
  say(`${stack.record.verified} deletions of VMs verified, ${violations.length} violations`);
  return violations.length > 0 ? 1 : 0;
}

if (flags.help) process.stdout.write(HELP);
else process.exitCode = await play();
