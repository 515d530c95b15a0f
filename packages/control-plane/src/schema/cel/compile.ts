import type { SchemaNode } from '../model/node.ts';
import { list, map, message } from './aggregates.ts';
import { callFacts } from './cost/calls.ts';
import { fieldPlace, type Place, placeOf, sizeAt, valuePlace } from './cost/place.ts';
import { fixed, ONE } from './cost/size.ts';
import { overloadsOf } from './lib/index.ts';
import { typeValue } from './lib/standard.ts';
import { literalIssue } from './literals.ts';
import { bind, comprehension } from './macros.ts';
import { type Compiled, literal, type Scope, type Variable } from './runtime/compiled.ts';
import { invocation } from './runtime/invocation.ts';
import { conditional, logic } from './runtime/logic.ts';
import { CelRuntimeError, isMap, NONE, Optional } from './runtime/values.ts';
import { CelCompileError, type CelIssue, type Expr } from './syntax/ast.ts';
import { parseCel } from './syntax/parser.ts';
import type { Overload } from './types/overload.ts';
import { BOOL, type CelType, DYN, fieldOf, optionalOf, printType, TYPE } from './types/types.ts';
import { type Candidate, candidates, join } from './types/unify.ts';

export interface Declaration {
  readonly name: string;
  readonly type: CelType;
  readonly node?: SchemaNode | undefined;
}

export interface Program {
  readonly type: CelType;
  readonly cost: number;
  readonly uses: ReadonlySet<string>;
  /** @throws CelRuntimeError if the evaluation fails */
  run(values: readonly unknown[]): unknown;
}

const MAX_STEPS = 1_000_000;

const TYPE_NAMES = new Set([
  'int',
  'uint',
  'double',
  'bool',
  'string',
  'bytes',
  'list',
  'map',
  'null_type',
  'type',
  'google.protobuf.Timestamp',
  'google.protobuf.Duration',
]);

const noSuchKey = (key: unknown): never => {
  throw new CelRuntimeError(`no such key: ${String(key)}`);
};

class Compiler implements Scope {
  readonly issues: CelIssue[] = [];
  /** The checks of literals. The compiler runs these checks only if the expression has no other errors. */
  readonly literalChecks: (() => CelIssue | undefined)[] = [];
  private formats = 0;
  readonly uses = new Set<string>();
  private readonly declared: ReadonlySet<string>;
  private scope: Variable[];
  private slots: number;
  private readonly root: Place | undefined;

  readonly messages: (name: string) => boolean;

  constructor(declarations: readonly Declaration[], messages: (name: string) => boolean) {
    this.messages = messages;
    this.scope = declarations.map(({ name, type, node }, slot) => {
      const isResource = type.kind === 'object' && type.isResource;
      return { name, type, slot, place: node === undefined ? undefined : placeOf(node, isResource) };
    });
    this.root = this.scope.find(({ place }) => place !== undefined)?.place;
    this.declared = new Set(declarations.map((each) => each.name));
    this.slots = declarations.length;
  }

  compile(expr: Expr): Compiled {
    switch (expr.kind) {
      case 'literal':
        return literal(expr.value);
      case 'ident':
        return this.ident(expr.name, expr.at);
      case 'select':
        return this.select(expr.operand, expr.field, expr.optional, expr.at);
      case 'has':
        return this.has(expr.operand, expr.field, expr.at);
      case 'list':
        return list(this, expr);
      case 'map':
        return map(this, expr);
      case 'message':
        return message(this, expr);
      case 'bind':
        return bind(this, expr);
      case 'comprehension':
        return comprehension(this, expr);
      default:
        return this.call(expr);
    }
  }

  issue(at: number, message: string): Compiled {
    this.issues.push({ at, message });
    return { type: DYN, run: () => null, cost: 0, size: fixed(0) };
  }

  mixed(at: number, message: string): void {
    if (this.formats === 0) this.literalChecks.push(() => ({ at, message }));
  }

  below(place: Place | undefined, step: (place: Place) => Place): Place | undefined {
    return place === undefined ? this.root : step(place);
  }

  private find(name: string): Variable | undefined {
    return this.scope.findLast((variable) => variable.name === name);
  }

  private ident(name: string, at: number): Compiled {
    const variable = this.find(name);
    if (variable !== undefined) {
      if (this.declared.has(name)) this.uses.add(name);
      const { slot } = variable;
      return {
        type: variable.type,
        run: (frame) => frame.slots[slot],
        cost: 1,
        size: sizeAt(variable.type, variable.place, variable.size),
        entries: variable.entries,
        place: variable.place,
      };
    }
    if (TYPE_NAMES.has(name)) {
      const value = typeValue(name);
      return { type: TYPE, run: () => value, cost: 1, size: sizeAt(TYPE, this.root), place: this.root };
    }
    return this.issue(at, `undeclared reference to '${name}' (in container '')`);
  }

  private fieldType(type: CelType, field: string, at: number): CelType | undefined {
    switch (type.kind) {
      case 'dyn':
        return DYN;
      case 'map':
        return type.value;
      case 'object': {
        const found = fieldOf(type, field);
        if (found === undefined) this.issue(at, `undefined field '${field}'`);
        return found;
      }
      case 'optional': {
        const inner = this.fieldType(type.item, field, at);
        return inner === undefined ? undefined : optionalOf(inner);
      }
      default:
        this.issue(at, `type '${printType(type)}' does not support field selection`);
        return undefined;
    }
  }

  private select(operandExpr: Expr, field: string, optional: boolean, at: number): Compiled {
    if (operandExpr.kind === 'ident' && this.find(operandExpr.name) === undefined) {
      const name = `${operandExpr.name}.${field}`;
      if (TYPE_NAMES.has(name)) return this.ident(name, at);
    }
    // The name of a variable may contain a dot, as in `authorizer.requestResource`.
    if (operandExpr.kind === 'ident' && this.find(`${operandExpr.name}.${field}`) !== undefined) {
      return this.ident(`${operandExpr.name}.${field}`, at);
    }
    const operand = this.compile(operandExpr);
    const type = this.fieldType(operand.type, field, at);
    if (type === undefined) return { type: DYN, run: () => null, cost: 0, size: fixed(0) };
    const { run } = operand;
    const get = (value: unknown): unknown =>
      isMap(value) ? (value.has(field) ? value.get(field) : noSuchKey(field)) : noSuchKey(field);
    const maybe = (value: unknown): Optional =>
      isMap(value) && value.has(field) ? new Optional(true, value.get(field)) : NONE;
    const isOptional = operand.type.kind === 'optional';
    if (optional || isOptional) {
      const made = isOptional ? type : optionalOf(type);
      // As in cel-go, the cost estimate of an optional selection is the estimate of a function call.
      const facts = optional
        ? { cost: operand.cost + 1, size: sizeAt(made, undefined) }
        : this.selected(operand, made, field);
      return {
        ...facts,
        type: made,
        run: (frame) => {
          const value = run(frame);
          if (!(value instanceof Optional)) return maybe(value);
          return value.present ? maybe(value.value) : NONE;
        },
      };
    }
    return {
      ...this.selected(operand, type, field),
      type,
      run: (frame) => {
        const value = run(frame);
        if (value instanceof Optional) return value.present ? maybe(value.value) : NONE;
        return get(value);
      },
    };
  }

  private selected(operand: Compiled, type: CelType, field: string): Pick<Compiled, 'cost' | 'size' | 'place'> {
    const place = this.below(operand.place, (at) => fieldPlace(at, field));
    const reads = operand.type.kind === 'object' || operand.type.kind === 'map';
    return { cost: operand.cost + (reads ? 1 : 0), size: sizeAt(type, place), place };
  }

  private has(operandExpr: Expr, field: string, at: number): Compiled {
    const operand = this.compile(operandExpr);
    this.fieldType(operand.type, field, at);
    const { run } = operand;
    return {
      type: BOOL,
      cost: operand.cost,
      size: ONE,
      run: (frame) => {
        const value = run(frame);
        if (value instanceof Optional) return value.present && isMap(value.value) && value.value.has(field);
        return isMap(value) && value.has(field);
      },
    };
  }

  within<T>(variables: readonly Omit<Variable, 'slot'>[], make: (slots: readonly number[]) => T): T {
    const outer = this.scope;
    const added = variables.map((variable) => ({ ...variable, slot: this.slots++ }));
    this.scope = [...outer, ...added];
    const made = make(added.map((variable) => variable.slot));
    this.scope = outer;
    return made;
  }

  private call(expr: Extract<Expr, { kind: 'call' }>): Compiled {
    const { name, target } = expr;
    if (name === '_&&_' || name === '_||_') return logic(this, expr);
    if (name === '_?_:_') return conditional(this, expr);
    if (target?.kind === 'ident' && this.find(target.name) === undefined) {
      const overloads = overloadsOf(`${target.name}.${name}`, false);
      if (overloads !== undefined) return this.invoke(`${target.name}.${name}`, overloads, expr.args, expr.at);
    }
    const overloads = overloadsOf(name, target !== undefined);
    if (overloads === undefined) {
      for (const arg of target === undefined ? expr.args : [target, ...expr.args]) this.compile(arg);
      return this.issue(expr.at, `undeclared reference to '${name}' (in container '')`);
    }
    return this.invoke(
      name,
      overloads,
      target === undefined ? expr.args : [target, ...expr.args],
      expr.at,
      target !== undefined,
    );
  }

  private invoke(
    name: string,
    overloads: readonly Overload[],
    exprs: readonly Expr[],
    at: number,
    method = false,
  ): Compiled {
    const depth = name === 'format' ? 1 : 0;
    this.formats += depth;
    const args = exprs.map((arg) => this.compile(arg));
    this.formats -= depth;
    const fits = candidates(
      overloads,
      args.map((arg) => arg.type),
    );
    const [first] = fits;
    if (first === undefined) {
      if (this.issues.length > 0 && args.some((arg) => arg.type.kind === 'dyn')) return this.issue(at, '');
      const types = args.map((arg) => printType(arg.type));
      const signature = method ? `${types[0]}.(${types.slice(1).join(', ')})` : `(${types.join(', ')})`;
      return this.issue(at, `found no matching overload for '${name}' applied to '${signature}'`);
    }
    this.literalChecks.push(() => literalIssue({ name, isMethod: method, at, overload: first.overload, args, exprs }));
    const type = fits.reduce((joined, fit) => join(joined, fit.result), first.result);
    return {
      type,
      ...this.called(name, method, fits, args, type),
      run: invocation(
        fits.map((fit) => fit.overload),
        args,
      ),
    };
  }

  private called(
    name: string,
    method: boolean,
    fits: readonly Candidate[],
    args: readonly Compiled[],
    type: CelType,
  ): Omit<Compiled, 'type' | 'run'> {
    const cost = args.reduce((sum, arg) => sum + arg.cost, 0);
    const [first] = args;
    if (name === 'dyn' && first !== undefined) return { cost: cost + 1, size: first.size, entries: first.entries };
    if (name === '_[_]' && first !== undefined && first.type.kind !== 'optional') {
      const place = this.below(first.place, valuePlace);
      return { cost: cost + 1, size: first.entries?.value ?? sizeAt(type, place), place };
    }
    const overloads = fits.map(({ overload }) => overload);
    const facts = callFacts(name, method, overloads, args);
    return { cost: cost + facts.cost, size: facts.size ?? sizeAt(type, undefined), entries: facts.entries };
  }
}

/**
 * Parses and checks a CEL expression, and prepares its evaluation.
 * @param messages the names of the structures that the expression may create
 * @throws CelCompileError with all errors, in the format of cel-go
 */
export function compileCel(
  source: string,
  declarations: readonly Declaration[],
  messages: (name: string) => boolean = () => false,
): Program {
  const compiler = new Compiler(declarations, messages);
  const compiled = compiler.compile(parseCel(source));
  const errors = compiler.issues.filter((issue) => issue.message !== '');
  const found = errors.length > 0 ? errors : compiler.literalChecks.flatMap((check) => check() ?? []);
  const issues = found.toSorted((a, b) => a.at - b.at);
  if (issues.length > 0) throw new CelCompileError(source, issues);
  return {
    type: compiled.type,
    cost: compiled.cost,
    uses: compiler.uses,
    run: (values) => compiled.run({ slots: [...values], steps: MAX_STEPS }),
  };
}
