import { look, number } from '../../kinds/plain.ts';
import type { ApiObject, OwnerReference } from '../../object.ts';
import { type Api, allowing } from '../runtime/api.ts';
import type { Directory } from '../runtime/directory.ts';
import type { Informer } from '../runtime/informer.ts';
import { controllerOf, namespaceOf } from '../runtime/objects.ts';

interface Scale {
  readonly uid: string;
  readonly replicas: number;
}

/** Caches of the workloads that are asked most. */
export interface WorkloadCaches {
  readonly replicaSets: Informer;
  readonly deployments: Informer;
  readonly statefulSets: Informer;
}

const scaleOf = (owner: ApiObject): Scale => ({
  uid: owner.metadata.uid ?? '',
  replicas: number(look(owner, 'spec'), 'replicas') ?? 1,
});

/** Finds how many pods the owners of some pods want. */
export class ScaleFinder {
  readonly #api: Api;
  readonly #directory: Directory;
  readonly #caches: WorkloadCaches;

  constructor(api: Api, directory: Directory, caches: WorkloadCaches) {
    this.#api = api;
    this.#directory = directory;
    this.#caches = caches;
  }

  /** The sum over the distinct owners of these pods. Pods without one count for nothing. */
  async total(pods: readonly ApiObject[]): Promise<number> {
    const asked = new Map<string, Promise<Scale | undefined>>();
    for (const pod of pods) {
      const owner = controllerOf(pod);
      if (owner !== undefined && !asked.has(owner.uid)) asked.set(owner.uid, this.#find(namespaceOf(pod), owner));
    }
    const scales = new Map<string, number>();
    for (const scale of await Promise.all(asked.values())) {
      if (scale !== undefined) scales.set(scale.uid, scale.replicas);
    }
    let total = 0;
    for (const replicas of scales.values()) total += replicas;
    return total;
  }

  async #find(namespace: string, owner: OwnerReference): Promise<Scale | undefined> {
    const { replicaSets, deployments, statefulSets } = this.#caches;
    const key = `${namespace}/${owner.name}`;
    if (owner.apiVersion.startsWith('apps/') && owner.kind === 'ReplicaSet') {
      const set = replicaSets.get(key);
      if (set === undefined || set.metadata.uid !== owner.uid) return undefined;
      // A deployment's replica sets change under a rollout; what counts is the deployment.
      const deployment = controllerOf(set);
      if (deployment?.kind !== 'Deployment') return scaleOf(set);
      const found = deployments.get(`${namespace}/${deployment.name}`);
      return found === undefined || found.metadata.uid !== deployment.uid ? undefined : scaleOf(found);
    }
    if (owner.apiVersion.startsWith('apps/') && owner.kind === 'StatefulSet') {
      const set = statefulSets.get(key);
      return set === undefined || set.metadata.uid !== owner.uid ? undefined : scaleOf(set);
    }
    return this.#ask(namespace, owner);
  }

  /** Any other kind answers through its scale subresource. */
  async #ask(namespace: string, owner: OwnerReference): Promise<Scale | undefined> {
    const resource = this.#directory.find(owner.apiVersion, owner.kind);
    if (resource === undefined || !resource.subresources.includes('scale')) return undefined;
    const scale = await allowing(this.#api.get(resource, { namespace, name: owner.name, subresource: 'scale' }), 404);
    if (scale === undefined || scale.metadata.uid !== owner.uid) return undefined;
    return { uid: owner.uid, replicas: number(look(scale, 'spec'), 'replicas') ?? 0 };
  }
}
