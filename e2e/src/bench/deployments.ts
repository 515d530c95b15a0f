import { type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { realClock, sleep } from '@mcm/kube';
import { cpuMs, rssMb } from '../harness/process-usage.ts';
import { NAMESPACE, type Stack, startStack } from '../harness/stack.ts';

/** What it costs to reconcile one deployment in a fleet with many deployments. */
export interface DeploymentCost {
  readonly deployments: number;
  readonly cpuMsEach: number;
  readonly latencyMs: number;
  readonly rssMb: number;
}

const MACHINES_EACH = 10;
const CHANGES = 200;
const ROUNDS = 5;
const WARM_UP = 2_000;
const CREATES_AT_ONCE = 16;
const CLASS = 'blue';

const nameOf = (index: number): string => `bench-${index}`;

/** Measures a reconcile in one process, with few and with many deployments. */
export async function* deploymentCosts(counts: readonly number[]): AsyncGenerator<DeploymentCost> {
  const stack = await startStack();
  const end = new AbortController();
  try {
    await stack.makeClass(CLASS);
    await stack.manager.start();
    const running = declareRunning(stack, end.signal);
    let made = 0;
    let warmUp = WARM_UP;
    for (const count of counts) {
      await makeDeployments(stack, made, count);
      made = count;
      await running.reach(count * MACHINES_EACH);
      await sleep(realClock, 5_000);
      await change(stack, count, warmUp);
      warmUp = CHANGES;
      yield await measure(stack, count);
    }
  } finally {
    end.abort();
    await stack.stop();
  }
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

async function measure(stack: Stack, count: number): Promise<DeploymentCost> {
  const { pid } = stack.manager;
  if (pid === undefined) throw new Error('the manager is not running');
  const costs: number[] = [];
  const latencies: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await sleep(realClock, 1_000);
    const before = cpuMs(pid);
    latencies.push(...(await change(stack, count, CHANGES)));
    // The measurement must include the effects of the last changes, so the benchmark waits for them.
    await sleep(realClock, 500);
    costs.push((cpuMs(pid) - before) / CHANGES);
  }
  return { deployments: count, cpuMsEach: median(costs), latencyMs: median(latencies), rssMb: rssMb(pid) };
}

async function makeDeployments(stack: Stack, from: number, to: number): Promise<void> {
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < to) {
      const index = next;
      next += 1;
      await stack.makeDeployment(nameOf(index), MACHINES_EACH, CLASS);
    }
  };
  await Promise.all(Array.from({ length: CREATES_AT_ONCE }, worker));
}

async function change(stack: Stack, count: number, changes: number): Promise<number[]> {
  const resource = stack.client.resource<MachineDeployment>(machineDeployments, NAMESPACE);
  const { metadata } = await resource.list({ limit: 1 });
  const seen = new Map<string, number>();
  let reported = (): void => undefined;
  const end = new AbortController();
  const watching = (async () => {
    for await (const event of resource.watch({ resourceVersion: metadata.resourceVersion, signal: end.signal })) {
      if (event.type === 'BOOKMARK') continue;
      const { metadata, status } = event.object;
      seen.set(metadata.name, status?.observedGeneration ?? 0);
      reported();
    }
  })().catch((error: unknown) => {
    if (!end.signal.aborted) throw error;
  });
  const latencies: number[] = [];
  for (let i = 0; i < changes; i += 1) {
    const name = nameOf((i * 7) % count);
    const start = performance.now();
    const { metadata } = await resource.patch(name, {
      type: 'merge',
      body: { spec: { progressDeadlineSeconds: 600 + Math.floor(performance.now()) } },
    });
    while ((seen.get(name) ?? 0) < (metadata.generation ?? 0)) {
      await new Promise<void>((resolve) => {
        reported = resolve;
      });
    }
    latencies.push(performance.now() - start);
  }
  end.abort();
  await watching;
  return latencies;
}

/** Does the work of the machine controller: sets each new machine to Running at once. */
function declareRunning(stack: Stack, signal: AbortSignal): { reach(count: number): Promise<void> } {
  const resource = stack.client.resource<Machine>(machines, NAMESPACE);
  let running = 0;
  let reported = (): void => undefined;
  const declare = async (name: string): Promise<void> => {
    const lastUpdateTime = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    const status = {
      currentStatus: { phase: 'Running', lastUpdateTime },
      lastOperation: { description: 'is ready', state: 'Successful', type: 'Create', lastUpdateTime },
    };
    await resource.patch(name, { type: 'merge', body: { status } }, { subresource: 'status' });
    running += 1;
    reported();
  };
  void (async () => {
    const { metadata } = await resource.list({ limit: 1 });
    for await (const event of resource.watch({ resourceVersion: metadata.resourceVersion, signal })) {
      if (event.type === 'ADDED') void declare(event.object.metadata.name);
    }
  })().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return {
    async reach(count) {
      while (running < count) {
        await new Promise<void>((resolve) => {
          reported = resolve;
        });
      }
    },
  };
}
