import { Annotations, type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { type KubeClient, type KubeObject, pods, type ResourceDefinition } from '@mcm/kube';
import { NAMESPACE } from '../../harness/stack.ts';

interface AppsDeployment extends KubeObject {
  readonly spec: object;
}

export const deployments: ResourceDefinition<AppsDeployment> = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
};

const NAME = 'load';

export class PodLoad {
  readonly #client: KubeClient;
  readonly machines = new Set<string>();
  #present: ReadonlySet<string> = new Set();
  readonly #results = new Set<string>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  async create(): Promise<void> {
    const labels = { app: NAME };
    const container = { name: 'app', image: 'app', resources: { requests: { cpu: '1200m' } } };
    await this.#client.resource(deployments, NAMESPACE).create({
      metadata: { name: NAME },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers: [container] } },
      },
    });
  }

  async resize(replicas: number): Promise<void> {
    await this.#client.resource(deployments, NAMESPACE).patch(NAME, { type: 'merge', body: { spec: { replicas } } });
  }

  async #collectResults(): Promise<void> {
    const { items } = await this.#client.resource<MachineDeployment>(machineDeployments, NAMESPACE).list();
    const texts = items.map(({ metadata }) => metadata.annotations?.[Annotations.ScaleInResults] ?? '[]');
    const results = texts.flatMap((text): { outcome: string; message: string }[] => JSON.parse(text));
    for (const { outcome, message } of results) if (outcome === 'Accepted') this.#results.add(message);
  }

  /**
   * Returns true if all pods are running, and the pool has one machine for each pod. Without pods, the pool keeps one
   * machine.
   */
  async isSettled(count: number): Promise<boolean> {
    await this.#collectResults();
    const all = (await this.#client.resource<Machine>(machines, NAMESPACE).list()).items;
    this.#present = new Set(all.map(({ metadata }) => metadata.name));
    for (const name of this.#present) this.machines.add(name);
    const { items } = await this.#client.resource(pods, NAMESPACE).list();
    const running = items.filter(({ metadata, status }) => status?.phase === 'Running' && !metadata.deletionTimestamp);
    return (
      all.length === Math.max(1, count) &&
      all.every(({ status }) => status?.currentStatus?.phase === 'Running') &&
      running.length === count &&
      items.length === count
    );
  }

  unnamed(named: ReadonlySet<string>): readonly string[] {
    const accepted = [...this.#results].join('\n');
    return [...this.machines].filter(
      (name) => !this.#present.has(name) && !accepted.includes(name) && !named.has(name),
    );
  }
}
