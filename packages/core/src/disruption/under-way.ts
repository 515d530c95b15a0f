import type { Machine, MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';

/** A set that is about to be made smaller. */
interface Shrinking {
  readonly replicas: number;
  /** Of the set as it was when that was decided: once it is another one, the cache shows what came of it. */
  readonly resourceVersion: string | undefined;
  readonly deployment: string;
}

/**
 * What has been decided and what no cache shows yet. Rollout and repair are decided by two controllers of one process;
 * each counts what the other has just begun, or both would take the same place of the budget. All of it is read again
 * from the server by whoever starts anew.
 */
export class DisruptionsUnderWay {
  /** UIDs of machines whose deletion was sent. */
  readonly leaving = new Set<string>();
  readonly #shrinking = new Map<string, Shrinking>();
  /** Versions of nodes that are being selected for an update, by name. */
  readonly #selecting = new Map<string, string | undefined>();
  readonly #listeners: ((deploymentUid: string) => void)[] = [];

  readonly isLeaving = ({ metadata }: Machine): boolean => this.leaving.has(metadata.uid);

  /** The set is going to be written with fewer replicas than it is stored with. */
  shrinks({ metadata, spec }: MachineSet, deploymentUid: string): void {
    const { uid, resourceVersion } = metadata;
    this.#shrinking.set(uid, { replicas: spec.replicas ?? 0, resourceVersion, deployment: deploymentUid });
  }

  /** Whether the set may be about to shrink. */
  isShrinking({ metadata }: MachineSet): boolean {
    const shrinking = this.#shrinking.get(metadata.uid);
    return shrinking !== undefined && shrinking.resourceVersion === metadata.resourceVersion;
  }

  /** What a set will have at least: its replicas, or what it is about to get. */
  replicasOf(set: MachineSet): number {
    const replicas = set.spec.replicas ?? 0;
    const shrinking = this.#shrinking.get(set.metadata.uid);
    return shrinking && this.isShrinking(set) ? Math.min(replicas, shrinking.replicas) : replicas;
  }

  /** It is known what came of the set's write, or there will be none. */
  settled(setUid: string): void {
    const shrinking = this.#shrinking.get(setUid);
    if (shrinking === undefined) return;
    this.#shrinking.delete(setUid);
    for (const listener of this.#listeners) listener(shrinking.deployment);
  }

  /** The node is going to be selected for an update. */
  selects({ metadata }: Node): void {
    this.#selecting.set(metadata.name, metadata.resourceVersion);
  }

  /** Whether the node's selection was sent and the cache does not show what came of it. */
  isSelecting({ metadata }: Node): boolean {
    if (!this.#selecting.has(metadata.name)) return false;
    if (this.#selecting.get(metadata.name) === metadata.resourceVersion) return true;
    this.#selecting.delete(metadata.name);
    return false;
  }

  /** Calls `listener` with the UID of a deployment of which less may be under way than was assumed. */
  onSettled(listener: (deploymentUid: string) => void): void {
    this.#listeners.push(listener);
  }
}
