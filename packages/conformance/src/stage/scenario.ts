import type { Stage } from './stage.ts';

/** One thing that a driver must do. */
export interface Scenario {
  readonly name: string;
  /** What a user would suffer from a driver that fails it, one sentence. */
  readonly suffers: string;
  /** @throws Failure, or Skip */
  run(stage: Stage): Promise<void>;
}
