import { Labels, type Machine, type MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { GrowthRule } from './growth.ts';
import type { NodeMark } from './node-marks.ts';

/** A set with the machines that it controls. */
export interface SetWithMachines {
  readonly set: MachineSet;
  readonly machines: readonly Machine[];
}

/** Everything that the decision about an in-place update looks at. */
export interface InPlaceSnapshot extends GrowthRule {
  readonly current: SetWithMachines;
  /** Oldest first. */
  readonly old: readonly SetWithMachines[];
  readonly surge: number;
  readonly unavailable: number;
  /** Places that it may yet take of the budget that it shares with repairs; absent: as many as its own bounds allow. */
  readonly free?: number;
  /** Failed machines wait for their repair: until they have been seen to, no node is selected. */
  readonly repairsFirst?: boolean;
  /** Machines are selected by somebody else. */
  readonly manual: boolean;
  readonly nodeOf: (name: string) => Node | undefined;
}

/** Writes to machines and nodes; each may be repeated without harm. */
export interface InPlaceWork {
  readonly machines: readonly { readonly machine: Machine; readonly body: object }[];
  readonly nodes: readonly NodeMark[];
  /** Nodes of the current template that were selected; told only to a server that knows of no newer template. */
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

/** Whether the machine's node is selected for an update. */
export const isSelected = (machine: Machine, o: InPlaceSnapshot): boolean =>
  nodeOf(machine, o)?.metadata.labels?.[Labels.SelectedForUpdate] !== undefined;
