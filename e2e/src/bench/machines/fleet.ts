import { type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { type Pod, pods, realClock, sleep } from '@mcm/kube';
import { cpuMs, rssMb } from '../../harness/process-usage.ts';
import { type Counts, count } from '../../harness/request-log.ts';
import { NAMESPACE, type Stack, startStack, until } from '../../harness/stack.ts';
import { bulkyPod, POD_BYTES } from './bulky-pod.ts';

export interface Measured {
  readonly work: string;
  readonly seconds: number;
  readonly machines: number;
  readonly counts: Counts;
  readonly cpuMs: number;
  readonly note?: string;
}

interface FleetTasks {
  readonly roll?: boolean;
  readonly idle?: boolean;
  /** Returns the URL of a program's main module. */
  readonly resolve?: (module: string) => string;
}

const DEPLOYMENT = 'bench';
const CLASSES = ['blue', 'green'] as const;

export async function* fleetFigures(
  replicas: number,
  { roll = replicas <= 100, idle = true, resolve }: FleetTasks = {},
): AsyncGenerator<Measured> {
  const stack = await startStack(resolve === undefined ? {} : { resolve });
  try {
    for (const name of CLASSES) await stack.makeClass(name);
    await stack.startControllers();
    await stack.makeDeployment(DEPLOYMENT, 0, CLASSES[0]);
    yield await measure(stack, `0 → ${replicas} machines Running and available`, replicas, async () => {
      await patch(stack, { replicas });
      await until<MachineDeployment>(
        stack.client,
        machineDeployments,
        DEPLOYMENT,
        (d) => d.status?.availableReplicas === replicas,
        300_000,
      );
    });
    if (roll) {
      yield await measure(stack, `Roll ${replicas} machines, maxSurge 10 %, maxUnavailable 0`, replicas, async () => {
        await patch(stack, { template: { spec: { class: { name: CLASSES[1] } } } });
        await until<MachineDeployment>(
          stack.client,
          machineDeployments,
          DEPLOYMENT,
          ({ status, metadata }) =>
            status?.observedGeneration === metadata.generation &&
            status?.updatedReplicas === replicas &&
            status.replicas === replicas &&
            status.availableReplicas === replicas,
          600_000,
        );
        await noneTerminating(stack);
      });
    }
    if (idle) yield await measureIdle(stack, replicas);
    yield await measure(stack, `${replicas} → 0`, replicas, async () => {
      await patch(stack, { replicas: 0 });
      await noMachines(stack);
    });
  } finally {
    await stack.stop();
  }
}

const patch = async (stack: Stack, spec: object): Promise<void> => {
  await stack.client
    .resource<MachineDeployment>(machineDeployments, NAMESPACE)
    .patch(DEPLOYMENT, { type: 'merge', body: { spec } });
};

async function measure(stack: Stack, work: string, machineCount: number, run: () => Promise<void>): Promise<Measured> {
  await sleep(realClock, 2_000);
  stack.requests.read();
  const cpuBefore = controllerCpu(stack);
  const start = performance.now();
  await run();
  const seconds = (performance.now() - start) / 1000;
  // The controllers write events and the last status a little later. These writes are part of the measured task.
  await sleep(realClock, 3_000);
  return {
    work,
    seconds,
    machines: machineCount,
    counts: count(stack.requests.read()),
    cpuMs: controllerCpu(stack) - cpuBefore,
  };
}

const IDLE_MS = 60_000;

async function measureIdle(stack: Stack, machineCount: number): Promise<Measured> {
  await sleep(realClock, 5_000);
  stack.requests.read();
  const both = Object.entries({
    'machine controller': stack.machineController,
    'deployment controller': stack.manager,
  });
  const before = both.map(([, { pid }]) => (pid === undefined ? Number.NaN : cpuMs(pid)));
  await sleep(realClock, IDLE_MS);
  const used = both.map(
    ([, { pid }], at) => (pid === undefined ? Number.NaN : cpuMs(pid)) - (before[at] ?? Number.NaN),
  );
  const notes = both.map(
    ([name, { pid }], at) =>
      `${name} ${(((used[at] ?? Number.NaN) / IDLE_MS) * 100).toFixed(2)} % of a core, RSS ${rssOf(pid)} MB`,
  );
  return {
    work: `${machineCount} machines, idle for a minute`,
    seconds: IDLE_MS / 1000,
    machines: machineCount,
    counts: count(stack.requests.read()),
    cpuMs: used.reduce((sum, each) => sum + each, 0),
    note: notes.join('; '),
  };
}

const rssOf = (pid: number | undefined): string => (pid === undefined ? '?' : rssMb(pid).toFixed(0));

const controllerCpu = (stack: Stack): number =>
  [stack.manager, stack.machineController].reduce((sum, { pid }) => sum + (pid === undefined ? 0 : cpuMs(pid)), 0);

/** Resolves when all machines are deleted. */
async function watchMachinesUntil(
  stack: Stack,
  finished: (machines: ReadonlyMap<string, Machine>) => boolean,
): Promise<void> {
  const signal = AbortSignal.timeout(600_000);
  const resource = stack.client.resource<Machine>(machines, NAMESPACE);
  const list = await resource.list({ signal });
  const known = new Map(list.items.map((machine) => [machine.metadata.name, machine]));
  if (finished(known)) return;
  for await (const event of resource.watch({ resourceVersion: list.metadata.resourceVersion, signal })) {
    if (event.type === 'BOOKMARK') continue;
    if (event.type === 'DELETED') known.delete(event.object.metadata.name);
    else known.set(event.object.metadata.name, event.object);
    if (finished(known)) return;
  }
  throw new Error('the watch of machines ended early');
}

const noMachines = (stack: Stack): Promise<void> => watchMachinesUntil(stack, (known) => known.size === 0);
const noneTerminating = (stack: Stack): Promise<void> =>
  watchMachinesUntil(stack, (known) =>
    [...known.values()].every((machine) => machine.metadata.deletionTimestamp === undefined),
  );

const CREATES_AT_ONCE = 64;

/** Resolves with the memory (RSS) of the machine controller in a cluster with many pods. */
export async function podMemory(
  podCount: number,
): Promise<{ readonly podCount: number; readonly rssMb: number; readonly peakNote: string }> {
  const stack = await startStack();
  try {
    await stack.makeClass(CLASSES[0]);
    const resource = stack.client.resource<Pod>(pods, NAMESPACE);
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < podCount) {
        next += 1;
        await resource.create(bulkyPod(next, `elsewhere-${next % 500}`));
      }
    };
    await Promise.all(Array.from({ length: CREATES_AT_ONCE }, worker));
    await stack.startControllers();
    await stack.makeDeployment(DEPLOYMENT, 1, CLASSES[0]);
    await until<MachineDeployment>(
      stack.client,
      machineDeployments,
      DEPLOYMENT,
      (d) => d.status?.availableReplicas === 1,
      120_000,
    );
    await sleep(realClock, 5_000);
    const { pid } = stack.machineController;
    return {
      podCount,
      rssMb: pid === undefined ? Number.NaN : rssMb(pid),
      peakNote: `a pod is about ${POD_BYTES} bytes of JSON`,
    };
  } finally {
    await stack.stop();
  }
}
