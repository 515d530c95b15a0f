import type { CelType } from './types.ts';

/** A signature of a function. The receiver of a method is its first parameter. */
export interface Overload {
  readonly name: string;
  readonly method: boolean;
  readonly params: readonly CelType[];
  readonly result: CelType;
  readonly call: (args: readonly never[]) => unknown;
}
