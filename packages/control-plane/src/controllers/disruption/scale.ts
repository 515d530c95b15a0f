import type { ApiObject, OwnerReference } from '../../apimachinery/objects/object.ts';
import { look, number } from '../../apimachinery/objects/plain.ts';
import { type Api, allowing } from '../client/api.ts';
import type { Directory } from '../discovery/directory.ts';
import { controllerOf, namespaceOf } from '../objects/fields.ts';
import type { Informer } from '../runtime/informer.ts';

interface Scale {
  readonly uid: string;
  readonly replicas: number;
}

export interface WorkloadCaches {
  readonly replicaSets: Informer;
  readonly deployments: Informer;
  readonly statefulSets: Informer;
}

const scaleOf = (owner: ApiObject): Scale => ({
  uid: owner.metadata.uid ?? '',
  replicas: number(look(owner, 'spec'), 'replicas') ?? 1,
});

export class UncountableBudget extends Error {
  override readonly name = 'UncountableBudget';
}

export interface TotalScale {
  readonly total: number;
  readonly unmanaged: boolean;
}

export class ScaleFinder {
  readonly #api: Api;
  readonly #directory: Directory;
  readonly #caches: WorkloadCaches;

  constructor(api: Api, directory: Directory, caches: WorkloadCaches) {
    this.#api = api;
    this.#directory = directory;
    this.#caches = caches;
  }

  /**
   * Returns the desired replicas of all owners of the pods.
   * @throws UncountableBudget for a pod whose owner does not exist or has no scale
   */
  async total(pods: readonly ApiObject[]): Promise<TotalScale> {
    const asked = new Map<string, Promise<Scale>>();
    let unmanaged = false;
    for (const pod of pods) {
      const owner = controllerOf(pod);
      if (owner === undefined) unmanaged = true;
      else if (!asked.has(owner.uid)) asked.set(owner.uid, this.#find(pod, owner));
    }
    const scales = new Map<string, number>();
    for (const scale of await Promise.all(asked.values())) scales.set(scale.uid, scale.replicas);
    let total = 0;
    for (const replicas of scales.values()) total += replicas;
    return { total, unmanaged };
  }

  async #find(pod: ApiObject, owner: OwnerReference): Promise<Scale> {
    const namespace = namespaceOf(pod);
    const found = this.#cached(namespace, owner) ?? (await this.#ask(namespace, owner));
    if (found === undefined) throw new UncountableBudget(`found no controllers for pod "${pod.metadata.name}"`);
    return found;
  }

  #cached(namespace: string, owner: OwnerReference): Scale | undefined {
    const { replicaSets, deployments, statefulSets } = this.#caches;
    const key = `${namespace}/${owner.name}`;
    if (isOf(owner, 'apps', 'StatefulSet')) return scaleIfSame(statefulSets.get(key), owner);
    if (!isOf(owner, 'apps', 'ReplicaSet')) return undefined;
    const set = replicaSets.get(key);
    if (set === undefined || set.metadata.uid !== owner.uid) return undefined;
    // During a rollout, the sizes of the ReplicaSets change, so the controller uses the size of the Deployment.
    const above = controllerOf(set);
    if (above?.kind !== 'Deployment') return scaleOf(set);
    if (!isOf(above, 'apps', 'Deployment')) return undefined;
    return scaleIfSame(deployments.get(`${namespace}/${above.name}`), above);
  }

  /** Reads the scale subresource of an owner that is not a cached workload. */
  async #ask(namespace: string, owner: OwnerReference): Promise<Scale | undefined> {
    const resource = this.#directory.find(owner.apiVersion, owner.kind);
    if (resource === undefined) {
      throw new UncountableBudget(`no matches for kind "${owner.kind}" in version "${owner.apiVersion}"`);
    }
    if (!resource.subresources.includes('scale')) {
      const name = resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
      throw new UncountableBudget(`${name} does not implement the scale subresource`);
    }
    const scale = await allowing(this.#api.get(resource, { namespace, name: owner.name, subresource: 'scale' }), 404);
    if (scale === undefined || scale.metadata.uid !== owner.uid) return undefined;
    return { uid: owner.uid, replicas: number(look(scale, 'spec'), 'replicas') ?? 0 };
  }
}

const isOf = (owner: OwnerReference, group: string, kind: string): boolean =>
  owner.kind === kind && owner.apiVersion.startsWith(`${group}/`);

const scaleIfSame = (object: ApiObject | undefined, owner: OwnerReference): Scale | undefined =>
  object === undefined || object.metadata.uid !== owner.uid ? undefined : scaleOf(object);
