import {
  createInformer,
  type KubeObject,
  type Pod,
  type PodDisruptionBudget,
  podDisruptionBudgets,
  pods,
  type ResourceDefinition,
  seededRandom,
} from '@mcm/kube';
import { PodAnnotations } from '@mcm/provider-local';
import { NAMESPACE, type World } from './world.ts';

interface ReplicaSet extends KubeObject {
  spec: { replicas: number; selector: object; template: object };
}

const replicaSets: ResourceDefinition<ReplicaSet> = {
  group: 'apps',
  version: 'v1',
  plural: 'replicasets',
  kind: 'ReplicaSet',
  namespaced: true,
};

const LABELS = { app: 'web' };
const CONTAINERS = [{ name: 'main', image: 'pause' }];

export interface WorkloadOptions {
  readonly replicas: number;
  readonly minAvailable: number;
  readonly readyAfter?: string;
}

const isReady = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  (status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false);

export class Workload {
  readonly budget = `${NAMESPACE}/web`;
  fewest = Number.POSITIVE_INFINITY;
  readonly #world: World;
  readonly #stop = new AbortController();
  readonly #pods = new Map<string, Pod>();
  readonly evictions: number[] = [];

  private constructor(world: World) {
    this.#world = world;
  }

  static async create(world: World, options: WorkloadOptions): Promise<Workload> {
    const workload = new Workload(world);
    workload.#watch(options.minAvailable);
    await world.admin.resource<PodDisruptionBudget>(podDisruptionBudgets, NAMESPACE).create({
      metadata: { name: 'web', namespace: NAMESPACE },
      spec: { minAvailable: options.minAvailable, selector: { matchLabels: LABELS } },
    });
    await world.admin.resource(replicaSets, NAMESPACE).create({
      metadata: { name: 'web', namespace: NAMESPACE },
      spec: {
        replicas: options.replicas,
        selector: { matchLabels: LABELS },
        template: {
          metadata: { labels: LABELS, annotations: { [PodAnnotations.ReadyAfter]: options.readyAfter ?? '0s' } },
          spec: { containers: CONTAINERS, terminationGracePeriodSeconds: 5 },
        },
      },
    });
    await world.until(async () => workload.ready === options.replicas);
    return workload;
  }

  #watch(minAvailable: number): void {
    const { admin, clock, log } = this.#world;
    const informer = createInformer<Pod>(admin, pods, { clock, log, random: seededRandom(0) });
    informer.onChange((change) => {
      if (change.object.metadata.labels?.app !== LABELS.app) return;
      if (
        change.type === 'updated' &&
        !change.old.metadata.deletionTimestamp &&
        change.object.metadata.deletionTimestamp
      )
        this.evictions.push(clock.now().getTime());
      if (change.type === 'deleted') this.#pods.delete(change.key);
      else this.#pods.set(change.key, change.object);
      if (this.ready >= minAvailable || Number.isFinite(this.fewest)) this.fewest = Math.min(this.fewest, this.ready);
    });
    void informer.run(this.#stop.signal).catch((error: unknown) => this.#world.reporter.violate(String(error)));
  }

  get ready(): number {
    return [...this.#pods.values()].filter(isReady).length;
  }

  get nodeNames(): string[] {
    return [...new Set([...this.#pods.values()].flatMap(({ spec }) => spec.nodeName ?? []))].sort();
  }

  async allow(minAvailable: number): Promise<void> {
    await this.#world.admin
      .resource(podDisruptionBudgets, NAMESPACE)
      .patch('web', { type: 'merge', body: { spec: { minAvailable } } });
  }

  close(): void {
    this.#stop.abort(new Error('closed'));
  }
}

/** Creates a pod on a node. */
export async function holdNode(world: World, nodeName: string): Promise<void> {
  await world.admin.resource<Pod>(pods, NAMESPACE).create({
    metadata: { name: `held-${nodeName}`, namespace: NAMESPACE, labels: { app: 'held' } },
    spec: { nodeName, containers: CONTAINERS, terminationGracePeriodSeconds: 5 },
  });
}

export async function holdAll(world: World, count: number): Promise<void> {
  await world.admin.resource<PodDisruptionBudget>(podDisruptionBudgets, NAMESPACE).create({
    metadata: { name: 'held', namespace: NAMESPACE },
    spec: { minAvailable: count, selector: { matchLabels: { app: 'held' } } },
  });
}
