import { type Machine, type MachineDeployment, machineDeployments, machineSets, machines } from '@mcm/api';
import { realClock, seededRandom, sleep } from '@mcm/kube';
import { NAMESPACE, type Stack, startStack, until } from '../harness/stack.ts';

/**
 * Rolls a fleet of a hundred machines to and fro with the real binaries and kills the manager with SIGKILL at a random
 * instant of each roll; its successor waits for the Lease, and the end is checked each time. By hand:
 * `node --conditions=source e2e/src/kills/main.ts [rolls] [seed]`. The same on the virtual clock is a test:
 * `packages/core/src/deployment/kills.test.ts`.
 */
const [rolls = 5, seed = 1] = process.argv.slice(2).map(Number);
const MACHINES = 100;
/** About how long a roll takes; the Lease of a manager that was killed takes 15 s more. */
const ROLL_MS = 6_000;
const LIMIT_MS = 180_000;
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

/** What a roll must leave: a sentence of what it did not, or undefined. */
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

const stack = await startStack();
let failed = 0;
try {
  for (const name of ['blue', 'green']) await stack.makeClass(name);
  await stack.startControllers();
  await stack.makeDeployment(NAME, MACHINES, 'blue');
  await done(stack);
  const random = seededRandom(seed);
  for (let roll = 0; roll < rolls; roll += 1) {
    const machineClass = roll % 2 === 0 ? 'green' : 'blue';
    const body = { spec: { template: { spec: { class: { name: machineClass } } } } };
    await stack.client.resource(machineDeployments, NAMESPACE).patch(NAME, { type: 'merge', body });
    const at = Math.floor(random.next() * ROLL_MS);
    await sleep(realClock, at);
    const pid = stack.manager.pid;
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    await done(stack);
    const problem = await wrong(stack, machineClass);
    if (problem) failed += 1;
    say(`roll ${roll + 1} to ${machineClass}, manager ${pid} killed after ${at} ms: ${problem ?? 'the same end'}`);
  }
} finally {
  await stack.stop();
}
say(`${rolls - failed} of ${rolls} rolls ended as they should`);
process.exitCode = failed > 0 ? 1 : 0;
