import { BIND_COST, loopFacts, optionalCost } from './cost/loops.ts';
import { keyPlace, sizeAt, valuePlace } from './cost/place.ts';
import { union } from './cost/size.ts';
import { type Compiled, literal, type Scope } from './runtime/compiled.ts';
import { notBool } from './runtime/logic.ts';
import { loop } from './runtime/loop.ts';
import { NONE, Optional } from './runtime/values.ts';
import type { Comprehension, Expr } from './syntax/ast.ts';
import { BOOL, type CelType, DYN, INT, listOf, mapOf, optionalOf, printType } from './types/types.ts';

const PREDICATES = new Set<Comprehension['macro']>(['all', 'exists', 'exists_one']);

/** Compiles a part of `sortBy`, which needs an additional variable. */
export function bind(scope: Scope, expr: Extract<Expr, { kind: 'bind' }>): Compiled {
  const value = scope.compile(expr.value);
  const { type, place, size, entries } = value;
  return scope.within([{ name: expr.name, type, place, size, entries }], ([slot = 0]) => {
    const body = scope.compile(expr.body);
    return {
      ...body,
      cost: value.cost + body.cost + BIND_COST,
      run: (frame) => {
        frame.slots[slot] = value.run(frame);
        return body.run(frame);
      },
    };
  });
}

export function comprehension(scope: Scope, expr: Comprehension): Compiled {
  const { macro } = expr;
  if (macro === 'optMap' || macro === 'optFlatMap') return optional(scope, expr);
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
  const { entries } = range;
  const item = { type: itemType, place: scope.below(range.place, valuePlace), size: entries?.value };
  const keyType = type.kind === 'list' ? INT : type.kind === 'map' ? type.key : DYN;
  const key = { type: keyType, place: scope.below(range.place, keyPlace), size: entries?.key };
  // For a dynamic value, cel-go uses the keys if a macro has a single variable.
  const isList = entries?.isList ?? type.kind === 'list';
  const single = isList ? item : { ...key, type: type.kind === 'map' ? keyType : itemType };
  const one = { name: first, ...(second === undefined ? single : key) };
  const variables = second === undefined ? [one] : [one, { name: second, ...item }];
  return scope.within(variables, (slots) => {
    const args = expr.args.map((arg) => scope.compile(arg));
    const last = args.at(-1);
    const result = resultType(expr, range.type, last?.type ?? DYN);
    checkPredicate(scope, expr, args, result);
    return {
      type: result,
      ...loopFacts(macro, range, args, sizeAt(one.type, one.place, one.size)),
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
  return scope.within([{ name, type: inner }], ([slot = 0]) => {
    const body = argument === undefined ? literal(null) : scope.compile(argument);
    const flat = expr.macro === 'optFlatMap';
    const type = flat ? body.type : optionalOf(body.type);
    const size = sizeAt(type, undefined);
    return {
      type,
      cost: optionalCost(flat, range, body),
      size: flat ? union(body.size, size) : size,
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
