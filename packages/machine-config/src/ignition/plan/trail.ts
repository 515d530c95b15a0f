/**
 * The path of a value, `$.storage.files.0.mode`, in parts that the traversal pushes and pops. It becomes a text only for a problem, not for each of
 * ten thousand files.
 */
export class Trail {
  readonly parts: (string | number)[] = ['$'];

  toString(): string {
    return this.parts.join('.');
  }
}

/** A path as a text or a trail. Templates print both as a text. */
export type At = string | Trail;
