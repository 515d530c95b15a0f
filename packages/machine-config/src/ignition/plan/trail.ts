/**
 * The path of a value, `$.storage.files.0.mode`, in parts that the traversal adds and removes. Only a problem joins the
 * parts, because most of ten thousand files have no problem.
 */
export class Trail {
  readonly parts: (string | number)[] = ['$'];

  toString(): string {
    return this.parts.join('.');
  }
}

/** A path as text, or its parts. A template literal prints both forms as text. */
export type At = string | Trail;
