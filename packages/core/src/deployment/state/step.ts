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

/** The actions to execute for a deployment now. All actions of a plan are idempotent. */
export interface RolloutPlan {
  readonly sets: CountedSets;
  readonly write: readonly MachineSet[];
  readonly create: Draft<MachineSet> | undefined;
  readonly remove: readonly MachineSet[];
  readonly rollback: Rollback | undefined;
  readonly revision: number | undefined;
  readonly nodes: NodeMarks;
  readonly inPlace: InPlaceWork;
  readonly condition: ConditionChange | undefined;
  readonly events: readonly PlannedEvent[];
  readonly problems: Problems;
  readonly repairs: RepairPlan;
  /** Whether the progress deadline applies. False while the rollout is paused or the deployment is being scaled. */
  readonly measureProgress: boolean;
  /** The end of the last soak time, at which the progress deadline starts again. */
  readonly soakEnd: Date | undefined;
  readonly lookAgainAt: Date | undefined;
  readonly forgetPause: boolean;
  readonly lastGood: string | undefined;
  readonly standby: string | null | undefined;
  readonly podsSeen: string | null | undefined;
  /** The value of the annotation that lists the zones without capacity. */
  readonly short: string | null | undefined;
  readonly pause: AutomaticPause | undefined;
  readonly unfinished: boolean;
  readonly because: string;
}

export const ROLLOUT_BLOCKED = MachineDeploymentConditions.RolloutBlocked;

export const NO_MARKS: NodeMarks = { taint: [], untaint: [], candidates: [], protect: [], unprotect: [] };

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
    /** The reason why the rollout waits. A condition reports this reason. */
    readonly waits?: { readonly reason: 'NodePostponed' | 'CanaryPodsUnknown' };
    readonly annotate?: readonly string[];
    readonly mark?: ReadonlyMap<string, string | null>;
  };

export const scaledEvent = (name: string, from: number, to: number): PlannedEvent => ({
  type: 'Normal',
  reason: EventReasons.ScalingMachineSet,
  message: `Scaled ${to > from ? 'up' : 'down'} machine set ${name} to ${to}`,
});
