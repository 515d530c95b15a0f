import { EventReasons, MachineDeploymentConditions, type MachineSet } from '@mcm/api';
import type { Draft } from '@mcm/kube';
import type { RepairPlan } from '../../disruption/repairs.ts';
import type { ConditionChange } from '../../objects/conditions.ts';
import type { AutomaticPause } from '../../rollout/rollout-gate.ts';
import type { InPlaceWork } from './in-place-snapshot.ts';
import type { NodeMarks } from './node-marks.ts';
import type { Problems } from './problems.ts';
import type { PlannedEvent, Rollback } from './rollback.ts';
import type { Resize } from './size.ts';
import type { CountedSets } from './status.ts';

/** The actions to execute for a deployment now. All actions are idempotent. */
export interface RolloutPlan {
  readonly sets: CountedSets;
  /** Sets to write, with their new content. */
  readonly write: readonly MachineSet[];
  readonly create: Draft<MachineSet> | undefined;
  readonly remove: readonly MachineSet[];
  readonly rollback: Rollback | undefined;
  /** The revision number that the deployment should have. */
  readonly revision: number | undefined;
  readonly nodes: NodeMarks;
  /** Writes of an in-place update, in addition to the new sizes. */
  readonly inPlace: InPlaceWork;
  /** A condition that this step sets. */
  readonly condition: ConditionChange | undefined;
  readonly events: readonly PlannedEvent[];
  /**
   * Conditions that only mcm uses, for the problems of the deployment, and their events. A condition stays as long as its
   * problem exists.
   */
  readonly problems: Problems;
  /** The failed machines to replace now, and the used part of the disruption budget. */
  readonly repairs: RepairPlan;
  /**
   * True if the progress deadline applies. The deadline does not apply while the rollout is paused or the deployment is
   * scaled.
   */
  readonly measureProgress: boolean;
  /** Time of the next reconcile if no event causes one earlier. */
  readonly lookAgainAt: Date | undefined;
  /** True if the recorded reason of a former pause must be removed from the deployment. */
  readonly forgetPause: boolean;
  /** The set to record as the last good set. Undefined if the record does not change. */
  readonly lastGood: string | undefined;
  /** The annotation with the zones on standby: null removes it, undefined keeps it. */
  readonly standby: string | null | undefined;
  /** The automatic pause of the rollout. Undefined if the rollout continues. */
  readonly pause: AutomaticPause | undefined;
  /** The reason for this step, as a sentence. */
  readonly because: string;
}

/** Type of the condition that reports why a rollout is blocked. */
export const ROLLOUT_BLOCKED = MachineDeploymentConditions.RolloutBlocked;

export const NO_MARKS: NodeMarks = { taint: [], untaint: [], candidates: [], protect: [], unprotect: [] };

/** The result of one step. The plan is built from it. */
export type Step = Pick<RolloutPlan, 'because'> &
  Partial<
    Pick<
      RolloutPlan,
      | 'create'
      | 'remove'
      | 'rollback'
      | 'nodes'
      | 'inPlace'
      | 'condition'
      | 'events'
      | 'measureProgress'
      | 'lookAgainAt'
      | 'pause'
    >
  > & {
    readonly resize?: Resize;
    /** The rollout waits, although the deployment has no problem. A condition reports the reason. */
    readonly waits?: { readonly reason: 'NodePostponed' };
    /** Names of sets whose scale annotations are written even if their size stays the same. */
    readonly annotate?: readonly string[];
    /** The PreferNoSchedule annotation of sets, by the name of the set. The value null removes it. */
    readonly mark?: ReadonlyMap<string, string | null>;
  };

export const scaledEvent = (name: string, from: number, to: number): PlannedEvent => ({
  type: 'Normal',
  reason: EventReasons.ScalingMachineSet,
  message: `Scaled ${to > from ? 'up' : 'down'} machine set ${name} to ${to}`,
});
