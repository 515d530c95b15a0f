import type { CelType } from './types.ts';

/** A signature of a function. For a method, the first parameter is the receiver. */
export interface Overload {
  readonly name: string;
  readonly method: boolean;
  readonly params: readonly CelType[];
  readonly result: CelType;
  readonly call: (args: readonly never[]) => unknown;
}
