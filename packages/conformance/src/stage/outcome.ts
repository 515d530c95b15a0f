/** A driver does not do what it must. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** What a scenario cannot be played for. */
export class Skip extends Error {
  override readonly name = 'Skip';
}

/** @throws Failure with the sentence unless the condition holds */
export function expect(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new Failure(sentence);
}
