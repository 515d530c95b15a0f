import type { Machine } from '@mcm/api';
import type { ClosedBudget } from '../rollout/windows/state.ts';
import type { OpenBreaker } from './unreachable.ts';

/** Settings and states outside of a deployment that affect decisions about the deployment. */
export interface Guards {
  readonly maxUnhealthyReplacements: number | string;
  readonly countTerminating: boolean;
  /** Feature `RolloutAnnotations`: true if the annotations `rollout.machine.sapcloud.io/…` of deployments are used. */
  readonly rolloutAnnotations: boolean;
  /**
   * Returns the open circuit breaker of a machine. The result is undefined if no circuit breaker is open, or if an
   * annotation overrides it.
   */
  readonly breakerOf: (machine: Machine) => OpenBreaker | undefined;
  readonly hasClass: (name: string) => boolean;
  /** The rollout budget of the fleet, if the budget currently stops rollouts. */
  readonly budgetClosed?: ClosedBudget | undefined;
  /** Returns the annotations of a MachineClass, or undefined if they are unknown. */
  readonly classAnnotations?: (
    name: string,
    namespace: string | undefined,
  ) => Readonly<Record<string, string>> | undefined;
}
