import { CelRuntimeError, Duration, isMap, isOpaque, Optional, Timestamp, Uint } from '../runtime/values.ts';
import type { CelType } from '../types/types.ts';

/** A signature of a function. The receiver of a method is its first parameter. */
export interface Overload {
  readonly name: string;
  readonly method: boolean;
  readonly params: readonly CelType[];
  readonly result: CelType;
  readonly call: (args: readonly never[]) => unknown;
}

type Implementation<Args extends readonly unknown[]> = (...args: Args) => unknown;

function define<Args extends readonly unknown[]>(
  name: string,
  method: boolean,
  params: readonly CelType[],
  result: CelType,
  call: Implementation<Args>,
): Overload {
  return { name, method, params, result, call: (args) => call(...(args as unknown as Args)) };
}

/** A global function. The implementation gets values of the parameter types. */
export const fn = <Args extends readonly unknown[]>(
  name: string,
  params: readonly CelType[],
  result: CelType,
  call: Implementation<Args>,
): Overload => define(name, false, params, result, call);

/** A method; the first parameter is the receiver. */
export const method = <Args extends readonly unknown[]>(
  name: string,
  params: readonly CelType[],
  result: CelType,
  call: Implementation<Args>,
): Overload => define(name, true, params, result, call);

/** Whether a value has a type. */
export function isOfType(value: unknown, type: CelType): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'param':
      return true;
    case 'int':
      return typeof value === 'bigint';
    case 'uint':
      return value instanceof Uint;
    case 'double':
      return typeof value === 'number';
    case 'bool':
      return typeof value === 'boolean';
    case 'string':
      return typeof value === 'string';
    case 'bytes':
      return value instanceof Uint8Array;
    case 'null':
      return value === null;
    case 'timestamp':
      return value instanceof Timestamp;
    case 'duration':
      return value instanceof Duration;
    case 'list':
      return Array.isArray(value);
    case 'map':
    case 'object':
      return isMap(value);
    case 'optional':
      return value instanceof Optional;
    case 'opaque':
      return isOpaque(value) && value.opaque === type.name;
    default:
      return isOpaque(value) && value.opaque === 'type';
  }
}

/** Converts an int to a number, for positions in strings and lists. */
export const toIndex = (value: bigint): number => Number(value);

export const fail = (message: string): never => {
  throw new CelRuntimeError(message);
};

const INT_MAX = 2n ** 63n - 1n;
const INT_MIN = -(2n ** 63n);

/** Checks that an int has at most 64 bits. */
export const checkedInt = (value: bigint): bigint =>
  value > INT_MAX || value < INT_MIN ? fail('integer overflow') : value;
