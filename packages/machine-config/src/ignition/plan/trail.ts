/**
 */
export class Trail {
  readonly parts: (string | number)[] = ['$'];

  toString(): string {
    return this.parts.join('.');
  }
}

export type At = string | Trail;
