import type { ApiObject, OwnerReference } from '../../object.ts';
import { type Api, allowing, hasCode } from '../runtime/api.ts';
import type { Directory } from '../runtime/directory.ts';
import type { Recorder } from '../runtime/events.ts';
import { FOREGROUND, type Graph, type GraphNode, ORPHAN, waitsForDependents } from './graph.ts';

/** What the owners of an object amount to. */
interface Owners {
  readonly solid: readonly OwnerReference[];
  readonly dangling: readonly OwnerReference[];
  /** Being deleted in the foreground: waiting for this object. */
  readonly waiting: readonly OwnerReference[];
}

const placeOf = ({ namespace, name }: GraphNode) => ({ namespace, name });

/** Looks at one object at a time and does what its owners and its own deletion ask for. */
export class Collector {
  readonly #api: Api;
  readonly #graph: Graph;
  readonly #directory: Directory;
  readonly #enqueue: (uid: string) => void;
  readonly #tell: Recorder;

  constructor(api: Api, graph: Graph, directory: Directory, enqueue: (uid: string) => void, tell: Recorder) {
    this.#api = api;
    this.#graph = graph;
    this.#directory = directory;
    this.#enqueue = enqueue;
    this.#tell = tell;
  }

  /** @throws ApiError when it should be tried again */
  async look(uid: string): Promise<void> {
    const node = this.#graph.get(uid);
    if (node === undefined) return;
    if (node.dying && node.finalizers.includes(ORPHAN)) return this.#orphan(node);
    if (waitsForDependents(node)) return this.#deleteDependents(node);
    if (node.dying || node.owners.length === 0) return;
    await this.#judge(node);
  }

  /** Dependents lose their reference, then the object its finalizer. */
  async #orphan(node: GraphNode): Promise<void> {
    for (const dependent of this.#graph.dependentsOf(node.uid)) {
      await this.#dropOwners(dependent, new Set([node.uid]));
    }
    await this.#dropFinalizer(node, ORPHAN);
  }

  /** The object goes when no dependent holds it; until then its dependents are deleted. */
  async #deleteDependents(node: GraphNode): Promise<void> {
    const blocking = this.#graph
      .dependentsOf(node.uid)
      .filter(({ owners }) =>
        owners.some(({ uid, blockOwnerDeletion }) => uid === node.uid && blockOwnerDeletion === true),
      );
    if (blocking.length === 0) return this.#dropFinalizer(node, FOREGROUND);
    for (const dependent of blocking) if (!dependent.dying) this.#enqueue(dependent.uid);
  }

  async #judge(node: GraphNode): Promise<void> {
    const { solid, dangling, waiting } = await this.#classify(node);
    if (solid.length > 0) {
      const lost = [...dangling, ...waiting];
      if (lost.length > 0) await this.#dropOwners(node, new Set(lost.map(({ uid }) => uid)));
      return;
    }
    if (waiting.length > 0 && this.#graph.dependentsOf(node.uid).length > 0) {
      // Two objects that wait for each other would wait for ever: the dependents stop blocking.
      for (const dependent of this.#graph.dependentsOf(node.uid)) {
        if (waitsForDependents(dependent)) await this.#unblock(node);
      }
      return this.#delete(node, 'Foreground');
    }
    if (node.finalizers.includes(ORPHAN)) return this.#delete(node, 'Orphan');
    return this.#delete(node, node.finalizers.includes(FOREGROUND) ? 'Foreground' : 'Background');
  }

  async #classify(node: GraphNode): Promise<Owners> {
    const solid: OwnerReference[] = [];
    const dangling: OwnerReference[] = [];
    const waiting: OwnerReference[] = [];
    for (const reference of node.owners) {
      const owner = this.#graph.get(reference.uid);
      const sameScope = owner !== undefined && (owner.namespace === '' || owner.namespace === node.namespace);
      if (owner !== undefined && sameScope && owner.resource.kind === reference.kind) {
        (waitsForDependents(owner) ? waiting : solid).push(reference);
        continue;
      }
      if (owner !== undefined && !sameScope) this.#tellElsewhere(node, reference);
      if (await this.#exists(node, reference)) solid.push(reference);
      else dangling.push(reference);
    }
    return { solid, dangling, waiting };
  }

  /** An owner is looked for beside its dependents; one that is somewhere else is none. */
  #tellElsewhere({ resource, namespace, name, uid }: GraphNode, owner: OwnerReference): void {
    const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
    const shown = `[${owner.apiVersion}/${owner.kind}, namespace: ${namespace}, name: ${owner.name}, uid: ${owner.uid}]`;
    const message = `ownerRef ${shown} does not exist in namespace "${namespace}"`;
    this.#tell(
      { apiVersion, kind: resource.kind, namespace, name, uid },
      'Warning',
      'OwnerRefInvalidNamespace',
      message,
    );
  }

  /** An owner that no cache has is asked for before its dependents go. */
  async #exists(node: GraphNode, reference: OwnerReference): Promise<boolean> {
    const resource = this.#directory.find(reference.apiVersion, reference.kind);
    // Of a kind that is not served nothing can be said.
    if (resource === undefined) return true;
    // A cluster-scoped object cannot have an owner in a namespace; such a reference is left alone.
    if (resource.namespaced && node.namespace === '') return true;
    const owner = await allowing(this.#api.get(resource, { namespace: node.namespace, name: reference.name }), 404);
    return owner !== undefined && owner.metadata.uid === reference.uid;
  }

  /** Removes references to owners. */
  async #dropOwners(node: GraphNode, uids: ReadonlySet<string>): Promise<void> {
    await this.#change(node, (object) => {
      const { ownerReferences = [] } = object.metadata;
      const kept = ownerReferences.filter(({ uid }) => !uids.has(uid));
      return kept.length === ownerReferences.length ? undefined : { ownerReferences: kept.length === 0 ? null : kept };
    });
  }

  async #unblock(node: GraphNode): Promise<void> {
    await this.#change(node, (object) => {
      const { ownerReferences = [] } = object.metadata;
      if (!ownerReferences.some(({ blockOwnerDeletion }) => blockOwnerDeletion === true)) return undefined;
      return { ownerReferences: ownerReferences.map((owner) => ({ ...owner, blockOwnerDeletion: false })) };
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

  /** Patches the metadata of the very object that was read; an object that has gone or been replaced needs nothing. */
  async #change(node: GraphNode, patchOf: (object: ApiObject) => Record<string, unknown> | undefined): Promise<void> {
    for (;;) {
      const object = await allowing(this.#api.get(node.resource, placeOf(node)), 404);
      if (object === undefined || object.metadata.uid !== node.uid) return;
      const patch = patchOf(object);
      if (patch === undefined) return;
      const { uid, resourceVersion } = object.metadata;
      try {
        await this.#api.patch(node.resource, placeOf(node), { metadata: { uid, resourceVersion, ...patch } });
        return;
      } catch (error) {
        if (hasCode(error, 404)) return;
        if (!hasCode(error, 409)) throw error;
      }
    }
  }

  async #delete(node: GraphNode, propagationPolicy: 'Background' | 'Foreground' | 'Orphan'): Promise<void> {
    const preconditions = { uid: node.uid };
    await allowing(this.#api.delete(node.resource, placeOf(node), { propagationPolicy, preconditions }), 404, 409);
  }
}
