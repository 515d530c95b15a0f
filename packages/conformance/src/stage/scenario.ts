import type { Stage } from './stage.ts';

/** One requirement for a driver, with its test. */
export interface Scenario {
  readonly name: string;
  /** The impact on users of a driver that fails the scenario, in one sentence. */
  readonly impact: string;
  /** @throws Failure, or Skip */
  run(stage: Stage): Promise<void>;
}
