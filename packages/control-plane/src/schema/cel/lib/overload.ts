import { CelRuntimeError } from '../runtime/values.ts';
import type { Overload } from '../types/overload.ts';
import type { CelType } from '../types/types.ts';

export type { Overload };

type Implementation<Args extends readonly unknown[]> = (...args: Args) => unknown;

function define<Args extends readonly unknown[]>(
  name: string,
  method: boolean,
  params: readonly CelType[],
  result: CelType,
  call: Implementation<Args>,
): Overload {
  return { name, method, params, result, call: (args) => call(...(args as readonly unknown[] as Args)) };
}

/** Defines a function. The implementation of the function gets values of the parameter types. */
export const fn = <Args extends readonly unknown[]>(
  name: string,
  params: readonly CelType[],
  result: CelType,
  call: Implementation<Args>,
): Overload => define(name, false, params, result, call);

export const method = <Args extends readonly unknown[]>(
  name: string,
  params: readonly CelType[],
  result: CelType,
  call: Implementation<Args>,
): Overload => define(name, true, params, result, call);

export const toIndex = (value: bigint): number => Number(value);

export const fail = (message: string): never => {
  throw new CelRuntimeError(message);
};

const INT_MAX = 2n ** 63n - 1n;
const INT_MIN = -(2n ** 63n);

export const checkedInt = (value: bigint): bigint =>
  value > INT_MAX || value < INT_MIN ? fail('integer overflow') : value;
