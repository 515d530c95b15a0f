import type { ServedResource } from '../runtime/directory.ts';
import type { Recorder } from '../runtime/events.ts';
import type { Change } from '../runtime/informer.ts';
import {
  describes,
  FOREGROUND,
  type Graph,
  type GraphNode,
  isElsewhere,
  ORPHAN,
  subjectOf,
  waitsForDependents,
} from './graph.ts';

/** Updates the graph of owners after changes, and adds the objects to the queue that the collector must check. */
export class GraphUpdates {
  readonly #graph: Graph;
  readonly #add: (uid: string) => void;
  readonly #tell: Recorder;

  constructor(graph: Graph, add: (uid: string) => void, tell: Recorder) {
    this.#graph = graph;
    this.#add = add;
    this.#tell = tell;
  }

  /** An object is gone: its dependents may have lost their last owner, and its owners may have waited for it. */
  removed(uid: string): void {
    const owners = this.#graph.remove(uid);
    this.#addDependents(uid);
    for (const owner of owners) this.#addWaiting(owner.uid);
  }

  changed(resource: ServedResource, { type, object, old }: Change): void {
    if (type === 'deleted') {
      this.removed(object.metadata.uid ?? '');
      return;
    }
    const before = old?.metadata;
    const { metadata } = object;
    const isNew = before === undefined;
    const same =
      !isNew &&
      before.deletionTimestamp === metadata.deletionTimestamp &&
      JSON.stringify(before.ownerReferences) === JSON.stringify(metadata.ownerReferences) &&
      JSON.stringify(before.finalizers) === JSON.stringify(metadata.finalizers);
    if (same) return;
    // Owners that lost this dependent may have waited for it.
    const former = new Set((before?.ownerReferences ?? []).map(({ uid }) => uid));
    const isFirst = this.#graph.get(metadata.uid ?? '') === undefined;
    const node = this.#graph.put(object, resource);
    if (isFirst) this.#checkDependents(node);
    for (const uid of former) this.#addWaiting(uid);
    if (this.#hasDoubtfulOwner(node, former) && !node.dying) this.#add(node.uid);
    if (!node.dying) return;
    // Dependents that do not block the deletion of their owner are deleted before it.
    const began = before?.deletionTimestamp === undefined || before.finalizers?.includes(FOREGROUND) !== true;
    if (waitsForDependents(node) && began) this.#addDependents(node.uid);
    if (waitsForDependents(node) || node.finalizers.includes(ORPHAN)) this.#add(node.uid);
  }

  #addDependents(uid: string): void {
    for (const dependent of this.#graph.dependentsOf(uid)) this.#add(dependent.uid);
  }

  /** Adds an owner that waits for the deletion of its dependents. */
  #addWaiting(uid: string): void {
    const owner = this.#graph.get(uid);
    if (owner !== undefined && waitsForDependents(owner)) this.#add(uid);
  }

  /** An object that is seen for the first time may not be the one that its dependents refer to. */
  #checkDependents(owner: GraphNode): void {
    for (const dependent of this.#graph.dependentsOf(owner.uid)) {
      const elsewhere = isElsewhere(owner, dependent);
      if (elsewhere) this.#reportElsewhere(dependent, owner.uid);
      const references = dependent.owners.filter(({ uid }) => uid === owner.uid);
      if (elsewhere || !references.every((one) => describes(one, owner))) this.#add(dependent.uid);
    }
  }

  /** Whether an owner is absent, is another object than the reference describes, or is being deleted. Reports the first owner elsewhere. */
  #hasDoubtfulOwner(node: GraphNode, former: ReadonlySet<string>): boolean {
    let isDoubtful = false;
    for (const reference of node.owners) {
      const owner = this.#graph.get(reference.uid);
      const elsewhere = owner !== undefined && isElsewhere(owner, node);
      if (elsewhere && !isDoubtful && !former.has(reference.uid)) this.#reportElsewhere(node, reference.uid);
      isDoubtful ||= owner === undefined || elsewhere || !describes(reference, owner) || waitsForDependents(owner);
    }
    return isDoubtful;
  }

  /** An owner must be in the namespace of its dependents. An owner in another namespace counts as absent and is reported once. */
  #reportElsewhere(dependent: GraphNode, uid: string): void {
    const reference = dependent.owners.find((owner) => owner.uid === uid);
    if (reference === undefined) return;
    const { apiVersion, kind, name } = reference;
    const { namespace } = dependent;
    const shown = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
    const message = `ownerRef ${shown} does not exist in namespace "${namespace}"`;
    this.#tell(subjectOf(dependent), 'Warning', 'OwnerRefInvalidNamespace', message);
  }
}
