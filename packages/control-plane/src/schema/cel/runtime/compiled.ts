import type { SchemaNode } from '../../node.ts';
import { maxSize } from '../cost.ts';
import type { Expr, Literal } from '../syntax/ast.ts';
import { BOOL, BYTES, type CelType, DOUBLE, INT, NULL, STRING, UINT } from '../types.ts';
import { CelRuntimeError, Uint } from './values.ts';

/** The values of variables while an expression runs, and how many steps it may still take. */
export interface Frame {
  readonly slots: unknown[];
  steps: number;
}

/** The step of a plan that makes one value. */
export type Run = (frame: Frame) => unknown;

/** A checked part of an expression, and what is known of its value. */
export interface Compiled {
  readonly type: CelType;
  readonly run: Run;
  /** What it costs at most, by the estimate of cel-go. */
  readonly cost: number;
  /** How many bytes, items or entries the value has at most. */
  readonly size: number;
  /** The schema that the value comes from. */
  readonly node?: SchemaNode | undefined;
}

/** A variable in scope, and the place of its value in a frame. */
export interface Variable {
  readonly name: string;
  readonly slot: number;
  readonly type: CelType;
  readonly node?: SchemaNode | undefined;
  readonly size: number;
}

/** What the parts of an expression are compiled with. */
export interface Scope {
  compile(expr: Expr): Compiled;
  /** Takes down a complaint; what it answers stands in for the part that is wrong. */
  issue(at: number, message: string): Compiled;
  /** Whether an expression may make a structure of this name. */
  readonly messages: (name: string) => boolean;
  /** Compiles with further variables in scope. */
  within<T>(variables: readonly Omit<Variable, 'slot'>[], make: (slots: readonly number[]) => T): T;
}

/** A condition's value. Throws CelRuntimeError if it is none. */
export function truth(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new CelRuntimeError('no such overload');
  return value;
}

/** Whether values of the type have a size that costs depend on. */
export const isSizedType = (type: CelType): boolean => ['string', 'bytes', 'list', 'map', 'dyn'].includes(type.kind);

/** The size that a value has at most, by its schema if there is one. */
export function sizeOf(type: CelType, node: SchemaNode | undefined): number {
  if (node !== undefined) return maxSize(node);
  return isSizedType(type) ? Number.POSITIVE_INFINITY : 1;
}

/** Compiles a literal. */
export function literal(value: Literal): Compiled {
  const fact = (type: CelType, size: number, made: unknown = value): Compiled => ({
    type,
    run: () => made,
    cost: 0,
    size,
  });
  if (value === null) return fact(NULL, 1);
  if (typeof value === 'boolean') return fact(BOOL, 1);
  if (typeof value === 'bigint') return fact(INT, 1);
  if (typeof value === 'number') return fact(DOUBLE, 1);
  if (typeof value === 'string') return fact(STRING, value.length);
  if (value instanceof Uint8Array) return fact(BYTES, value.length);
  return fact(UINT, 1, new Uint(value.uint));
}
