import type { CelType } from './types.ts';

/** The first parameter of a method is the receiver. */
export interface Overload {
  readonly name: string;
  readonly method: boolean;
  readonly params: readonly CelType[];
  readonly result: CelType;
  readonly call: (args: readonly never[]) => unknown;
}
