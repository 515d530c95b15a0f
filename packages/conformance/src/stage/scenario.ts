import type { Stage } from './stage.ts';

/** A driver does not do what it must. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** What a scenario cannot be played for. */
export class Skip extends Error {
  override readonly name = 'Skip';
}

/** One thing that a driver must do. */
export interface Scenario {
  readonly name: string;
  /** What a user would suffer from a driver that fails it, one sentence. */
  readonly suffers: string;
  /** @throws Failure, or Skip */
  run(stage: Stage): Promise<void>;
}

/** @throws Failure with the sentence unless the condition holds */
export function expect(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new Failure(sentence);
}
