import type { Machine } from '@mcm/api';
import type { ClosedBudget } from '../rollout/windows/state.ts';
import type { OpenBreaker } from './unreachable.ts';

/** Settings and states that affect the decisions about a deployment, but that are not part of the deployment. */
export interface Guards {
  readonly maxUnhealthyReplacements: number | string;
  readonly countTerminating: boolean;
  readonly rolloutAnnotations: boolean;
  /** Returns the open circuit breaker of a machine, or undefined if an annotation overrides the circuit breaker. */
  readonly breakerOf: (machine: Machine) => OpenBreaker | undefined;
  readonly hasClass: (name: string) => boolean;
  readonly budgetClosed?: ClosedBudget | undefined;
  /** Returns the annotations of a MachineClass, or undefined if they are unknown. */
  readonly classAnnotations?: (
    name: string,
    namespace: string | undefined,
  ) => Readonly<Record<string, string>> | undefined;
}
