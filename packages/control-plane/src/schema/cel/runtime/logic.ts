import { ONE, union, unionEntries } from '../cost/size.ts';
import type { Expr } from '../syntax/ast.ts';
import { BOOL, type CelType, printType } from '../types/types.ts';
import { join } from '../types/unify.ts';
import { type Compiled, type Run, type Scope, truth } from './compiled.ts';
import { CelRuntimeError } from './values.ts';

/** If one operand determines the result, the operator ignores an error of the other operand. */
const shortCircuit =
  (left: Run, right: Run, decisive: boolean): Run =>
  (frame) => {
    let failure: CelRuntimeError;
    try {
      if (truth(left(frame)) === decisive) return decisive;
      return truth(right(frame));
    } catch (error) {
      if (!(error instanceof CelRuntimeError)) throw error;
      failure = error;
    }
    if (truth(right(frame)) === decisive) return decisive;
    throw failure;
  };

export const notBool = (type: CelType): string => `expected type 'bool' but found '${printType(type)}'`;

export function logic(scope: Scope, expr: Extract<Expr, { kind: 'call' }>): Compiled {
  const [left, right] = expr.args.map((arg) => scope.compile(arg));
  if (left === undefined || right === undefined) return scope.issue(expr.at, 'missing operand');
  for (const [at, side] of [left, right].entries()) {
    if (side.type.kind !== 'bool' && side.type.kind !== 'dyn') {
      return scope.issue(expr.args[at]?.at ?? expr.at, notBool(side.type));
    }
  }
  const decisive = expr.name === '_||_';
  return { type: BOOL, cost: left.cost + right.cost, size: ONE, run: shortCircuit(left.run, right.run, decisive) };
}

/** Plans `condition ? yes : no`. */
export function conditional(scope: Scope, expr: Extract<Expr, { kind: 'call' }>): Compiled {
  const [condition, yes, no] = expr.args.map((arg) => scope.compile(arg));
  if (condition === undefined || yes === undefined || no === undefined) return scope.issue(expr.at, 'missing operand');
  const joined = join(yes.type, no.type);
  const bad = condition.type.kind !== 'bool' && condition.type.kind !== 'dyn';
  if (bad || (joined.kind === 'dyn' && yes.type.kind !== 'dyn' && no.type.kind !== 'dyn')) {
    const types = [condition, yes, no].map((each) => printType(each.type)).join(', ');
    return scope.issue(expr.at, `found no matching overload for '_?_:_' applied to '(${types})'`);
  }
  return {
    type: joined,
    cost: condition.cost + Math.max(yes.cost, no.cost),
    size: union(yes.size, no.size),
    entries: unionEntries(yes.entries, no.entries),
    run: (frame) => (truth(condition.run(frame)) ? yes.run(frame) : no.run(frame)),
  };
}
