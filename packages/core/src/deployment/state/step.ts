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

/** The actions for a deployment now. Each action may be repeated without harm. */
export interface RolloutPlan {
  readonly sets: CountedSets;
  /** Sets to write, in their new state. */
  readonly write: readonly MachineSet[];
  readonly create: Draft<MachineSet> | undefined;
  readonly remove: readonly MachineSet[];
  readonly rollback: Rollback | undefined;
  /** The revision that the deployment should have. */
  readonly revision: number | undefined;
  readonly nodes: NodeMarks;
  /** Actions of an in-place update in addition to sizes. */
  readonly inPlace: InPlaceWork;
  /** A condition that this step sets. */
  readonly condition: ConditionChange | undefined;
  readonly events: readonly PlannedEvent[];
  /** Problems as conditions of mcm, which stay as long as the problem exists, and their events. */
  readonly problems: Problems;
  /** The failed machines to replace now, and the used part of the disruption budget. */
  readonly repairs: RepairPlan;
  /** Whether progress is measured; not while paused or scaling. */
  readonly measureProgress: boolean;
  /** Time of the next pass if no event comes before. */
  readonly lookAgainAt: Date | undefined;
  /** Remove the note of a former pause. */
  readonly forgetPause: boolean;
  /** The set to record as the last good one; undefined: no change. */
  readonly lastGood: string | undefined;
  /** The rollout pauses itself. */
  readonly pause: AutomaticPause | undefined;
  /** The reason for this step, as a sentence. */
  readonly because: string;
}

/** The condition that reports what blocks a rollout. */
export const ROLLOUT_BLOCKED = MachineDeploymentConditions.RolloutBlocked;

export const NO_MARKS: NodeMarks = { taint: [], untaint: [], candidates: [], protect: [], unprotect: [] };

/** The result of one step, from which the plan is made. */
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
    /** The rollout waits although no problem exists. A condition reports it. */
    readonly waits?: { readonly reason: 'NodePostponed' };
    /** Names of sets whose scale annotations are written even if the size stays. */
    readonly annotate?: readonly string[];
    /** Annotations of sets by name; null removes. */
    readonly mark?: ReadonlyMap<string, string | null>;
  };

export const scaledEvent = (name: string, from: number, to: number): PlannedEvent => ({
  type: 'Normal',
  reason: EventReasons.ScalingMachineSet,
  message: `Scaled ${to > from ? 'up' : 'down'} machine set ${name} to ${to}`,
});
