import type { CelType } from './types.ts';

/** A version of a function with its parameter types. */
export interface Overload {
  readonly name: string;
  readonly method: boolean;
  readonly params: readonly CelType[];
  readonly result: CelType;
  readonly call: (args: readonly never[]) => unknown;
}
