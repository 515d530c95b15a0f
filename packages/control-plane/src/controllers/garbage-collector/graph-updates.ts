import type { ServedResource } from '../discovery/directory.ts';
import type { Recorder } from '../events/events.ts';
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

/** Updates the graph of owners after a change of an object. */
export class GraphUpdates {
  readonly #graph: Graph;
  readonly #add: (uid: string) => void;
  readonly #tell: Recorder;

  constructor(graph: Graph, add: (uid: string) => void, tell: Recorder) {
    this.#graph = graph;
    this.#add = add;
    this.#tell = tell;
  }

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
    const former = new Set((before?.ownerReferences ?? []).map(({ uid }) => uid));
    const isFirst = this.#graph.get(metadata.uid ?? '') === undefined;
    const node = this.#graph.put(object, resource);
    if (isFirst) this.#checkDependents(node);
    for (const uid of former) this.#addWaiting(uid);
    if (this.#hasDoubtfulOwner(node, former) && !node.dying) this.#add(node.uid);
    if (!node.dying) return;
    // When the foreground deletion of an owner starts, the collector checks all dependents of the owner.
    const began = before?.deletionTimestamp === undefined || before.finalizers?.includes(FOREGROUND) !== true;
    if (waitsForDependents(node) && began) this.#addDependents(node.uid);
    if (waitsForDependents(node) || node.finalizers.includes(ORPHAN)) this.#add(node.uid);
  }

  #addDependents(uid: string): void {
    for (const dependent of this.#graph.dependentsOf(uid)) this.#add(dependent.uid);
  }

  /** Adds an owner to the queue if its deletion waits for dependents. */
  #addWaiting(uid: string): void {
    const owner = this.#graph.get(uid);
    if (owner !== undefined && waitsForDependents(owner)) this.#add(uid);
  }

  /** Checks the dependents of a new object. */
  #checkDependents(owner: GraphNode): void {
    for (const dependent of this.#graph.dependentsOf(owner.uid)) {
      const elsewhere = isElsewhere(owner, dependent);
      if (elsewhere) this.#reportElsewhere(dependent, owner.uid);
      const references = dependent.owners.filter(({ uid }) => uid === owner.uid);
      if (elsewhere || !references.every((one) => describes(one, owner))) this.#add(dependent.uid);
    }
  }

  /**
   * Returns whether the collector must check an object. The reason is an owner that is unknown, differs from its
   * reference, is in another namespace, or waits for dependents.
   */
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
