import type { ApiObject, OwnerReference } from '../../apimachinery/objects/object.ts';
import type { ServedResource } from '../discovery/directory.ts';
import type { EventSubject } from '../events/events.ts';

export interface GraphNode {
  readonly uid: string;
  readonly resource: ServedResource;
  readonly namespace: string;
  readonly name: string;
  owners: readonly OwnerReference[];
  dying: boolean;
  finalizers: readonly string[];
}

/** Most objects have no owner and no finalizer, and share this empty list. */
const NONE: readonly never[] = [];

export const FOREGROUND = 'foregroundDeletion';
export const ORPHAN = 'orphan';

/** Returns whether the deletion of the object waits for the deletion of its dependents. */
export const waitsForDependents = (node: GraphNode): boolean => node.dying && node.finalizers.includes(FOREGROUND);

const apiVersionOf = ({ group, version }: ServedResource): string => (group === '' ? version : `${group}/${version}`);

/** Returns whether two objects are in different namespaces, so that `owner` cannot own `dependent`. */
export const isElsewhere = (owner: GraphNode, dependent: GraphNode): boolean =>
  owner.namespace !== '' && owner.namespace !== dependent.namespace;

/** Returns whether the name, the kind and the apiVersion in an owner reference match the owner. */
export const describes = (reference: OwnerReference, { resource, name }: GraphNode): boolean =>
  reference.kind === resource.kind && reference.name === name && reference.apiVersion === apiVersionOf(resource);

export const subjectOf = ({ resource, namespace, name, uid }: GraphNode): EventSubject => ({
  apiVersion: apiVersionOf(resource),
  kind: resource.kind,
  namespace,
  name,
  uid,
});

/** The graph finds objects by their UID. The graph also finds the dependents of an owner, even of an unknown owner. */
export class Graph {
  readonly #nodes = new Map<string, GraphNode>();
  readonly #dependents = new Map<string, Set<GraphNode>>();

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  dependentsOf(uid: string): readonly GraphNode[] {
    return [...(this.#dependents.get(uid) ?? [])];
  }

  put(object: ApiObject, resource: ServedResource): GraphNode {
    const {
      uid = '',
      name = '',
      namespace = '',
      ownerReferences = NONE,
      finalizers = NONE,
      deletionTimestamp,
    } = object.metadata;
    let node = this.#nodes.get(uid);
    if (node === undefined) {
      node = { uid, resource, namespace, name, owners: NONE, dying: false, finalizers: NONE };
      this.#nodes.set(uid, node);
    }
    this.#link(node, ownerReferences);
    node.dying = deletionTimestamp !== undefined;
    node.finalizers = finalizers;
    return node;
  }

  remove(uid: string): readonly OwnerReference[] {
    const node = this.#nodes.get(uid);
    if (node === undefined) return [];
    const { owners } = node;
    this.#link(node, NONE);
    this.#nodes.delete(uid);
    return owners;
  }

  of(resource: ServedResource): GraphNode[] {
    return [...this.#nodes.values()].filter(
      (node) => node.resource.group === resource.group && node.resource.plural === resource.plural,
    );
  }

  #link(node: GraphNode, owners: readonly OwnerReference[]): void {
    for (const { uid } of node.owners) {
      const dependents = this.#dependents.get(uid);
      dependents?.delete(node);
      if (dependents?.size === 0) this.#dependents.delete(uid);
    }
    for (const { uid } of owners) {
      const dependents = this.#dependents.get(uid);
      if (dependents === undefined) this.#dependents.set(uid, new Set([node]));
      else dependents.add(node);
    }
    node.owners = owners;
  }
}
