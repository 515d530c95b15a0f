/**
 * Where a value is, `$.storage.files.0.mode`, in parts that whoever walks pushes and pops: it is made a text only for what is
 * wrong, not for each of ten thousand files.
 */
export class Trail {
  readonly parts: (string | number)[] = ['$'];

  toString(): string {
    return this.parts.join('.');
  }
}

/** A path, or where somebody is: both are a text in a template. */
export type At = string | Trail;
