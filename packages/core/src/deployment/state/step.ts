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

/** What is to be done for a deployment now. Everything in it may be done twice without harm. */
export interface RolloutPlan {
  readonly sets: CountedSets;
  /** Sets to write, as they should be. */
  readonly write: readonly MachineSet[];
  readonly create: Draft<MachineSet> | undefined;
  readonly remove: readonly MachineSet[];
  readonly rollback: Rollback | undefined;
  /** The revision that the deployment should carry. */
  readonly revision: number | undefined;
  readonly nodes: NodeMarks;
  /** What an in-place update asks for beyond sizes. */
  readonly inPlace: InPlaceWork;
  /** A condition that this step sets by itself. */
  readonly condition: ConditionChange | undefined;
  readonly events: readonly PlannedEvent[];
  /** What is wrong, as conditions of ours, which stand as long as it is; with the events that say so once. */
  readonly problems: Problems;
  /** Which failed machines are replaced now, and what of the deployment's budget is used up. */
  readonly repairs: RepairPlan;
  /** Whether progress is measured: not while paused or scaling. */
  readonly measureProgress: boolean;
  /** When to look again though nothing has happened. */
  readonly lookAgainAt: Date | undefined;
  /** The note of a former pause has served. */
  readonly forgetPause: boolean;
  /** The set to note as the last good one; undefined: the note stays. */
  readonly lastGood: string | undefined;
  /** The rollout pauses itself. */
  readonly pause: AutomaticPause | undefined;
  /** Why it is this step, as a sentence. */
  readonly because: string;
}

/** Condition that says what keeps a rollout from going on. */
export const ROLLOUT_BLOCKED = MachineDeploymentConditions.RolloutBlocked;

export const NO_MARKS: NodeMarks = { taint: [], untaint: [], candidates: [], protect: [], unprotect: [] };

/** What one step decides; the plan is it and what follows from it. */
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
