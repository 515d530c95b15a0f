/** The error if a driver violates the requirement of a scenario. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** Skips a scenario that the driver or its cloud does not support. */
export class Skip extends Error {
  override readonly name = 'Skip';
}

/** @throws Failure with the sentence if the condition is false */
export function expect(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new Failure(sentence);
}
