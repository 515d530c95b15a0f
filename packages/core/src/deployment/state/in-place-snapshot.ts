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
  /** Oldest first. */
  readonly old: readonly SetWithMachines[];
  readonly surge: number;
  readonly unavailable: number;
  /**
   * Number of disruptions that the rollout may still use. Rollouts and repairs share this disruption budget. If absent, only
   * the bounds of the rollout apply.
   */
  readonly free?: number;
  /** True while failed machines wait for their replacement. In this time, no node is selected. */
  readonly repairsFirst?: boolean;
  /** True if users select the machines. */
  readonly manual: boolean;
  readonly nodeOf: (name: string) => Node | undefined;
  /** Old machines whose nodes postpone their update. Absent: none. */
  readonly postponed?: ReadonlySet<Machine>;
}

/** Writes to machines and nodes. All of them are idempotent. */
export interface InPlaceWork {
  readonly machines: readonly { readonly machine: Machine; readonly body: object }[];
  readonly nodes: readonly NodeMark[];
  /**
   * Nodes that are selected but have the current template. They are written only after a live read, because the server may
   * already have a newer template.
   */
  readonly leftovers?: readonly NodeMark[];
}

export const NO_WORK: InPlaceWork = { machines: [], nodes: [] };

/** `spec.replicas` of a set. */
export const replicasOf = ({ set }: SetWithMachines): number => set.spec.replicas ?? 0;
/** Replicas of several sets. */
export const replicasOfAll = (sets: readonly SetWithMachines[]): number =>
  sets.reduce((total, set) => total + replicasOf(set), 0);

/** The node of a machine, if the cache has it. */
export const nodeOf = (machine: Machine, o: InPlaceSnapshot): Node | undefined => {
  const name = machine.metadata.labels?.[Labels.Node];
  return name ? o.nodeOf(name) : undefined;
};

/** Returns true if the node of the machine is selected for an update. */
export const isSelected = (machine: Machine, o: InPlaceSnapshot): boolean =>
  nodeOf(machine, o)?.metadata.labels?.[Labels.SelectedForUpdate] !== undefined;
