import type { Sized } from '../cost/calls.ts';
import type { Place } from '../cost/place.ts';
import { type Entries, fixed, type Size } from '../cost/size.ts';
import type { Expr, Literal } from '../syntax/ast.ts';
import { BOOL, BYTES, type CelType, DOUBLE, INT, NULL, STRING, UINT } from '../types/types.ts';
import { CelRuntimeError, Uint } from './values.ts';

export interface Frame {
  readonly slots: unknown[];
  steps: number;
}

export type Run = (frame: Frame) => unknown;

export interface Compiled extends Sized {
  readonly run: Run;
  /** The maximum cost of this part of a CEL expression, as in cel-go. */
  readonly cost: number;
  readonly parts?: readonly CelType[];
}

export interface Variable {
  readonly name: string;
  readonly slot: number;
  readonly type: CelType;
  readonly place?: Place | undefined;
  /** The size of the value, if the expression determines it. */
  readonly size?: Size | undefined;
  readonly entries?: Entries | undefined;
}

export interface Scope {
  compile(expr: Expr): Compiled;
  /** Reports an error in the expression, and returns a placeholder for the invalid part. */
  issue(at: number, message: string): Compiled;
  /** Reports a literal whose parts have several types. */
  mixed(at: number, message: string): void;
  /** Returns whether the expression may create a structure with this name. */
  readonly messages: (name: string) => boolean;
  /** Returns `step(place)`, or the place of the root if `place` is undefined. */
  below(place: Place | undefined, step: (place: Place) => Place): Place | undefined;
  /** Compiles a part of an expression that can use additional variables. */
  within<T>(variables: readonly Omit<Variable, 'slot'>[], make: (slots: readonly number[]) => T): T;
}

export function truth(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new CelRuntimeError('no such overload');
  return value;
}

export function literal(value: Literal): Compiled {
  const fact = (type: CelType, size: number, made: unknown = value): Compiled => ({
    type,
    run: () => made,
    cost: 0,
    size: fixed(size),
    literal: value,
  });
  if (value === null) return fact(NULL, 1);
  if (typeof value === 'boolean') return fact(BOOL, 1);
  if (typeof value === 'bigint') return fact(INT, 1);
  if (typeof value === 'number') return fact(DOUBLE, 1);
  if (typeof value === 'string') return fact(STRING, [...value].length);
  if (value instanceof Uint8Array) return fact(BYTES, value.length);
  return fact(UINT, 1, new Uint(value.uint));
}
