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
  /** The maximum cost of the expression, as in cel-go. */
  readonly cost: number;
  /** The types of the items, for a list literal. */
  readonly parts?: readonly CelType[];
}

/** The position is the position of the value in a frame. */
export interface Variable {
  readonly name: string;
  readonly slot: number;
  readonly type: CelType;
  readonly place?: Place | undefined;
  /** The size that the expression determines, if it is known. A size from `place` takes precedence. */
  readonly size?: Size | undefined;
  readonly entries?: Entries | undefined;
}

export interface Scope {
  compile(expr: Expr): Compiled;
  /** Returns a placeholder for the invalid part of the expression. */
  issue(at: number, message: string): Compiled;
  /**
   * An error about parts of several types is ignored in arguments of `format`, and in expressions with other errors.
   */
  mixed(at: number, message: string): void;
  /** Returns whether an expression may create a structure with this name. */
  readonly messages: (name: string) => boolean;
  /** If a value has no place, kube-apiserver confuses the parts of the value with `self`. */
  below(place: Place | undefined, step: (place: Place) => Place): Place | undefined;
  /** Compiles a part of an expression with additional variables in scope. */
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
