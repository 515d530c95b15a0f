import {
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import type { Reporter } from '@mcm/conformance/fleet';
import { type KubeClient, nodes, type VirtualClock } from '@mcm/kube';
import { NAMESPACE, type WorldOptions } from './world-options.ts';

export const DEPLOYMENT = 'workers';

export class Fleet {
  readonly clock: VirtualClock;
  readonly admin: KubeClient;
  readonly reporter: Reporter;
  readonly #options: WorldOptions;

  constructor(parts: Pick<Fleet, 'clock' | 'admin' | 'reporter'>, options: WorldOptions) {
    this.clock = parts.clock;
    this.admin = parts.admin;
    this.reporter = parts.reporter;
    this.#options = options;
  }

  async machines(): Promise<Machine[]> {
    return (await this.admin.resource<Machine>(machines, NAMESPACE).list()).items;
  }

  async sets(): Promise<MachineSet[]> {
    return (await this.admin.resource<MachineSet>(machineSets, NAMESPACE).list()).items;
  }

  async nodeNames(): Promise<string[]> {
    return (await this.admin.resource(nodes).list()).items.map((node) => node.metadata.name).sort();
  }

  async createDeployment(replicas: number, name = DEPLOYMENT): Promise<void> {
    const { machine = {}, annotations = {} } = this.#options;
    this.#wish(replicas, name);
    await this.admin.resource<MachineDeployment>(machineDeployments, NAMESPACE).create({
      metadata: { name, namespace: NAMESPACE, annotations: { ...annotations } },
      spec: {
        replicas,
        selector: { matchLabels: { name } },
        strategy: this.#strategy(),
        template: {
          metadata: { labels: { name } },
          spec: { ...machine, class: { kind: 'MachineClass', name: 'blue' } },
        },
      },
    });
  }

  #strategy(): NonNullable<MachineDeployment['spec']['strategy']> {
    const { maxSurge = 1, maxUnavailable = 0, inPlace } = this.#options;
    const limits = { maxSurge, maxUnavailable };
    if (inPlace === undefined) return { type: 'RollingUpdate', rollingUpdate: limits };
    return { type: 'InPlaceUpdate', inPlaceUpdate: { orchestrationType: inPlace, ...limits } };
  }

  #wish(replicas: number, name = DEPLOYMENT): void {
    const { maxSurge = 1, maxUnavailable = 0 } = this.#options;
    this.reporter.wishes(name, { replicas, maxSurge, maxUnavailable });
  }

  /** Must be called before another client changes the size. */
  expects(replicas: number): void {
    this.#wish(replicas);
  }

  /** Must be called before a deployment is deleted. */
  expectsNone(name: string): void {
    this.#wish(0, name);
  }

  async deployment(): Promise<MachineDeployment> {
    return this.admin.resource<MachineDeployment>(machineDeployments, NAMESPACE).get(DEPLOYMENT);
  }

  async annotate(annotations: Readonly<Record<string, string | null>>): Promise<void> {
    await this.admin
      .resource<MachineDeployment>(machineDeployments, NAMESPACE)
      .patch(DEPLOYMENT, { type: 'merge', body: { metadata: { annotations } } });
  }

  async deleteDeployment(): Promise<void> {
    this.#wish(0);
    this.reporter.note('act', 'the user deletes the deployment');
    await this.admin.resource<MachineDeployment>(machineDeployments, NAMESPACE).delete(DEPLOYMENT);
  }

  async change(
    spec: { readonly replicas?: number; readonly paused?: boolean; readonly template?: object },
    name = DEPLOYMENT,
  ): Promise<void> {
    if (spec.replicas !== undefined) this.#wish(spec.replicas, name);
    this.reporter.note('act', `the user changes the deployment: ${JSON.stringify(spec)}`);
    await this.admin
      .resource<MachineDeployment>(machineDeployments, NAMESPACE)
      .patch(name, { type: 'merge', body: { spec } });
  }

  async createMachine(name: string, settings: object = {}): Promise<void> {
    this.reporter.allows(name);
    await this.admin.resource<Machine>(machines, NAMESPACE).create({
      metadata: { name, namespace: NAMESPACE },
      spec: { ...settings, class: { kind: 'MachineClass', name: 'blue' } },
    });
  }

  async failMachine(name: string): Promise<void> {
    this.reporter.note('act', `the user sets the phase of machine ${name} to Failed`);
    const lastUpdateTime = this.clock.now().toISOString();
    const currentStatus = { phase: 'Failed', lastUpdateTime };
    const lastOperation = { type: 'HealthCheck', state: 'Failed', description: 'Marked by hand', lastUpdateTime };
    await this.admin
      .resource<Machine>(machines, NAMESPACE)
      .patch(name, { type: 'merge', body: { status: { currentStatus, lastOperation } } }, { subresource: 'status' });
  }

  async deleteMachine(name: string): Promise<void> {
    const resource = this.admin.resource<Machine>(machines, NAMESPACE);
    this.reporter.note('act', `the user deletes ${name}`);
    this.reporter.deletesByHand((await resource.get(name)).metadata.uid);
    await resource.delete(name);
  }
}
