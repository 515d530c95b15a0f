import type { Machine } from '@mcm/api';
import type { OpenBreaker } from './unreachable.ts';

/** Settings and state outside a deployment that its decisions need. */
export interface Guards {
  /** `--max-unhealthy-replacements`. */
  readonly maxUnhealthyReplacements: number | string;
  /** `--count-terminating-towards-surge`. */
  readonly countTerminating: boolean;
  /** Feature `RolloutAnnotations`: true if the annotations `rollout.machine.sapcloud.io/…` of deployments have effect. */
  readonly rolloutAnnotations: boolean;
  /** The open circuit breaker that prevents the replacement of the machine, unless an annotation overrides it. */
  readonly breakerOf: (machine: Machine) => OpenBreaker | undefined;
  /** True if a MachineClass of the name exists. */
  readonly hasClass: (name: string) => boolean;
  /** The annotations of a MachineClass; absent, or undefined: none are known. */
  readonly classAnnotations?: (
    name: string,
    namespace: string | undefined,
  ) => Readonly<Record<string, string>> | undefined;
}
