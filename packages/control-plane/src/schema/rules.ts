import {
  duplicate,
  forbidden,
  invalid,
  invalidWhole,
  NO_FIELD,
  required,
} from '../apimachinery/errors/schema-causes.ts';
import { isRecord, own } from '../apimachinery/objects/json-value.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';
import { compileCel, type Declaration, type Program } from './cel/compile.ts';
import { CelRuntimeError, NONE, Optional, toCel } from './cel/runtime/values.ts';
import { CelCompileError } from './cel/syntax/ast.ts';
import { isExposed, optionalOf, typeOfNode } from './cel/types/types.ts';
import { isUntouched, itemKey, oldItems } from './lists.ts';
import type { RuleSpec, SchemaNode } from './model/node.ts';

interface Rule {
  readonly spec: RuleSpec;
  /**
   * The compiled rule, or its error. A stored CRD may contain an invalid rule, because older versions did not validate
   * rules.
   */
  readonly program: Program | string;
  readonly usesOld: boolean;
  readonly message: Program | undefined;
}

const NO_DECLARATION = 'rule compiler initialization error: failed to convert to declType for CEL validation rules';

const MAX_MESSAGE = 5 * 1024;

export function ruleVariables(node: SchemaNode, spec: RuleSpec, isResource: boolean): Declaration[] {
  const type = typeOfNode(node, 'selfType', isResource);
  const oldType = spec.optionalOldSelf === true ? optionalOf(type) : type;
  return [
    { name: 'self', type, node },
    { name: 'oldSelf', type: oldType, node },
  ];
}

const compiled = new WeakMap<SchemaNode, readonly Rule[]>();

function compileRule(spec: RuleSpec, variables: readonly Declaration[]): Program | string {
  try {
    return compileCel(spec.rule, variables);
  } catch (error) {
    if (error instanceof CelCompileError) return `rule compile error: compilation failed: ${error.message}`;
    throw error;
  }
}

function compileMessage(spec: RuleSpec, variables: readonly Declaration[]): Program | undefined {
  if (spec.messageExpression === undefined || spec.messageExpression === '') return undefined;
  try {
    return compileCel(spec.messageExpression, variables);
  } catch (error) {
    // The server now refuses a CRD with an invalid message expression.
    if (error instanceof CelCompileError) return undefined;
    throw error;
  }
}

function rulesOf(node: SchemaNode, isResource: boolean): readonly Rule[] {
  let rules = compiled.get(node);
  if (rules === undefined) {
    rules = node.rules.map((spec) => {
      const variables = ruleVariables(node, spec, isResource);
      const program = compileRule(spec, variables);
      const usesOld = typeof program !== 'string' && program.uses.has('oldSelf');
      return { spec, program, usesOld, message: compileMessage(spec, variables) };
    });
    compiled.set(node, rules);
  }
  return rules;
}

function messageOf(rule: Rule, values: readonly unknown[]): string {
  const { spec, message } = rule;
  if (message !== undefined) {
    try {
      const text = message.run(values);
      if (
        typeof text === 'string' &&
        text.trim() !== '' &&
        !text.includes('\n') &&
        Buffer.byteLength(text) <= MAX_MESSAGE
      ) {
        return text.trim();
      }
    } catch (error) {
      if (!(error instanceof CelRuntimeError)) throw error;
    }
  }
  return spec.message === undefined || spec.message === '' ? `failed rule: ${spec.rule.trim()}` : spec.message.trim();
}

/** Returns the error of a rule. */
function causeOf(field: string, value: unknown, detail: string, reason: string | undefined): StatusCause {
  const isStructure = typeof value === 'object' && value !== null;
  switch (reason) {
    case 'FieldValueForbidden':
      return forbidden(field, detail);
    case 'FieldValueRequired':
      return required(field, detail);
    case 'FieldValueDuplicate':
      return isStructure
        ? { reason: 'FieldValueDuplicate', message: 'Duplicate value', field }
        : duplicate(field, value);
    default:
      return isStructure ? invalidWhole(field, detail) : invalid(field, value, detail);
  }
}

/** Returns the type that messages show. For an int-or-string field, kube-apiserver shows no type. */
const typeOf = (node: SchemaNode): string => (node.intOrString ? '' : (node.types[0] ?? ''));

/** Returns the field of an error. A dot precedes a property, even if the path has brackets such as `['b-c']`. */
function fieldOfPath(path: string, relative: string | undefined, from: SchemaNode): string {
  if (relative === undefined || relative === '') return path;
  let node: SchemaNode | undefined = from;
  let below = '';
  for (const [, plain, quoted] of relative.matchAll(/\.([A-Za-z_][A-Za-z0-9_]*)|\['((?:[^'\\]|\\.)+)'\]/g)) {
    const name = plain ?? (quoted ?? '').replace(/\\(.)/g, '$1');
    const property: SchemaNode | undefined = node?.properties.get(name);
    if (property === undefined && node?.additional !== undefined) below += `[${name}]`;
    else below += below === '' ? name : `.${name}`;
    node = property ?? node?.additional;
  }
  if (path === '' || below === '') return path || below;
  return `${path}.${below}`;
}

function failure(rule: Rule, error: CelRuntimeError, path: string, node: SchemaNode): StatusCause {
  const { message } = error;
  const { message: shown = '', rule: expression } = rule.spec;
  const source = (shown === '' ? expression : shown).trim();
  if (message.startsWith('no such overload')) {
    const words = 'call arguments did not match a supported operator, function or macro signature for rule';
    return invalid(path, typeOf(node), `'${message}': ${words}: ${source}`);
  }
  if (message.startsWith('operation cancelled')) {
    return invalid(
      path,
      typeOf(node),
      `'${message}': no further validation rules will be run due to call cost exceeds limit for rule: ${source}`,
    );
  }
  return invalid(path, typeOf(node), `${message} evaluating rule: ${source}`);
}

interface Walk {
  readonly causes: StatusCause[];
  readonly warnings: string[];
}

function checkRules(
  value: unknown,
  old: unknown,
  node: SchemaNode,
  path: string,
  walk: Walk,
  isResource: boolean,
  untouched: boolean,
): void {
  if (!isExposed(node)) {
    walk.causes.push(invalid(path === '' ? NO_FIELD : path, typeOf(node), NO_DECLARATION));
    return;
  }
  const rules = rulesOf(node, isResource);
  for (const rule of rules) {
    const optional = rule.spec.optionalOldSelf === true;
    if (rule.usesOld && old === undefined && !optional) continue;
    const field = path === '' ? NO_FIELD : path;
    if (typeof rule.program === 'string') {
      walk.causes.push(invalid(field, typeOf(node), rule.program));
      continue;
    }
    try {
      const before = old === undefined ? NONE : toCel(old, node);
      const isWrapped = optional && !(before instanceof Optional);
      const values = [toCel(value, node), isWrapped ? new Optional(true, before) : before];
      if (rule.program.run(values) === true) continue;
      const at = fieldOfPath(path, rule.spec.fieldPath, node);
      const cause = causeOf(at === '' ? field : at, value, messageOf(rule, values), rule.spec.reason);
      // If an unchanged value violates a rule, the response contains only a warning (ratcheting).
      if (untouched && !rule.usesOld) walk.warnings.push(`${cause.field}: ${cause.message}`);
      else walk.causes.push(cause);
    } catch (error) {
      if (!(error instanceof CelRuntimeError)) throw error;
      walk.causes.push(failure(rule, error, field, node));
    }
  }
}

/** @param parent Whether the parent is unchanged. */
function visit(
  value: unknown,
  old: unknown,
  node: SchemaNode,
  path: string,
  walk: Walk,
  isRoot: boolean,
  parent: boolean,
): void {
  if (!node.rulesBelow || value === null || value === undefined) return;
  const untouched = parent || (old !== undefined && old !== null && isUntouched(value, old, node));
  if (node.rules.length > 0) checkRules(value, old ?? undefined, node, path, walk, isRoot || node.embedded, untouched);
  if (Array.isArray(value)) {
    const { items } = node;
    if (!items?.rulesBelow) return;
    const before = oldItems(old, node);
    for (let at = 0; at < value.length; at++) {
      const counterpart = before?.get(itemKey(value[at], node));
      visit(value[at], counterpart, items, `${path}[${at}]`, walk, false, untouched);
    }
    return;
  }
  if (!isRecord(value)) return;
  const before = isRecord(old) ? old : {};
  for (const key of Object.keys(value)) {
    const property = node.properties.get(key);
    if (property !== undefined) {
      visit(value[key], own(before, key), property, path === '' ? key : `${path}.${key}`, walk, false, untouched);
    } else if (node.additional !== undefined) {
      visit(value[key], own(before, key), node.additional, `${path}[${key}]`, walk, false, untouched);
    }
  }
}

/**
 * Evaluates the CEL rules of a schema. With an old value, the function also evaluates transition rules, and rule errors
 * about unchanged values become warnings.
 */
export function validateRules(
  value: unknown,
  old: unknown,
  node: SchemaNode,
  warn?: (text: string) => void,
  isResource = true,
): StatusCause[] {
  const walk: Walk = { causes: [], warnings: [] };
  visit(value, old, node, '', walk, isResource, false);
  if (warn !== undefined) for (const text of walk.warnings) warn(text);
  return walk.causes;
}
