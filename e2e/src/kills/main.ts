import { type Machine, type MachineDeployment, machineDeployments, machineSets, machines } from '@mcm/api';
import { type Lease, leases, type Random, realClock, seededRandom, sleep } from '@mcm/kube';
import { NAMESPACE, type Stack, startStack, until } from '../harness/stack.ts';

/**
 * Kills the manager with SIGKILL at random times, while the real programs roll a hundred machines. Run it manually:
 * `node --conditions=source e2e/src/kills/main.ts [kills] [seed]`, with `KUBEBUILDER_ASSETS` for a real API server.
 */
const numbers = process.argv.slice(2).map(Number);
if (numbers.length > 2 || numbers.some((each) => !Number.isSafeInteger(each) || each < 0)) {
  process.stderr.write(
    'usage: node --conditions=source e2e/src/kills/main.ts [kills] [seed]; both arguments are whole numbers, with the defaults 20 and 1\n',
  );
  process.exit(2);
}
const [kills = 20, seed = 1] = numbers;
const MACHINES = 100;
/** During one rollout, the manager is killed at most this often, so that the rollout completes. */
const KILLS_A_ROLL = 8;
const LIFE_MS = 2_500;
const LIMIT_MS = 600_000;
/** With a short Lease duration, the next manager starts soon after a kill. */
const LEASE = [
  '--leader-elect-lease-duration=5s',
  '--leader-elect-renew-deadline=4s',
  '--leader-elect-retry-period=500ms',
];
const NAME = 'killed';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const isDone = ({ metadata, spec, status }: MachineDeployment): boolean =>
  (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0) &&
  (status?.updatedReplicas ?? 0) === (spec.replicas ?? 0) &&
  (status?.replicas ?? 0) === (spec.replicas ?? 0) &&
  (status?.availableReplicas ?? 0) === (spec.replicas ?? 0);

const done = (stack: Stack): Promise<MachineDeployment> =>
  until(stack.client, machineDeployments, NAME, isDone, LIMIT_MS);

/** Checks the result of a rollout. */
async function wrong(stack: Stack, machineClass: string): Promise<string | undefined> {
  const all = (await stack.client.resource<Machine>(machines, NAMESPACE).list()).items;
  const other = all.find(
    ({ spec, status }) => spec.class.name !== machineClass || status?.currentStatus?.phase !== 'Running',
  );
  if (all.length !== MACHINES) return `${all.length} machines`;
  if (other) return `${other.metadata.name} is ${other.status?.currentStatus?.phase} of class ${other.spec.class.name}`;
  const sizes = (await stack.client.resource(machineSets, NAMESPACE).list()).items.map(
    ({ spec }) => spec.replicas ?? 0,
  );
  const active = sizes.filter((size) => size > 0);
  return active.length === 1 && active[0] === MACHINES ? undefined : `sets of ${sizes.join(', ')}`;
}

async function nextHolder(stack: Stack, before: string | undefined): Promise<string> {
  const resource = stack.client.resource<Lease>(leases, NAMESPACE);
  const end = Date.now() + LIMIT_MS;
  while (Date.now() < end) {
    const found = (await resource.list()).items.find(({ metadata }) => metadata.name === 'machine-controller-manager');
    const holder = found?.spec?.holderIdentity;
    if (holder && holder !== before) return holder;
    await sleep(realClock, 100);
  }
  throw new Error('no process acquired the Lease');
}

/** Kills managers until the rollout is complete, or until `most` managers are killed. */
async function killDuring(stack: Stack, most: number, random: Random): Promise<readonly number[]> {
  const instants: number[] = [];
  const resource = stack.client.resource<MachineDeployment>(machineDeployments, NAMESPACE);
  for (let holder: string | undefined; instants.length < most; ) {
    holder = await nextHolder(stack, holder);
    const at = Math.floor(random.next() * LIFE_MS);
    await sleep(realClock, at);
    if (isDone(await resource.get(NAME))) break;
    const { pid } = stack.manager;
    if (pid === undefined) continue;
    process.kill(pid, 'SIGKILL');
    instants.push(at);
  }
  return instants;
}

const stack = await startStack({ managerFlags: LEASE });
let failed = 0;
let killed = 0;
let rolls = 0;
try {
  for (const name of ['blue', 'green']) await stack.makeClass(name);
  await stack.startControllers();
  await stack.makeDeployment(NAME, MACHINES, 'blue');
  await done(stack);
  const random = seededRandom(seed);
  for (; killed < kills; rolls += 1) {
    const machineClass = rolls % 2 === 0 ? 'green' : 'blue';
    const body = { spec: { template: { spec: { class: { name: machineClass } } } } };
    await stack.client.resource(machineDeployments, NAMESPACE).patch(NAME, { type: 'merge', body });
    const instants = await killDuring(stack, Math.min(KILLS_A_ROLL, kills - killed), random);
    killed += instants.length;
    await done(stack);
    const problem = await wrong(stack, machineClass);
    if (problem) failed += 1;
    const when = instants.map((at) => `${at} ms`).join(', ');
    say(
      `rollout ${rolls + 1} to ${machineClass}, killed after ${when}: ${problem ?? 'the fleets ended in the same state'}; kill ${killed} of ${kills}`,
    );
  }
} finally {
  await stack.stop();
}
say(`${killed} kills, ${rolls - failed} of ${rolls} rollouts ended correctly`);
process.exitCode = failed > 0 ? 1 : 0;
