import { Finalizers, type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import {
  createInformer,
  createLogger,
  type Draft,
  type KubeClient,
  type Node,
  nodes,
  type Pod,
  type PodDisruptionBudget,
  podDisruptionBudgets,
  pods,
  realClock,
  seededRandom,
  sleep,
} from '@mcm/kube';
import { bundled, LOCAL_PROGRAMS, resolverOf } from '../harness/bundled.ts';
import { cpuMs, rssMb } from '../harness/process-usage.ts';
import { count } from '../harness/request-log.ts';
import { NAMESPACE, type Stack, startStack } from '../harness/stack.ts';
import { hollowNode } from './fleet-mode/objects.ts';
import { atOnce } from './machines/at-once.ts';
import { atMost, type Figure, percentile, reported } from './machines/figure.ts';
import { Follower } from './machines/follow.ts';
import { createPersistently } from './machines/persistently.ts';

const DEPLOYMENTS = 100;
const PARALLEL = 32;
const CLASSES = ['blue', 'green'] as const;
const LIMIT_MS = 1_800_000;
const PROBE_EVERY_MS = 2_000;
const SETTLE_MS = 20_000;
/** No kubelet runs in the VMs, but each machine has a bootstrap token, as in a real cluster. */
const USER_DATA = 'no kubelet <<BOOTSTRAP_TOKEN>>';

const deploymentName = (index: number): string => `roll-${index}`;
const blockedName = (index: number): string => `blocked-${index}`;

/**
 * Creates a Node for each machine that has a VM. Simulated kubelets for 10,000 machines would need more CPU time than
 * the controllers.
 */
function joinNodes(client: KubeClient, signal: AbortSignal): void {
  const joined = new Set<string>();
  const log = createLogger({ level: 'silent' });
  const random = seededRandom(0);
  const informer = createInformer<Machine>(client, machines, { clock: realClock, random, log, namespace: NAMESPACE });
  informer.onChange(({ type, object: { metadata, spec } }) => {
    if (type === 'deleted') joined.delete(metadata.uid);
    if (type === 'deleted' || !spec.providerID || joined.has(metadata.uid)) return;
    joined.add(metadata.uid);
    const { metadata: own, ...node } = hollowNode(0);
    const { name } = metadata;
    const draft: Draft<Node> = {
      ...node,
      metadata: { name, labels: { ...own.labels, node: name } },
      spec: { providerID: spec.providerID },
    };
    createPersistently(() => client.resource<Node>(nodes).create(draft)).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  });
  void informer.run(signal);
}

/** A rollout of many deployments in one namespace. */
class LargeRoll {
  readonly #stack: Stack;
  readonly #machines: number;
  readonly #each: number;
  readonly #blocked: number;
  readonly #deployments: Follower<MachineDeployment>;

  constructor(stack: Stack, size: number, deployments: Follower<MachineDeployment>) {
    this.#stack = stack;
    this.#each = Math.max(1, Math.round(size / DEPLOYMENTS));
    this.#machines = this.#each * DEPLOYMENTS;
    this.#blocked = Math.max(1, Math.round(size / 10));
    this.#deployments = deployments;
  }

  async *run(): AsyncGenerator<Figure> {
    const size = `${this.#machines} machines in ${DEPLOYMENTS} deployments`;
    yield reported(
      `${size}: time until all machines run`,
      await this.#create(),
      's',
      'the time includes the machines with blocked drains',
    );
    yield reported(`time until ${this.#blocked} drains are blocked`, await this.#block(), 's');
    yield* this.#roll(`duration of the rollout of ${size} during ${this.#blocked} blocked drains`);
    yield* this.#restart(size);
  }

  async #create(): Promise<number> {
    const start = performance.now();
    const { client } = this.#stack;
    await atOnce(this.#blocked, PARALLEL, (index) => this.#machine(blockedName(index)));
    await atOnce(DEPLOYMENTS, PARALLEL, (index) =>
      this.#stack.makeDeployment(deploymentName(index), this.#each, CLASSES[0]),
    );
    await this.#complete();
    // The benchmark first created the machines that belong to no deployment. One of these machines may still wait for
    // its Node.
    const isRunning = (machine: Machine): boolean => machine.status?.currentStatus?.phase === 'Running';
    for (;;) {
      const { items } = await client.resource<Machine>(machines, NAMESPACE).list();
      if (items.every(isRunning)) break;
      await sleep(realClock, 2_000);
    }
    return (performance.now() - start) / 1_000;
  }

  async #machine(name: string): Promise<void> {
    const draft: Draft<Machine> = {
      metadata: { name, namespace: NAMESPACE, finalizers: [Finalizers.MachineControllerManager] },
      spec: { class: { kind: 'MachineClass', name: CLASSES[0] } },
    };
    await createPersistently(() => this.#stack.client.resource<Machine>(machines, NAMESPACE).create(draft));
  }

  async #complete(): Promise<void> {
    const isDone = ({ metadata, status }: MachineDeployment): boolean =>
      status?.observedGeneration === metadata.generation &&
      status?.updatedReplicas === this.#each &&
      status.replicas === this.#each &&
      status.availableReplicas === this.#each;
    // The benchmark also creates probe deployments, which do not belong to the rollout.
    const isRolled = ({ metadata }: MachineDeployment): boolean => metadata.name.startsWith('roll-');
    await this.#deployments.until(
      'all deployments are complete',
      (known) => {
        const rolled = [...known.values()].filter(isRolled);
        return rolled.length === DEPLOYMENTS && rolled.every(isDone);
      },
      LIMIT_MS,
    );
  }

  /** Adds a pod with a disruption budget to each machine that belongs to no deployment, and deletes these machines. */
  async #block(): Promise<number> {
    const start = performance.now();
    const { client } = this.#stack;
    await atOnce(this.#blocked, PARALLEL, async (index) => {
      const app = `app-${index}`;
      const resource = client.resource<Pod>(pods, NAMESPACE);
      await resource.create({
        metadata: { name: app, namespace: NAMESPACE, labels: { app } },
        spec: { nodeName: blockedName(index), containers: [{ name: 'main', image: 'pause' }] },
      });
      const body = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
      await resource.patch(app, { type: 'merge', body }, { subresource: 'status' });
      const budgets = client.resource<PodDisruptionBudget>(podDisruptionBudgets, NAMESPACE);
      const { metadata } = await budgets.create({
        metadata: { name: app, namespace: NAMESPACE },
        spec: { minAvailable: 1, selector: { matchLabels: { app } } },
      });
      const { generation: observedGeneration = 1 } = metadata;
      const status = {
        observedGeneration,
        disruptionsAllowed: 0,
        currentHealthy: 1,
        desiredHealthy: 1,
        expectedPods: 1,
      };
      await budgets.patch(app, { type: 'merge', body: { status } }, { subresource: 'status' });
      await client.resource<Machine>(machines, NAMESPACE).delete(blockedName(index));
    });
    for (;;) {
      const { items } = await client.resource<Machine>(machines, NAMESPACE).list();
      const blocked = items.filter((machine) =>
        machine.status?.lastOperation?.description?.includes('disruption budget'),
      );
      if (blocked.length >= this.#blocked) break;
      await sleep(realClock, 2_000);
    }
    return (performance.now() - start) / 1_000;
  }

  async *#roll(size: string): AsyncGenerator<Figure> {
    const { client, requests, manager, machineController } = this.#stack;
    await sleep(realClock, SETTLE_MS);
    requests.read();
    const programs = { manager, 'machine controller': machineController };
    const before = Object.values(programs).map(({ pid }) => cpuMs(pid ?? 0));
    const start = performance.now();
    const probing = new AbortController();
    const probes = this.#probe(probing.signal);
    const body = { spec: { template: { spec: { class: { name: CLASSES[1] } } } } };
    await atOnce(DEPLOYMENTS, PARALLEL, async (index) => {
      await client.resource(machineDeployments, NAMESPACE).patch(deploymentName(index), { type: 'merge', body });
    });
    await this.#complete();
    const seconds = (performance.now() - start) / 1_000;
    probing.abort();
    const { vms, sets } = await probes;
    await sleep(realClock, 3_000);
    const { writes, by } = count(requests.read());
    const top = [...by].slice(0, 6).map(([what, times]) => `${(times / this.#machines).toFixed(2)} ${what}`);
    yield atMost(size, seconds, 600, 's');
    yield atMost(
      `${size}: write requests of both controllers`,
      writes / this.#machines,
      12,
      'writes a machine',
      top.join(', '),
    );
    for (const [at, [name, { pid = 0 }]] of Object.entries(programs).entries()) {
      yield reported(`${size}: CPU of the ${name}`, (cpuMs(pid) - (before[at] ?? 0)) / this.#machines, 'ms a machine');
      yield reported(`${size}: memory (RSS) of the ${name}`, rssMb(pid), 'MB');
    }
    const p99 = (values: readonly number[]): readonly [number, string] => [
      percentile(values, 0.99),
      `p99 of ${values.length}`,
    ];
    const [[vm, vmNote], [set, setNote]] = [p99(vms), p99(sets)];
    yield atMost(`${size}: time from the creation of a Machine to the creation of its VM`, vm, 1, 's', vmNote);
    yield atMost(
      `${size}: time from the creation of a MachineDeployment to the creation of its Machine`,
      set,
      1,
      's',
      setNote,
    );
  }

  /** Creates a machine and a deployment in turn until the signal is aborted, and then deletes them. */
  async #probe(signal: AbortSignal): Promise<{ readonly vms: readonly number[]; readonly sets: readonly number[] }> {
    const [vms, sets]: [number[], number[]] = [[], []];
    const resource = this.#stack.client.resource<Machine>(machines, NAMESPACE);
    for (let index = 0; !signal.aborted; index += 1) {
      const name = `probe-${index}`;
      const isMachine = index % 2 === 0;
      const start = performance.now();
      const { resourceVersion } = (await resource.list({ limit: 1 })).metadata;
      const stop = new AbortController();
      const labelSelector = isMachine ? undefined : `name=${name}`;
      const fieldSelector = isMachine ? `metadata.name=${name}` : undefined;
      const events = resource.watch({ resourceVersion, labelSelector, fieldSelector, signal: stop.signal });
      if (isMachine) await this.#machine(name);
      else await this.#stack.makeDeployment(name, 1, CLASSES[0]);
      const from = performance.now();
      for await (const { type, object } of events)
        if (type !== 'BOOKMARK' && type !== 'DELETED' && (!isMachine || (object as Machine).spec.providerID)) break;
      (isMachine ? vms : sets).push((performance.now() - from) / 1_000);
      stop.abort(new Error('done'));
      if (isMachine) await resource.delete(name);
      else await this.#stack.client.resource(machineDeployments, NAMESPACE).delete(name);
      await sleep(realClock, Math.max(0, PROBE_EVERY_MS - (performance.now() - start)), signal).catch(() => undefined);
    }
    return { vms, sets };
  }

  async *#restart(size: string): AsyncGenerator<Figure> {
    const { client, requests, manager, machineController } = this.#stack;
    await sleep(realClock, SETTLE_MS);
    await Promise.all([manager.stop(), machineController.stop()]);
    await this.#machine('late');
    const resource = client.resource<Machine>(machines, NAMESPACE);
    const { resourceVersion } = (await resource.list({ limit: 1 })).metadata;
    requests.read();
    const stop = new AbortController();
    const events = resource.watch({ resourceVersion, fieldSelector: 'metadata.name=late', signal: stop.signal });
    const start = performance.now();
    await this.#stack.startControllers();
    for await (const { type, object } of events)
      if (type !== 'BOOKMARK' && type !== 'DELETED' && object.spec.providerID) break;
    const seconds = (performance.now() - start) / 1_000;
    stop.abort(new Error('done'));
    await sleep(realClock, SETTLE_MS);
    const { writes, by } = count(
      requests.read(),
      ({ userAgent, name, resource: kind }) =>
        /^machine-controller/.test(userAgent) && !['late', ''].includes(name) && !['events', 'secrets'].includes(kind),
    );
    yield atMost(
      `${size}: time from a restart of the controllers to the creation of a VM`,
      seconds,
      10,
      's',
      'measured from the start of the processes',
    );
    yield atMost(
      `${size}: unnecessary write requests after a restart of the controllers`,
      writes,
      0,
      'writes',
      [...by.keys()].slice(0, 3).join(', '),
    );
  }
}

/** Measures how the bundled programs roll the given number of machines in one namespace. */
export async function* largeRollFigures(size: number): AsyncGenerator<Figure> {
  const bundles = await bundled(LOCAL_PROGRAMS);
  const stop = new AbortController();
  // The nodes have no kubelets, so the controllers of the control plane would mark them as NotReady.
  const stack = await startStack({
    planeFlags: ['--no-controllers'],
    userData: USER_DATA,
    resolve: resolverOf(bundles),
  });
  try {
    for (const name of CLASSES) await stack.makeClass(name);
    await stack.startControllers();
    joinNodes(stack.client, stop.signal);
    const deployments = await Follower.start<MachineDeployment>(stack.client, machineDeployments, NAMESPACE);
    yield* new LargeRoll(stack, size, deployments).run();
    deployments.stop();
  } finally {
    stop.abort(new Error('stopped'));
    await stack.stop();
    bundles.remove();
  }
}
