import type { ApiObject, OwnerReference } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { type Api, allowing, hasCode } from '../client/api.ts';
import type { Directory } from '../discovery/directory.ts';
import { describes, FOREGROUND, type Graph, type GraphNode, isElsewhere, ORPHAN, waitsForDependents } from './graph.ts';

interface Owners {
  readonly solid: readonly OwnerReference[];
  readonly dangling: readonly OwnerReference[];
  /** Owners whose deletion waits for their dependents (foreground deletion). */
  readonly waiting: readonly OwnerReference[];
}

/** Returns the metadata change for an object, or undefined for no change. */
type PatchOf = (object: ApiObject) => Record<string, unknown> | undefined;

type Propagation = 'Background' | 'Foreground' | 'Orphan';

const ATTEMPTS = 5;
/** The maximum number of references in the cache of absent owners. */
const REMEMBERED = 500;

const placeOf = ({ namespace, name }: GraphNode) => ({ namespace, name });

export class Collector {
  readonly #api: Api;
  readonly #graph: Graph;
  readonly #directory: Directory;
  readonly #enqueue: (uid: string) => void;
  /** The cache of references to absent owners. */
  readonly #absent = new Set<string>();
  /** The UIDs of objects whose owner has a kind that the server does not serve. */
  readonly #unresolved = new Set<string>();

  constructor(api: Api, graph: Graph, directory: Directory, enqueue: (uid: string) => void) {
    this.#api = api;
    this.#graph = graph;
    this.#directory = directory;
    this.#enqueue = enqueue;
  }

  /** @throws StatusError if the garbage collector must check the object again */
  async look(uid: string): Promise<void> {
    const node = this.#graph.get(uid);
    if (node === undefined) return;
    if (node.dying && node.finalizers.includes(ORPHAN)) return this.#orphan(node);
    if (waitsForDependents(node)) return this.#deleteDependents(node);
    if (node.dying || node.owners.length === 0) return;
    await this.#assess(node);
  }

  /** Removes the references to an owner from all dependents, and then removes the finalizer `orphan` from the owner. */
  async #orphan(node: GraphNode): Promise<void> {
    for (const dependent of this.#graph.dependentsOf(node.uid)) {
      await this.#dropOwners(dependent, new Set([node.uid]));
    }
    await this.#dropFinalizer(node, ORPHAN);
  }

  /** Removes the finalizer of an object in foreground deletion when no dependent blocks the deletion. */
  async #deleteDependents(node: GraphNode): Promise<void> {
    const blocking = this.#graph
      .dependentsOf(node.uid)
      .filter(({ owners }) =>
        owners.some(({ uid, blockOwnerDeletion }) => uid === node.uid && blockOwnerDeletion === true),
      );
    if (blocking.length === 0) return this.#dropFinalizer(node, FOREGROUND);
    for (const dependent of blocking) if (!dependent.dying) this.#enqueue(dependent.uid);
  }

  async #assess(node: GraphNode): Promise<void> {
    const latest = await allowing(this.#api.get(node.resource, placeOf(node)), 404);
    if (latest === undefined || latest.metadata.uid !== node.uid) return;
    const { ownerReferences = [], finalizers = [] } = latest.metadata;
    if (ownerReferences.length === 0) return;
    const owners = await this.#classify(node, ownerReferences);
    if (owners === undefined) return;
    const { solid, dangling, waiting } = owners;
    if (solid.length > 0) {
      const lost = [...dangling, ...waiting];
      if (lost.length > 0) await this.#dropOwners(node, new Set(lost.map(({ uid }) => uid)));
      return;
    }
    const dependents = this.#graph.dependentsOf(node.uid);
    if (waiting.length > 0 && dependents.length > 0) {
      // Two objects that own each other would wait forever.
      const unblocked = dependents.some(waitsForDependents) ? await this.#unblock(node) : undefined;
      return this.#delete(node, unblocked ?? latest, 'Foreground');
    }
    if (finalizers.includes(ORPHAN)) return this.#delete(node, latest, 'Orphan');
    return this.#delete(node, latest, finalizers.includes(FOREGROUND) ? 'Foreground' : 'Background');
  }

  /** Returns the states of the owners of an object. */
  async #classify(node: GraphNode, references: readonly OwnerReference[]): Promise<Owners | undefined> {
    const solid: OwnerReference[] = [];
    const dangling: OwnerReference[] = [];
    const waiting: OwnerReference[] = [];
    for (const reference of references) {
      const owner = this.#graph.get(reference.uid);
      if (owner !== undefined && !isElsewhere(owner, node) && describes(reference, owner)) {
        (waitsForDependents(owner) ? waiting : solid).push(reference);
        continue;
      }
      const found = await this.#find(node, reference);
      if (found === 'unknown') return undefined;
      if (found === 'absent') dangling.push(reference);
      else if (found.metadata.deletionTimestamp !== undefined && found.metadata.finalizers?.includes(FOREGROUND)) {
        waiting.push(reference);
      } else solid.push(reference);
    }
    return { solid, dangling, waiting };
  }

  /** If the cached owner is absent or differs from the reference, the collector reads the owner from the API server. */
  async #find(node: GraphNode, reference: OwnerReference): Promise<ApiObject | 'absent' | 'unknown'> {
    const { apiVersion, kind, name, uid } = reference;
    const resource = this.#directory.find(apiVersion, kind);
    if (resource === undefined) {
      // While the server does not serve a kind, the collector cannot know whether an owner of this kind exists.
      this.#unresolved.add(node.uid);
      return 'unknown';
    }
    // A cluster-scoped object cannot have an owner in a namespace, so the collector keeps the object.
    if (resource.namespaced && node.namespace === '') return 'unknown';
    const namespace = resource.namespaced ? node.namespace : '';
    const key = JSON.stringify([apiVersion, kind, namespace, name, uid]);
    if (this.#absent.has(key)) return 'absent';
    const owner = await allowing(this.#api.get(resource, { namespace, name }), 404);
    if (owner !== undefined && owner.metadata.uid === uid) return owner;
    // The UID of a deleted owner is never reused, so the cache stores its absence.
    if (this.#absent.size >= REMEMBERED) this.#absent.clear();
    this.#absent.add(key);
    return 'absent';
  }

  retry(): void {
    const uids = [...this.#unresolved];
    this.#unresolved.clear();
    for (const uid of uids) this.#enqueue(uid);
  }

  async #dropOwners(node: GraphNode, uids: ReadonlySet<string>): Promise<void> {
    await this.#change(node, (object) => {
      const { ownerReferences = [] } = object.metadata;
      const kept = ownerReferences.filter(({ uid }) => !uids.has(uid));
      return kept.length === ownerReferences.length ? undefined : { ownerReferences: kept.length === 0 ? null : kept };
    });
  }

  #unblock(node: GraphNode): Promise<ApiObject | undefined> {
    return this.#change(node, (object) => {
      const { ownerReferences = [] } = object.metadata;
      if (!ownerReferences.some(({ blockOwnerDeletion }) => blockOwnerDeletion === true)) return undefined;
      const unblocked = (owner: OwnerReference): OwnerReference =>
        owner.blockOwnerDeletion === true ? { ...owner, blockOwnerDeletion: false } : owner;
      return { ownerReferences: ownerReferences.map(unblocked) };
    });
  }

  async #dropFinalizer(node: GraphNode, finalizer: string): Promise<void> {
    await this.#change(node, (object) => {
      const { finalizers = [] } = object.metadata;
      if (!finalizers.includes(finalizer)) return undefined;
      const kept = finalizers.filter((one) => one !== finalizer);
      return { finalizers: kept.length === 0 ? null : kept };
    });
  }

  /**
   * Patches the metadata of an object.
   * @throws StatusError if other clients write the object during every attempt.
   */
  async #change(node: GraphNode, patchOf: PatchOf): Promise<ApiObject | undefined> {
    for (let attempt = 1; ; attempt++) {
      const object = await allowing(this.#api.get(node.resource, placeOf(node)), 404);
      if (object === undefined || object.metadata.uid !== node.uid) return undefined;
      const patch = patchOf(object);
      if (patch === undefined) return object;
      const { uid, resourceVersion } = object.metadata;
      try {
        return await this.#api.patch(node.resource, placeOf(node), { metadata: { uid, resourceVersion, ...patch } });
      } catch (error) {
        if (hasCode(error, 404)) return undefined;
        if (!hasCode(error, 409) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** @throws StatusError 409 if the owners have changed since the check */
  async #delete(node: GraphNode, assessed: ApiObject, propagationPolicy: Propagation): Promise<void> {
    const { resourceVersion = '', ownerReferences } = assessed.metadata;
    const uid = node.uid;
    const remove = (preconditions: { uid: string; resourceVersion?: string }): Promise<unknown> =>
      allowing(this.#api.delete(node.resource, placeOf(node), { propagationPolicy, preconditions }), 404);
    try {
      await remove({ uid, resourceVersion });
    } catch (error) {
      if (!hasCode(error, 409)) throw error;
      const live = await allowing(this.#api.get(node.resource, placeOf(node)), 404);
      if (live === undefined || live.metadata.uid !== uid) return;
      if (!jsonEquals(live.metadata.ownerReferences, ownerReferences)) throw error;
      await remove({ uid });
    }
  }
}
