import { Labels, type Machine, type MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { GrowthRule } from './growth.ts';
import type { NodeMark } from './node-marks.ts';

/** A set with its machines. */
export interface SetWithMachines {
  readonly set: MachineSet;
  readonly machines: readonly Machine[];
}

/** The observed state that decides about an in-place update. */
export interface InPlaceSnapshot extends GrowthRule {
  readonly current: SetWithMachines;
  /** The old sets, the oldest first. */
  readonly old: readonly SetWithMachines[];
  readonly surge: number;
  readonly unavailable: number;
  /**
   * Number of machines that the rollout may still disrupt. Rollouts and replacements share this disruption budget. If
   * absent, only the bounds of the rollout apply.
   */
  readonly free?: number;
  /** True while failed machines wait for their replacement. While it is true, no node is selected. */
  readonly repairsFirst?: boolean;
  /** True if users select the machines. */
  readonly manual: boolean;
  readonly nodeOf: (name: string) => Node | undefined;
  /** Old machines whose nodes postpone their update. If absent, no node postpones it. */
  readonly postponed?: ReadonlySet<Machine>;
}

/** Writes to machines and nodes. All these writes are idempotent. */
export interface InPlaceWork {
  readonly machines: readonly { readonly machine: Machine; readonly body: object }[];
  readonly nodes: readonly NodeMark[];
  /**
   * Nodes that are selected but have the current template. The controller changes them only after it reads the deployment
   * from the server, which may already have a newer template.
   */
  readonly leftovers?: readonly NodeMark[];
}

export const NO_WORK: InPlaceWork = { machines: [], nodes: [] };

/** `spec.replicas` of a set. */
export const replicasOf = ({ set }: SetWithMachines): number => set.spec.replicas ?? 0;
/** Replicas of several sets. */
export const replicasOfAll = (sets: readonly SetWithMachines[]): number =>
  sets.reduce((total, set) => total + replicasOf(set), 0);

/** Returns the node of a machine, if the cache contains the node. */
export const nodeOf = (machine: Machine, o: InPlaceSnapshot): Node | undefined => {
  const name = machine.metadata.labels?.[Labels.Node];
  return name ? o.nodeOf(name) : undefined;
};

/** Returns true if the node of the machine is selected for an update. */
export const isSelected = (machine: Machine, o: InPlaceSnapshot): boolean =>
  nodeOf(machine, o)?.metadata.labels?.[Labels.SelectedForUpdate] !== undefined;
