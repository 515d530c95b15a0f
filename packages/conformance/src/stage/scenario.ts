import type { Stage } from './stage.ts';

/** One requirement for a driver, with its test. */
export interface Scenario {
  readonly name: string;
  readonly impact: string;
  /** @throws Failure, or Skip */
  run(stage: Stage): Promise<void>;
}
