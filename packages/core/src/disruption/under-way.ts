import type { Machine, MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';

/** A set for which a write with fewer replicas was decided. */
interface Shrinking {
  readonly replicas: number;
  /** Resource version of the set at the decision. When the version changes, the cache shows the result of the write. */
  readonly resourceVersion: string | undefined;
  readonly deployment: string;
}

/**
 * Decisions that no cache shows yet. Two controllers of one process decide about rollouts and replacements. Each controller
 * counts the disruptions that the other has just started. Otherwise both controllers could use the same part of the
 * disruption budget. A new process reads the actual state from the server.
 */
export class DisruptionsUnderWay {
  /** UIDs of machines for which a delete request was sent. */
  readonly leaving = new Set<string>();
  readonly #shrinking = new Map<string, Shrinking>();
  /** Nodes that will be selected for an in-place update: their resource version, by name. */
  readonly #selecting = new Map<string, string | undefined>();
  readonly #listeners: ((deploymentUid: string) => void)[] = [];

  readonly isLeaving = ({ metadata }: Machine): boolean => this.leaving.has(metadata.uid);

  /** Records that the set will be written with fewer replicas than the cache shows. */
  shrinks({ metadata, spec }: MachineSet, deploymentUid: string): void {
    const { uid, resourceVersion } = metadata;
    this.#shrinking.set(uid, { replicas: spec.replicas ?? 0, resourceVersion, deployment: deploymentUid });
  }

  /** Returns true if a smaller size of the set was decided and the result is not known yet. */
  isShrinking({ metadata }: MachineSet): boolean {
    const shrinking = this.#shrinking.get(metadata.uid);
    return shrinking !== undefined && shrinking.resourceVersion === metadata.resourceVersion;
  }

  /** Returns the smaller of two numbers: the replicas of the set in the cache, and the replicas that will be written. */
  replicasOf(set: MachineSet): number {
    const replicas = set.spec.replicas ?? 0;
    const shrinking = this.#shrinking.get(set.metadata.uid);
    return shrinking && this.isShrinking(set) ? Math.min(replicas, shrinking.replicas) : replicas;
  }

  /** Removes the record of a set, because the result of the write is known or no write follows. */
  settled(setUid: string): void {
    const shrinking = this.#shrinking.get(setUid);
    if (shrinking === undefined) return;
    this.#shrinking.delete(setUid);
    for (const listener of this.#listeners) listener(shrinking.deployment);
  }

  /** Records that the node will be selected for an in-place update. */
  selects({ metadata }: Node): void {
    this.#selecting.set(metadata.name, metadata.resourceVersion);
  }

  /** Returns true if the selection of the node was sent and the cache does not show the result yet. */
  isSelecting({ metadata }: Node): boolean {
    if (!this.#selecting.has(metadata.name)) return false;
    if (this.#selecting.get(metadata.name) === metadata.resourceVersion) return true;
    this.#selecting.delete(metadata.name);
    return false;
  }

  /** Calls `listener` with the UID of a deployment whose number of started disruptions may have decreased. */
  onSettled(listener: (deploymentUid: string) => void): void {
    this.#listeners.push(listener);
  }
}
