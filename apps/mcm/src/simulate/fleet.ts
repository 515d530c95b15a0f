import {
  crds,
  type Machine,
  type MachineDeployment,
  machineClasses,
  machineDeployments,
  machines,
  resolveIntOrPercent,
} from '@mcm/api';
import { Reporter, SetWatch } from '@mcm/conformance/fleet';
import { startControlPlane } from '@mcm/control-plane';
import { createInvoker, limitsOf } from '@mcm/core';
import {
  controllerOf,
  createClient,
  createInformer,
  type Informer,
  type KubeClient,
  type KubeObject,
  type Node,
  nodes,
  type Pod,
  podDisruptionBudgets,
  pods,
  type Secret,
  secrets,
  seededRandom,
  silentLogger,
  type VirtualClock,
} from '@mcm/kube';
import { applyObjects } from '../install/apply.ts';
import type { OrderKubelet, SimulatedCloud } from './clouds.ts';
import { Controllers, type ProcessName } from './controllers.ts';
import { Faults } from './faults.ts';
import { Measurements } from './figures.ts';
import { type Inputs, verifyProvider } from './inputs.ts';
import type { ControllerSettings } from './settings.ts';
import { VmRules } from './vm-rules.ts';
import { workloadsOf } from './workload.ts';

const LOOK_EVERY_MS = 5_000;
const CLOSE_MS = 600_000;

export interface FleetOptions {
  readonly inputs: Inputs;
  readonly settings: ControllerSettings;
  readonly cloud: SimulatedCloud;
  readonly seed: number;
  readonly podsPerMachine: number;
}

type Plane = Awaited<ReturnType<typeof startControlPlane>>;

function replacementLimit({ settings, inputs }: FleetOptions): number {
  const { maxUnhealthyReplacements: limit } = settings.machines.defaults;
  const largest = Math.max(...inputs.deployments.map(({ spec }) => spec.replicas ?? 0));
  return Math.max(1, typeof limit === 'number' ? limit : resolveIntOrPercent(limit, largest, 'down'));
}

/** A fleet in this process: the embedded control plane, both controllers, the cloud and its simulated kubelets. */
export class SimulatedFleet {
  readonly clock: VirtualClock;
  readonly reporter: Reporter;
  readonly measurements: Measurements;
  readonly faults: Faults;
  readonly vms: VmRules;
  readonly #options: FleetOptions;
  readonly #plane: Plane;
  readonly #admin: KubeClient;
  readonly #watch = new SetWatch();
  readonly #machines: Informer<Machine>;
  readonly #controllers: Controllers;
  readonly #end = new AbortController();
  #order: OrderKubelet = () => undefined;

  private constructor(options: FleetOptions, plane: Plane) {
    const { cloud, seed, settings, inputs } = options;
    const { clock } = cloud;
    this.#options = options;
    this.#plane = plane;
    this.clock = clock;
    this.#admin = createClient({ transport: plane.transport, userAgent: 'simulation', clock });
    const watch = this.#watch;
    const deploymentOf = (machine: Machine) => watch.deploymentOf(controllerOf(machine)?.uid ?? '');
    this.reporter = new Reporter(clock, {
      replicasOf: (uid) => watch.sizeOf(uid),
      largestSince: (uid, since) => watch.largestSince(uid, since),
      reducedAt: (uid) => watch.reducedAt(uid),
      totalOf: (uid) => watch.totalOf(uid),
      recordedAt: (uid) => watch.recordedAt(uid),
      // After a lost response, the manager may reuse a machine name. The simulated fleet does not record lost
      // responses, so the check must always allow reused names.
      repeatsUnread: () => true,
      limit: replacementLimit(options),
      patienceMs: settings.machines.defaults.creationTimeoutMs,
      lagMs: () => this.faults.lagMs,
      deploymentOf: (object) =>
        object.kind === 'MachineSet' ? controllerOf(object)?.name : deploymentOf(object as Machine),
    });
    this.faults = new Faults(seededRandom(seed + 1), clock, (text) => this.reporter.note('act', text));
    this.measurements = new Measurements(clock, deploymentOf);
    const runtime = { clock, log: silentLogger, random: seededRandom(0) };
    this.#machines = createInformer<Machine>(this.#admin, machines, runtime);
    this.#machines.onChange(this.measurements.onChange);
    const ofNode = ({ spec }: Pod): readonly string[] => (spec.nodeName ? [spec.nodeName] : []);
    const podInformer = createInformer<Pod>(this.#admin, pods, { ...runtime, indexes: { node: ofNode } });
    const nodeInformer = createInformer<Node>(this.#admin, nodes, runtime);
    this.vms = new VmRules({
      clock,
      reporter: this.reporter,
      machines: this.#machines,
      classes: inputs.classes,
      pods: podInformer,
      nodes: nodeInformer,
      defaults: settings.machines.defaults,
      list: this.#lister(),
      lagMs: () => this.faults.lagMs,
    });
    this.#controllers = new Controllers({
      clock,
      random: seededRandom(seed + 2),
      reporter: this.reporter,
      faults: this.faults,
      vms: this.vms,
      apiServer: plane.transport,
      cloud,
      settings,
      namespace: inputs.namespace,
    });
    for (const informer of [this.#machines, podInformer, nodeInformer] as Informer<KubeObject>[])
      void informer.run(this.#end.signal).catch((error: unknown) => this.reporter.violate(String(error)));
  }

  static async start(options: FleetOptions): Promise<SimulatedFleet> {
    const { cloud, seed } = options;
    const random = seededRandom(seed);
    const plane = await startControlPlane({ clock: cloud.clock, random: () => random.next(), crds });
    const fleet = new SimulatedFleet(options, plane);
    await fleet.#furnish();
    return fleet;
  }

  /** Returns a function that lists all VMs without faults. */
  #lister(): () => Promise<readonly { readonly providerId: string; readonly machineName: string }[]> {
    const { cloud, inputs, seed } = this.#options;
    const { clock, connect } = cloud;
    const driver = cloud.createDriver({ clock, random: seededRandom(seed + 3), connect });
    verifyProvider(inputs.classes, driver.name);
    const invoker = createInvoker({
      driver,
      caches: {
        classes: { store: { get: (key) => inputs.classes.find((one) => key.endsWith(`/${one.metadata.name}`)) } },
        secrets: { store: { get: () => this.#secret('credentials') } },
      },
      clock,
      log: silentLogger,
      stop: this.#end.signal,
    });
    return async () => {
      const lists = await Promise.all(inputs.classes.map((one) => invoker.list(one)));
      return [...new Map(lists.flat().map((vm) => [vm.providerId, vm])).values()];
    };
  }

  #secret(name: string): Secret {
    const { cloud, inputs } = this.#options;
    const data = Object.entries(cloud.secret).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        namespace: inputs.namespace,
        uid: name,
        resourceVersion: '1',
        creationTimestamp: '2026-01-01T00:00:00Z',
      },
      data: Object.fromEntries(data),
    };
  }

  async #furnish(): Promise<void> {
    const { inputs, cloud, seed, podsPerMachine } = this.#options;
    const { namespace, classes, deployments, others } = inputs;
    const admin = this.#admin;
    const spaces = new Set([namespace, ...others.flatMap(({ metadata }) => metadata.namespace ?? [])]);
    const add = (objects: readonly object[]) => applyObjects(admin, objects, { force: true, signal: this.#end.signal });
    await add(
      [...spaces]
        .filter((name) => name !== 'default')
        .map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    );
    const references = new Set(
      classes.flatMap(({ secretRef, credentialsSecretRef }) => [secretRef?.name, credentialsSecretRef?.name]),
    );
    for (const name of references) {
      if (name === undefined) continue;
      const { data } = this.#secret(name);
      await admin.resource<Secret>(secrets, namespace).create({ metadata: { name, namespace }, data: data ?? {} });
    }
    for (const machineClass of classes) await admin.resource(machineClasses, namespace).create(machineClass);
    const byHand = deployments.some(({ spec }) => spec.strategy?.inPlaceUpdate?.orchestrationType === 'Manual');
    const seen = { clock: this.clock, log: silentLogger, reporter: this.reporter, byHand };
    this.#watch.watch(admin, seen, this.#end.signal);
    const side = { client: admin, transport: this.#plane.transport, namespace, random: seededRandom(seed + 4) };
    this.#order = await cloud.startNodes({ ...side, signal: this.#end.signal });
    this.#controllers.start();
    for (const deployment of deployments) {
      this.wishes(deployment);
      await admin.resource<MachineDeployment>(machineDeployments, namespace).create(deployment);
    }
    await add([...others, ...workloadsOf(inputs, podsPerMachine)]);
  }

  /** Records the size and the limits of a deployment, before its request. */
  wishes(deployment: MachineDeployment): void {
    const { metadata, spec } = deployment;
    const { replicas = 0 } = spec;
    const { surge, unavailable } = limitsOf(deployment);
    // A deployment without limits replaces all machines at the same time.
    const limited = spec.strategy?.type === 'RollingUpdate' || spec.strategy?.type === 'InPlaceUpdate';
    const maxUnavailable = limited ? unavailable : replicas;
    this.reporter.wishes(metadata.name, { replicas, maxSurge: surge, maxUnavailable });
    this.measurements.resized(metadata.name, replicas);
  }

  get machines(): readonly Machine[] {
    return this.#machines.store.list();
  }

  async deployments(): Promise<readonly MachineDeployment[]> {
    const { namespace } = this.#options.inputs;
    return (await this.#admin.resource<MachineDeployment>(machineDeployments, namespace).list()).items;
  }

  async change(name: string, spec: object): Promise<void> {
    const resource = this.#admin.resource<MachineDeployment>(machineDeployments, this.#options.inputs.namespace);
    await resource.patch(name, { type: 'merge', body: { spec } });
  }

  /**
   * Deletes all PodDisruptionBudgets. The last nodes are drained when no other node can run their pods, so a budget
   * would block the drains.
   */
  async removeBudgets(): Promise<void> {
    for (const { metadata } of (await this.#admin.resource(podDisruptionBudgets).list()).items)
      await this.#admin.resource(podDisruptionBudgets, metadata.namespace).delete(metadata.name);
  }

  async remove(name: string): Promise<void> {
    const resource = this.#admin.resource<MachineDeployment>(machineDeployments, this.#options.inputs.namespace);
    this.reporter.wishes(name, { replicas: 0, maxSurge: 0, maxUnavailable: 0 });
    this.measurements.resized(name, 0);
    await resource.delete(name);
  }

  order(machine: Machine, behaviour: Parameters<OrderKubelet>[1]): void {
    this.#order(machine, behaviour);
  }

  kill(name: ProcessName): void {
    this.#controllers.kill(name);
  }

  /** Advances the time until `done` returns true. */
  async until(done: () => boolean | Promise<boolean>, maxMs: number): Promise<number> {
    const { clock } = this;
    let next = clock.monotonic();
    let armed = false;
    const look = async (): Promise<boolean> => {
      if (clock.monotonic() >= next) {
        next = clock.monotonic() + LOOK_EVERY_MS;
        return done();
      }
      if (!armed) {
        armed = true;
        clock.setTimeout(() => {
          armed = false;
        }, next - clock.monotonic());
      }
      return false;
    };
    return clock.runUntil(look, { maxMs });
  }

  async close(): Promise<void> {
    this.#controllers.stop();
    this.#end.abort(new Error('closed'));
    await this.clock.ended(Promise.resolve(this.#options.cloud.close()), { maxMs: CLOSE_MS });
    await this.#plane.close();
  }
}
