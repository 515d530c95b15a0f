import type { Machine } from '@mcm/api';
import type { OpenBreaker } from './silence.ts';

/** What the decision about a deployment asks of its surroundings. */
export interface Guards {
  /** `--max-unhealthy-replacements`. */
  readonly maxUnhealthyReplacements: number | string;
  /** `--count-terminating-towards-surge`. */
  readonly countTerminating: boolean;
  /** Feature `RolloutAnnotations`: whether what deployments ask for by `rollout.machine.sapcloud.io/…` is heeded. */
  readonly rolloutAnnotations: boolean;
  /** The open breaker that holds the machine back, unless an operator has overruled it. */
  readonly breakerOf: (machine: Machine) => OpenBreaker | undefined;
  /** Whether there is a MachineClass of the name. */
  readonly hasClass: (name: string) => boolean;
}
