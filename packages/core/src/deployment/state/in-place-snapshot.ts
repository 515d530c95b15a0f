import { Labels, type Machine, type MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { ZoneInput } from '../../zones/spread.ts';
import type { GrowthRule } from './growth.ts';
import type { NodeMark } from './node-marks.ts';

export interface SetWithMachines {
  readonly set: MachineSet;
  readonly machines: readonly Machine[];
}

export interface InPlaceSnapshot extends GrowthRule {
  readonly current: SetWithMachines;
  readonly old: readonly SetWithMachines[];
  readonly surge: number;
  readonly unavailable: number;
  readonly free?: number;
  readonly repairsFirst?: boolean;
  /** Whether a failed in-place update stops the rollout. */
  readonly stopped?: boolean;
  readonly manual: boolean;
  readonly nodeOf: (name: string) => Node | undefined;
  readonly postponed?: ReadonlySet<Machine>;
  readonly zones?: ZoneInput;
}

export interface InPlaceWork {
  readonly machines: readonly { readonly machine: Machine; readonly body: object }[];
  readonly nodes: readonly NodeMark[];
  readonly leftovers?: readonly NodeMark[];
}

export const NO_WORK: InPlaceWork = { machines: [], nodes: [] };

export const replicasOf = ({ set }: SetWithMachines): number => set.spec.replicas ?? 0;
export const replicasOfAll = (sets: readonly SetWithMachines[]): number =>
  sets.reduce((total, set) => total + replicasOf(set), 0);

export const nodeOf = (machine: Machine, o: InPlaceSnapshot): Node | undefined => {
  const name = machine.metadata.labels?.[Labels.Node];
  return name ? o.nodeOf(name) : undefined;
};

export const isSelected = (machine: Machine, o: InPlaceSnapshot): boolean =>
  nodeOf(machine, o)?.metadata.labels?.[Labels.SelectedForUpdate] !== undefined;
