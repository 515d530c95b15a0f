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
   * The number of machines that may still be disrupted. Rollouts and replacements share this disruption budget. If
   * `free` is absent, only `maxSurge` and `maxUnavailable` limit the in-place update.
   */
  readonly free?: number;
  /**
   * While `repairsFirst` is true, failed machines wait for their replacement and the in-place update selects no node.
   */
  readonly repairsFirst?: boolean;
  /** `stopped` is true if a failed in-place update stops the rollout, so that no machine is updated or deleted. */
  readonly stopped?: boolean;
  /** `manual` is true if users select the machines. */
  readonly manual: boolean;
  readonly nodeOf: (name: string) => Node | undefined;
  readonly postponed?: ReadonlySet<Machine>;
  /** The zones of the deployment and all its machines. If the deployment has no zones, `zones` is absent. */
  readonly zones?: ZoneInput;
}

/** The writes of an in-place update to machines and nodes. Each write is idempotent. */
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
