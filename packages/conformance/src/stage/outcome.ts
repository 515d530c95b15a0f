/** A driver violates a requirement. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** The reason why a scenario is skipped. */
export class Skip extends Error {
  override readonly name = 'Skip';
}

/** @throws Failure with the sentence unless the condition holds */
export function expect(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new Failure(sentence);
}
