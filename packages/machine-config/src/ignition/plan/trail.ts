/**
 * The path of a value, such as `$.storage.files.0.mode`, in parts. The parts are joined only for a problem, because
 * most of ten thousand files have no problem.
 */
export class Trail {
  readonly parts: (string | number)[] = ['$'];

  toString(): string {
    return this.parts.join('.');
  }
}

/** A path as a text or as a {@link Trail}. */
export type At = string | Trail;
