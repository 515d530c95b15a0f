import type { Machine, MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';

/** A set whose replicas will be reduced by a write that the manager has already decided. */
interface Shrinking {
  readonly replicas: number;
  /**
   * Resource version of the set at the decision. When the cache contains another version of the set, the cache shows
   * the result of the write.
   */
  readonly resourceVersion: string | undefined;
  readonly deployment: string;
}

/**
 * Records decisions that no cache shows yet. Two controllers of one process decide about rollouts and replacements from
 * the same caches. Without this class, both controllers could use the same part of the disruption budget.
 */
export class DisruptionsUnderWay {
  readonly leaving = new Set<string>();
  readonly #shrinking = new Map<string, Shrinking>();
  /** The nodes that will be selected for an in-place update: the resource version by the name of the node. */
  readonly #selecting = new Map<string, string | undefined>();
  readonly #listeners: ((deploymentUid: string) => void)[] = [];

  readonly isLeaving = ({ metadata }: Machine): boolean => this.leaving.has(metadata.uid);

  shrinks({ metadata, spec }: MachineSet, deploymentUid: string): void {
    const { uid, resourceVersion } = metadata;
    this.#shrinking.set(uid, { replicas: spec.replicas ?? 0, resourceVersion, deployment: deploymentUid });
  }

  /** Returns true if a smaller size of the set was decided, but the result of the write is not known yet. */
  isShrinking({ metadata }: MachineSet): boolean {
    const shrinking = this.#shrinking.get(metadata.uid);
    return shrinking !== undefined && shrinking.resourceVersion === metadata.resourceVersion;
  }

  /** Returns the smaller of two numbers: the replicas in the cache, and the replicas that will be written. */
  replicasOf(set: MachineSet): number {
    const replicas = set.spec.replicas ?? 0;
    const shrinking = this.#shrinking.get(set.metadata.uid);
    return shrinking && this.isShrinking(set) ? Math.min(replicas, shrinking.replicas) : replicas;
  }

  /** Removes the entry of a set, because the result of the write is known or no write follows. */
  settled(setUid: string): void {
    const shrinking = this.#shrinking.get(setUid);
    if (shrinking === undefined) return;
    this.#shrinking.delete(setUid);
    for (const listener of this.#listeners) listener(shrinking.deployment);
  }

  selects({ metadata }: Node): void {
    this.#selecting.set(metadata.name, metadata.resourceVersion);
  }

  isSelecting({ metadata }: Node): boolean {
    if (!this.#selecting.has(metadata.name)) return false;
    if (this.#selecting.get(metadata.name) === metadata.resourceVersion) return true;
    this.#selecting.delete(metadata.name);
    return false;
  }

  /**
   * Registers a listener. The listener is called with the UID of a deployment when fewer of its disruptions may be in
   * progress.
   */
  onSettled(listener: (deploymentUid: string) => void): void {
    this.#listeners.push(listener);
  }
}
