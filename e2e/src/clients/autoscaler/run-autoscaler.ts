import { setTimeout as sleep } from 'node:timers/promises';
import { Annotations, type MachineDeployment, machineDeployments } from '@mcm/api';
import { realClock } from '@mcm/kube';
import { NAMESPACE, until } from '../../harness/stack.ts';
import { gardenerFork, UPSTREAM } from './autoscalers.ts';
import { DeletionTimes } from './deletion-times.ts';
import type { PodLoad } from './pod-load.ts';
import { type Autoscaler, type Check, withAutoscaler } from './start-autoscaler.ts';

const POOL = 'workers';
const LARGEST = 10;
const SIZES = [3, 1, 5, 0, 2, 8, 4, 6];
const CHANGES = Number(process.env.MCM_AUTOSCALER_CHANGES ?? 16);
const LIMIT_MS = 300_000;
const LOOK_EVERY_MS = 500;
const DELETION_MS = 5_000;

async function followLoad(
  suite: string,
  load: PodLoad,
  deletions: DeletionTimes,
  ended: () => boolean,
): Promise<Check[]> {
  let [present, expected, isComplete] = [0, 1, true];
  for (let change = 0; change < CHANGES && isComplete; change += 1) {
    const count = SIZES[change % SIZES.length] ?? 0;
    const started = realClock.monotonic();
    await load.resize(count);
    isComplete = await load.isSettled(count);
    while (!isComplete && realClock.monotonic() - started < LIMIT_MS && !ended()) {
      await sleep(LOOK_EVERY_MS);
      isComplete = await load.isSettled(count);
    }
    const seconds = Math.round((realClock.monotonic() - started) / 1000);
    process.stdout.write(`${suite}: ${present} to ${count} pods after ${seconds} s\n`);
    expected += Math.max(0, Math.max(1, count) - Math.max(1, present));
    present = count;
  }
  const unnamed = load.unnamed(deletions.prioritized);
  const unasked = load.machines.size - deletions.added;
  const needless = load.machines.size - expected;
  const times = deletions.sorted();
  const slowest = times.at(-1) ?? 0;
  const median = times[Math.floor(times.length / 2)] ?? 0;
  process.stdout.write(`${suite}: ${unnamed.length} unnamed deletions\n`);
  process.stdout.write(
    `${suite}: ${unasked} machines without a request of the autoscaler, ${needless} unnecessary machines\n`,
  );
  process.stdout.write(
    `${suite}: ${times.length} deletions, ${Math.round(median)} ms after the decision (median), ${Math.round(slowest)} ms for the slowest deletion\n`,
  );
  return [
    { name: 'each scale-up and scale-in is complete within 5 minutes', passed: isComplete },
    { name: 'only machines that the autoscaler names are deleted', passed: unnamed.length === 0 },
    { name: 'no machine is created without a request of the autoscaler', passed: unasked <= 0 },
    { name: 'no unnecessary machine is created', passed: needless <= 0 },
    { name: 'each machine is deleted within 5 s of the decision', passed: times.length > 0 && slowest < DELETION_MS },
  ];
}

/**
 * Changes the number of pods in one pool several times, and checks the machines. @param dir The folder that contains
 * the programs.
 */
const run = (suite: string, autoscaler: Autoscaler, dir: string): Promise<Check[]> =>
  withAutoscaler(dir, autoscaler, {
    async prepare(stack) {
      await stack.makeDeployment(POOL, 1, 'small');
      const annotations = { [Annotations.AutoscalerMinSize]: '1', [Annotations.AutoscalerMaxSize]: String(LARGEST) };
      const pools = stack.client.resource<MachineDeployment>(machineDeployments, NAMESPACE);
      await pools.patch(POOL, { type: 'merge', body: { metadata: { annotations } } });
      await stack.startControllers();
      const isReady = ({ status }: MachineDeployment): boolean => status?.availableReplicas === 1;
      await until<MachineDeployment>(stack.client, machineDeployments, POOL, isReady, LIMIT_MS);
    },
    async check({ stack, load, ended }) {
      const deletions = new DeletionTimes(stack.client, autoscaler.decision);
      const measure = async (): Promise<Check[]> => {
        await deletions.started();
        return await followLoad(suite, load, deletions, ended).finally(() => deletions.stop());
      };
      const [checks] = await Promise.all([measure(), deletions.follow()]);
      return checks;
    },
  });

const GARDENER = gardenerFork({ min: 1, max: LARGEST, name: POOL });

export const AUTOSCALER_SUITES = [
  { name: 'cluster-autoscaler', autoscaler: UPSTREAM },
  { name: 'gardener-autoscaler', autoscaler: GARDENER },
].map(({ name, autoscaler }) => ({
  name,
  files: [autoscaler.path],
  run: (dir: string) => run(name, autoscaler, dir),
}));
