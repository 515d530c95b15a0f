import type { Stage } from './stage.ts';

/** One thing that a driver must do. */
export interface Scenario {
  readonly name: string;
  /** The impact on users if a driver fails the scenario, one sentence. */
  readonly suffers: string;
  /** @throws Failure, or Skip */
  run(stage: Stage): Promise<void>;
}
