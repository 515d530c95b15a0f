import { isMutationType } from '../../schema/cel/aggregates.ts';
import { compileCel, type Declaration, type Program } from '../../schema/cel/compile.ts';
import { AUTHORIZER, RESOURCE_CHECK } from '../../schema/cel/lib/authorization.ts';
import { CelRuntimeError, isOpaque, LiteralMap, toCel } from '../../schema/cel/runtime/values.ts';
import { CelCompileError } from '../../schema/cel/syntax/ast.ts';
import { type CelType, DYN } from '../../schema/cel/types/types.ts';

const NAMES = [
  'object',
  'oldObject',
  'request',
  'params',
  'namespaceObject',
  'authorizer',
  'authorizer.requestResource',
  'variables',
] as const;
const TYPES: Partial<Record<(typeof NAMES)[number], CelType>> = {
  authorizer: AUTHORIZER,
  'authorizer.requestResource': RESOURCE_CHECK,
};
const DECLARATIONS: readonly Declaration[] = NAMES.map((name) => ({ name, type: TYPES[name] ?? DYN }));

/**
 * The values of the variables of an expression. The server computes a value only when the expression uses the variable.
 */
export interface Scope {
  readonly object: () => unknown;
  readonly oldObject: () => unknown;
  readonly request: () => unknown;
  readonly params?: () => unknown;
  readonly namespaceObject?: () => unknown;
  readonly authorizer?: () => unknown;
  readonly 'authorizer.requestResource'?: () => unknown;
  readonly variables?: LiteralMap;
}

export type Outcome = { readonly value: unknown } | { readonly error: string; readonly why: string };

export class Expression {
  readonly source: string;
  readonly #program: Program | string;

  constructor(source: string, mutates = false) {
    this.source = source;
    this.#program = compile(source, mutates);
  }

  evaluate(scope: Scope): Outcome {
    const program = this.#program;
    if (typeof program === 'string') {
      const why = `compilation error: ${program}`;
      return { error: why, why };
    }
    const values = NAMES.map((name) => {
      if (!program.uses.has(name)) return undefined;
      if (name === 'variables') return scope.variables ?? new LiteralMap();
      const value = scope[name]?.() ?? null;
      return isOpaque(value) ? value : toCel(value, undefined);
    });
    try {
      return { value: program.run(values) };
    } catch (error) {
      if (!(error instanceof CelRuntimeError)) throw error;
      return { error: `expression '${this.source}' resulted in error: ${error.message}`, why: error.message };
    }
  }
}

function compile(source: string, mutates: boolean): Program | string {
  try {
    return compileCel(source, DECLARATIONS, mutates ? isMutationType : undefined);
  } catch (error) {
    if (error instanceof CelCompileError) return error.message;
    throw error;
  }
}

/** The server evaluates a named expression at most once, at its first use. */
export class LazyVariables extends LiteralMap {
  readonly #expressions: ReadonlyMap<string, Expression>;
  readonly #scope: Scope;
  readonly #outcomes = new Map<string, Outcome>();

  constructor(expressions: ReadonlyMap<string, Expression>, scope: Scope) {
    super();
    this.#expressions = expressions;
    this.#scope = { ...scope, variables: this };
  }

  override has(key: unknown): boolean {
    return this.#expressions.has(String(key));
  }

  override get(key: unknown): unknown {
    const name = String(key);
    const expression = this.#expressions.get(name);
    if (expression === undefined) return undefined;
    let outcome = this.#outcomes.get(name);
    if (outcome === undefined) {
      const why = `variable ${JSON.stringify(name)} depends on itself`;
      this.#outcomes.set(name, { error: why, why });
      outcome = expression.evaluate(this.#scope);
      this.#outcomes.set(name, outcome);
    }
    if ('error' in outcome)
      throw new CelRuntimeError(`composited variable ${JSON.stringify(name)} fails to evaluate: ${outcome.why}`);
    return outcome.value;
  }
}

/**
 * The match conditions of a webhook or policy are true if every condition is true. If one condition is false, the
 * result is false, even if another condition fails with an error. If a condition fails with an error and no condition
 * is false, the result is the error.
 */
export function conditionsHold(conditions: readonly Expression[], scope: Scope): boolean | { readonly error: string } {
  const errors: string[] = [];
  for (const condition of conditions) {
    const outcome = condition.evaluate(scope);
    if ('error' in outcome) errors.push(outcome.error);
    else if (outcome.value !== true) return false;
  }
  if (errors.length === 0) return true;
  return { error: errors.length === 1 ? (errors[0] ?? '') : `[${errors.join(', ')}]` };
}
