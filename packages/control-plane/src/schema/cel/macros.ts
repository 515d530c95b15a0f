import { type Compiled, literal, type Scope, sizeOf } from './runtime/compiled.ts';
import { notBool } from './runtime/logic.ts';
import { loop } from './runtime/loop.ts';
import { NONE, Optional } from './runtime/values.ts';
import type { Comprehension, Expr } from './syntax/ast.ts';
import { BOOL, type CelType, DYN, INT, listOf, mapOf, optionalOf, printType } from './types/types.ts';

/** kube-apiserver's cost estimator has no size for the keys of a map, so it counts a key as empty. */
const MAX_KEY = 0;

const PREDICATES = new Set<Comprehension['macro']>(['all', 'exists', 'exists_one']);

/** Compiles `cel.bind(name, value, body)`. */
export function bind(scope: Scope, expr: Extract<Expr, { kind: 'bind' }>): Compiled {
  const value = scope.compile(expr.value);
  return scope.within([{ name: expr.name, type: value.type, node: value.node, size: value.size }], ([slot = 0]) => {
    const body = scope.compile(expr.body);
    return {
      ...body,
      cost: value.cost + body.cost + 1,
      run: (frame) => {
        frame.slots[slot] = value.run(frame);
        return body.run(frame);
      },
    };
  });
}

/** Compiles a macro over the items of a list or a map, or over an optional. */
export function comprehension(scope: Scope, expr: Comprehension): Compiled {
  if (expr.macro === 'optMap' || expr.macro === 'optFlatMap') return optional(scope, expr);
  const range = scope.compile(expr.range);
  const { type } = range;
  if (type.kind !== 'list' && type.kind !== 'map' && type.kind !== 'dyn') {
    const at = expr.range.at;
    return scope.issue(
      at,
      `expression of type '${printType(type)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
    );
  }
  const [first = '_', second] = expr.variables;
  const itemType = type.kind === 'list' ? type.item : type.kind === 'map' ? type.value : DYN;
  const itemNode = range.node?.items ?? range.node?.additional;
  const item = { type: itemType, node: itemNode, size: sizeOf(itemType, itemNode) };
  const keyType = type.kind === 'list' ? INT : type.kind === 'map' ? type.key : DYN;
  const key = { type: keyType, node: undefined, size: MAX_KEY };
  const variables =
    second === undefined
      ? [{ name: first, ...(type.kind === 'map' ? key : item) }]
      : [
          { name: first, ...key },
          { name: second, ...item },
        ];
  return scope.within(variables, (slots) => {
    const args = expr.args.map((arg) => scope.compile(arg));
    const last = args.at(-1);
    const result = resultType(expr, range.type, last?.type ?? DYN);
    checkPredicate(scope, expr, args, result);
    const body = args.reduce((sum, arg) => sum + arg.cost, 0);
    const collects = !PREDICATES.has(expr.macro);
    return {
      type: result,
      cost: range.cost + 1 + range.size * (body + (collects ? 12 : 3)),
      size: collects ? range.size : 1,
      ...(expr.macro === 'filter' ? { node: range.node } : {}),
      run: loop(
        expr,
        range.run,
        slots,
        args.map((arg) => arg.run),
      ),
    };
  });
}

function checkPredicate(scope: Scope, expr: Comprehension, args: readonly Compiled[], result: CelType): void {
  const predicate = PREDICATES.has(expr.macro) || expr.macro === 'filter' || args.length > 1 ? args[0] : undefined;
  if (predicate === undefined || predicate.type.kind === 'bool' || predicate.type.kind === 'dyn') return;
  if (expr.macro === 'exists' || expr.macro === 'all') {
    scope.issue(expr.args[0]?.at ?? expr.at, notBool(predicate.type));
    return;
  }
  const sum = printType(expr.macro === 'exists_one' ? INT : result);
  scope.issue(
    expr.at,
    `found no matching overload for '_?_:_' applied to '(${printType(predicate.type)}, ${sum}, ${sum})'`,
  );
}

function optional(scope: Scope, expr: Comprehension): Compiled {
  const range = scope.compile(expr.range);
  const inner = range.type.kind === 'optional' ? range.type.item : DYN;
  const [name = '_'] = expr.variables;
  const [argument] = expr.args;
  return scope.within([{ name, type: inner, node: range.node, size: range.size }], ([slot = 0]) => {
    const body = argument === undefined ? literal(null) : scope.compile(argument);
    const flat = expr.macro === 'optFlatMap';
    return {
      type: flat ? body.type : optionalOf(body.type),
      cost: range.cost + body.cost + 2,
      size: body.size,
      run: (frame) => {
        const option = range.run(frame);
        if (!(option instanceof Optional) || !option.present) return NONE;
        frame.slots[slot] = option.value;
        const value = body.run(frame);
        return flat ? value : new Optional(true, value);
      },
    };
  });
}

function resultType(expr: Comprehension, range: CelType, body: CelType): CelType {
  switch (expr.macro) {
    case 'map':
    case 'transformList':
      return listOf(body);
    case 'filter':
      return range.kind === 'map' ? listOf(range.key) : range;
    case 'transformMap':
      return mapOf(range.kind === 'map' ? range.key : INT, body);
    case 'transformMapEntry':
      return body.kind === 'map' ? body : mapOf(DYN, DYN);
    default:
      return BOOL;
  }
}
