import type { SchemaNode } from '../../model/node.ts';
import type { Expr, Literal } from '../syntax/ast.ts';
import { maxSize } from '../types/cost.ts';
import { BOOL, BYTES, type CelType, DOUBLE, INT, NULL, STRING, UINT } from '../types/types.ts';
import { CelRuntimeError, Uint } from './values.ts';

/** The values of variables during an evaluation, and the remaining number of steps. */
export interface Frame {
  readonly slots: unknown[];
  steps: number;
}

/** Computes the value of a part of a plan. */
export type Run = (frame: Frame) => unknown;

/** A checked part of an expression, and the properties of its value. */
export interface Compiled {
  readonly type: CelType;
  readonly run: Run;
  /** The maximum cost of the expression, with the same estimate as cel-go. */
  readonly cost: number;
  /** The maximum number of bytes, items or entries of the value. */
  readonly size: number;
  readonly node?: SchemaNode | undefined;
}

/** A variable in scope, and the position of its value in a frame. */
export interface Variable {
  readonly name: string;
  readonly slot: number;
  readonly type: CelType;
  readonly node?: SchemaNode | undefined;
  readonly size: number;
}

/** The context for the compilation of expressions. */
export interface Scope {
  compile(expr: Expr): Compiled;
  /** Records an error. `issue` returns a placeholder for the invalid part of the expression. */
  issue(at: number, message: string): Compiled;
  /** Whether an expression may create a structure with this name. */
  readonly messages: (name: string) => boolean;
  /** Compiles a part of an expression with more variables in scope. */
  within<T>(variables: readonly Omit<Variable, 'slot'>[], make: (slots: readonly number[]) => T): T;
}

export function truth(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new CelRuntimeError('no such overload');
  return value;
}

/** Whether values of a type have a size that affects costs. */
export const isSizedType = (type: CelType): boolean => ['string', 'bytes', 'list', 'map', 'dyn'].includes(type.kind);

/** The maximum size of a value. If there is a schema, the limits of the schema are used. */
export function sizeOf(type: CelType, node: SchemaNode | undefined): number {
  if (node !== undefined) return maxSize(node);
  return isSizedType(type) ? Number.POSITIVE_INFINITY : 1;
}

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
