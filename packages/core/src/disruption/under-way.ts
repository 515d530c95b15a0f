import type { Machine, MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';

/** A set that is about to shrink. */
interface Shrinking {
  readonly replicas: number;
  /** Version of the set at the decision. When it changes, the cache shows the result of the write. */
  readonly resourceVersion: string | undefined;
  readonly deployment: string;
}

/**
 * Decisions that no cache shows yet. Two controllers of one process decide about rollouts and replacements. Each counts
 * what the other has just started, because both would otherwise take the same place of the disruption budget. A new
 * process reads all of it from the server.
 */
export class DisruptionsUnderWay {
  /** UIDs of machines whose deletion was sent. */
  readonly leaving = new Set<string>();
  readonly #shrinking = new Map<string, Shrinking>();
  /** Versions of nodes that are being selected for an update, by name. */
  readonly #selecting = new Map<string, string | undefined>();
  readonly #listeners: ((deploymentUid: string) => void)[] = [];

  readonly isLeaving = ({ metadata }: Machine): boolean => this.leaving.has(metadata.uid);

  /** Records that the set will be written with fewer replicas than are stored. */
  shrinks({ metadata, spec }: MachineSet, deploymentUid: string): void {
    const { uid, resourceVersion } = metadata;
    this.#shrinking.set(uid, { replicas: spec.replicas ?? 0, resourceVersion, deployment: deploymentUid });
  }

  /** True if the set may be about to shrink. */
  isShrinking({ metadata }: MachineSet): boolean {
    const shrinking = this.#shrinking.get(metadata.uid);
    return shrinking !== undefined && shrinking.resourceVersion === metadata.resourceVersion;
  }

  /** The lower of the stored replicas of a set and those that are about to be written. */
  replicasOf(set: MachineSet): number {
    const replicas = set.spec.replicas ?? 0;
    const shrinking = this.#shrinking.get(set.metadata.uid);
    return shrinking && this.isShrinking(set) ? Math.min(replicas, shrinking.replicas) : replicas;
  }

  /** Ends the record: the result of the set's write is known, or no write follows. */
  settled(setUid: string): void {
    const shrinking = this.#shrinking.get(setUid);
    if (shrinking === undefined) return;
    this.#shrinking.delete(setUid);
    for (const listener of this.#listeners) listener(shrinking.deployment);
  }

  /** Records that the node will be selected for an update. */
  selects({ metadata }: Node): void {
    this.#selecting.set(metadata.name, metadata.resourceVersion);
  }

  /** True if the node's selection was sent and the cache does not show the result yet. */
  isSelecting({ metadata }: Node): boolean {
    if (!this.#selecting.has(metadata.name)) return false;
    if (this.#selecting.get(metadata.name) === metadata.resourceVersion) return true;
    this.#selecting.delete(metadata.name);
    return false;
  }

  /** Calls `listener` with the UID of a deployment that may have fewer disruptions in progress than was assumed. */
  onSettled(listener: (deploymentUid: string) => void): void {
    this.#listeners.push(listener);
  }
}
