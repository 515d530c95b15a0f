import type { Machine } from '@mcm/api';
import type { OpenBreaker } from './unreachable.ts';

/** Settings and state from outside of a deployment that influence decisions about the deployment. */
export interface Guards {
  /** `--max-unhealthy-replacements`. */
  readonly maxUnhealthyReplacements: number | string;
  /** `--count-terminating-towards-surge`. */
  readonly countTerminating: boolean;
  /** Feature `RolloutAnnotations`: true if the annotations `rollout.machine.sapcloud.io/…` of deployments are used. */
  readonly rolloutAnnotations: boolean;
  /**
   * Returns the open circuit breaker that prevents the replacement of the machine. Undefined if no circuit breaker is open,
   * or if an annotation overrides it.
   */
  readonly breakerOf: (machine: Machine) => OpenBreaker | undefined;
  /** Returns true if a MachineClass of the name exists. */
  readonly hasClass: (name: string) => boolean;
  /** Returns the annotations of a MachineClass. Absent or undefined if the annotations are unknown. */
  readonly classAnnotations?: (
    name: string,
    namespace: string | undefined,
  ) => Readonly<Record<string, string>> | undefined;
}
