import type { Machine, MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';

interface Shrinking {
  readonly replicas: number;
  /** The resource version of the set before the replicas were reduced. */
  readonly resourceVersion: string | undefined;
  readonly deployment: string;
}

/**
 * Records decisions that no cache shows yet. Two controllers of one process decide about rollouts and replacements from
 * the same caches. Without a common record, both controllers could use the same part of the disruption budget.
 */
export class DisruptionsUnderWay {
  readonly leaving = new Set<string>();
  readonly #shrinking = new Map<string, Shrinking>();
  readonly #selecting = new Map<string, string | undefined>();
  readonly #listeners: ((deploymentUid: string) => void)[] = [];

  readonly isLeaving = ({ metadata }: Machine): boolean => this.leaving.has(metadata.uid);

  shrinks({ metadata, spec }: MachineSet, deploymentUid: string): void {
    const { uid, resourceVersion } = metadata;
    this.#shrinking.set(uid, { replicas: spec.replicas ?? 0, resourceVersion, deployment: deploymentUid });
  }

  isShrinking({ metadata }: MachineSet): boolean {
    const shrinking = this.#shrinking.get(metadata.uid);
    return shrinking !== undefined && shrinking.resourceVersion === metadata.resourceVersion;
  }

  replicasOf(set: MachineSet): number {
    const replicas = set.spec.replicas ?? 0;
    const shrinking = this.#shrinking.get(set.metadata.uid);
    return shrinking && this.isShrinking(set) ? Math.min(replicas, shrinking.replicas) : replicas;
  }

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

  /** Calls the listener with the UID of a deployment when a disruption of the deployment may have ended. */
  onSettled(listener: (deploymentUid: string) => void): void {
    this.#listeners.push(listener);
  }
}
