import { Finalizers, type Machine, machines, phaseOf } from '@mcm/api';
import {
  namespaces,
  type Pod,
  type PodDisruptionBudget,
  podDisruptionBudgets,
  pods,
  realClock,
  sleep,
} from '@mcm/kube';
import { cpuMs, rssMb } from '../../harness/process-usage.ts';
import { count } from '../../harness/request-log.ts';
import { NAMESPACE, type Stack, startStack } from '../../harness/stack.ts';
import { atOnce } from './at-once.ts';
import { atMost, type Figure, percentile, reported } from './figure.ts';
import { Follower } from './follow.ts';

const DRAINS = 1_000;
const CREATIONS = 100;
const PARALLEL = 32;
const NAMESPACES = 50;
const CLASS = 'blue';
const GRACE_SECONDS = 5;
const QUIET_MS = 130_000;
const LONG_MS = 300_000;

const appNamespace = (index: number): string => `apps-${index % NAMESPACES}`;

const all = <T>(objects: Iterable<T>, holds: (object: T) => boolean): boolean => {
  for (const object of objects) if (!holds(object)) return false;
  return true;
};

/** Measures a thousand drains that a disruption budget blocks, and the delay that they cause for other machines. */
export class BlockedDrains {
  readonly #stack: Stack;
  readonly #machines: Follower<Machine>;
  readonly #pods: Follower<Pod>;

  private constructor(stack: Stack, followed: Follower<Machine>, followedPods: Follower<Pod>) {
    this.#stack = stack;
    this.#machines = followed;
    this.#pods = followedPods;
  }

  static async *figures(): AsyncGenerator<Figure> {
    const stack = await startStack();
    try {
      await stack.makeClass(CLASS);
      await stack.machineController.start();
      const followed = await Follower.start<Machine>(stack.client, machines, NAMESPACE);
      const followedPods = await Follower.start<Pod>(stack.client, pods);
      const bench = new BlockedDrains(stack, followed, followedPods);
      yield* bench.#run();
      followed.stop();
      followedPods.stop();
    } finally {
      await stack.stop();
    }
  }

  async *#run(): AsyncGenerator<Figure> {
    await this.#furnish();
    const storm = await this.#beginDrains();
    yield reported(
      `time until the creation of a machine starts while ${DRAINS} drains start`,
      storm,
      's',
      'the slowest of 10 machines',
    );
    await sleep(realClock, 5_000);
    const starts: number[] = [];
    for (let i = 0; i < CREATIONS; i += 1) starts.push(await this.#create(`new-${i}`));
    yield atMost(
      `time until the creation of a machine starts during ${DRAINS} blocked drains`,
      percentile(starts, 0.99),
      1,
      's',
      'p99 of 100',
    );
    await this.#running(DRAINS + CREATIONS);
    yield atMost(
      `time to delete a machine without pods during ${DRAINS} blocked drains`,
      await this.#delete('new-0'),
      3,
      's',
    );
    yield* this.#quiet();
    const { drained, gone, cpu } = await this.#unblock();
    yield atMost(
      `time from the deletion of the budgets that block ${DRAINS} drains to the deletion of all pods`,
      drained,
      GRACE_SECONDS + 10,
      's',
      `grace ${GRACE_SECONDS} s`,
    );
    yield reported(
      `time from the deletion of the budgets that block ${DRAINS} drains to the deletion of all machines`,
      gone,
      's',
      cpu,
    );
  }

  async #furnish(): Promise<void> {
    await atOnce(DRAINS, PARALLEL, async (index) => this.#make(`full-${index}`));
    for (let i = 0; i < 10; i += 1) await this.#make(`early-${i}`);
    await this.#running(DRAINS);
    await atOnce(NAMESPACES, PARALLEL, async (index) => {
      await this.#stack.client.resource(namespaces).create({ metadata: { name: appNamespace(index) } });
    });
    await atOnce(DRAINS, PARALLEL, async (index) => {
      const app = `app-${index}`;
      const namespace = appNamespace(index);
      await this.#stack.client.resource<Pod>(pods, namespace).create({
        metadata: { name: app, namespace, labels: { app } },
        spec: {
          nodeName: `full-${index}`,
          terminationGracePeriodSeconds: GRACE_SECONDS,
          containers: [{ name: 'main', image: 'pause' }],
        },
      });
      await this.#stack.client.resource<PodDisruptionBudget>(podDisruptionBudgets, namespace).create({
        metadata: { name: app, namespace },
        spec: { minAvailable: 1, selector: { matchLabels: { app } } },
      });
    });
    const isReady = ({ status }: Pod): boolean =>
      status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false;
    await this.#pods.until('all pods ready', (known) => known.size === DRAINS && all(known.values(), isReady), LONG_MS);
    await sleep(realClock, 5_000);
  }

  async #make(name: string): Promise<void> {
    await this.#stack.client.resource<Machine>(machines, NAMESPACE).create({
      // The benchmark sets the fields that the MachineSet controller would set.
      metadata: { name, namespace: NAMESPACE, finalizers: [Finalizers.MachineControllerManager] },
      spec: { class: { kind: 'MachineClass', name: CLASS } },
    });
  }

  async #running(atLeast: number): Promise<void> {
    await this.#machines.until(
      'machines Running',
      (known) => {
        const living = [...known.values()].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
        return known.size >= atLeast && living.every((machine) => phaseOf(machine) === 'Running');
      },
      LONG_MS,
    );
  }

  async #beginDrains(): Promise<number> {
    const resource = this.#stack.client.resource<Machine>(machines, NAMESPACE);
    const deleting = atOnce(DRAINS, PARALLEL, async (index) => {
      await resource.delete(`full-${index}`);
    });
    const starts: number[] = [];
    for (let i = 0; i < 10; i += 1) starts.push(await this.#create(`storm-${i}`));
    await deleting;
    await this.#machines.until(
      'all drains report their blockers',
      (known) =>
        all(known.values(), ({ metadata, status }) =>
          metadata.deletionTimestamp ? (status?.lastOperation?.description ?? '').includes('disruption budget') : true,
        ),
      LONG_MS,
    );
    return Math.max(...starts);
  }

  /** Creates a machine, and resolves with the seconds until it has a VM. */
  async #create(name: string): Promise<number> {
    await this.#make(name);
    return this.#machines.until('a VM', (known) => Boolean(known.get(name)?.spec.providerID), LONG_MS);
  }

  async #delete(name: string): Promise<number> {
    await this.#stack.client.resource<Machine>(machines, NAMESPACE).delete(name);
    return this.#machines.until('the machine without pods is deleted', (known) => !known.has(name), LONG_MS);
  }

  async *#quiet(): AsyncGenerator<Figure> {
    const { pid } = this.#stack.machineController;
    if (pid === undefined) throw new Error('the machine controller is not running');
    await sleep(realClock, 5_000);
    this.#stack.requests.read();
    const before = cpuMs(pid);
    await sleep(realClock, QUIET_MS);
    const share = ((cpuMs(pid) - before) / QUIET_MS) * 100;
    const { writes, reads } = count(this.#stack.requests.read());
    yield atMost(
      `CPU during ${DRAINS} blocked drains without changes`,
      share,
      5,
      '% of a core',
      `${QUIET_MS / 1_000} s`,
    );
    yield atMost(`requests during ${DRAINS} blocked drains without changes`, writes + reads, 0, 'requests');
    yield atMost(`memory (RSS) during ${DRAINS} blocked drains`, rssMb(pid), 300, 'MB');
  }

  /** Returns the CPU time of each process since its start, in seconds. */
  #cpu(): readonly (readonly [string, number])[] {
    const { machineController, plane, cloud } = this.#stack;
    const programs = { controller: machineController, plane, 'cloud and kubelets': cloud };
    return Object.entries(programs).map(([name, program]) => [
      name,
      program?.pid === undefined ? Number.NaN : cpuMs(program.pid) / 1_000,
    ]);
  }

  async #unblock(): Promise<{ readonly drained: number; readonly gone: number; readonly cpu: string }> {
    const start = performance.now();
    const before = new Map(this.#cpu());
    const since = (): number => (performance.now() - start) / 1000;
    const { client } = this.#stack;
    const opening = atOnce(DRAINS, PARALLEL, async (index) => {
      const budgets = client.resource<PodDisruptionBudget>(podDisruptionBudgets, appNamespace(index));
      await budgets.patch(`app-${index}`, { type: 'merge', body: { spec: { minAvailable: 0 } } });
    });
    await this.#pods.until('all pods are deleted', (known) => known.size === 0, LONG_MS);
    const drained = since();
    await opening;
    const isGone = (name: string): boolean => !name.startsWith('full-');
    await this.#machines.until('all machines are deleted', (known) => all(known.keys(), isGone), LONG_MS);
    const cpu = this.#cpu().map(([name, seconds]) => `${name} ${(seconds - (before.get(name) ?? 0)).toFixed(1)} s`);
    return { drained, gone: since(), cpu: `CPU: ${cpu.join(', ')}` };
  }
}
