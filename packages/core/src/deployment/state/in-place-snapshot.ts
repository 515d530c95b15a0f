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
  /**
   * Rollouts and replacements share this disruption budget. Without this number, only `maxSurge` and `maxUnavailable`
   * limit the update.
   */
  readonly free?: number;
  /** True while failed machines wait for their replacement. In this case, the update selects no node. */
  readonly repairsFirst?: boolean;
  /** True if users select the machines. */
  readonly manual: boolean;
  readonly nodeOf: (name: string) => Node | undefined;
  /** Old machines whose nodes postpone their update. */
  readonly postponed?: ReadonlySet<Machine>;
  /** The zones of the deployment and all its machines. Absent without zones. */
  readonly zones?: ZoneInput;
}

/** Writes to machines and nodes. All these writes are idempotent. */
export interface InPlaceWork {
  readonly machines: readonly { readonly machine: Machine; readonly body: object }[];
  readonly nodes: readonly NodeMark[];
  /**
   * Selected nodes with the current template. The deployment on the server may have a newer template, so the
   * controller reads it before it changes these nodes.
   */
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
