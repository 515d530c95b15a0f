import { forbidden, invalid, notSupported, required } from '../../apimachinery/errors/schema-causes.ts';
import { stringifyJson } from '../../apimachinery/objects/json.ts';
import type { JsonSchema } from '../../apimachinery/objects/kind.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { compileCel, type Program } from '../../schema/cel/compile.ts';
import { costMessage, RULE_COST_LIMIT, SCHEMA_COST_LIMIT } from '../../schema/cel/cost/limits.ts';
import { maxCount } from '../../schema/cel/cost/place.ts';
import { times } from '../../schema/cel/cost/size.ts';
import { CelCompileError, CelProgramError } from '../../schema/cel/syntax/ast.ts';
import { isExposed } from '../../schema/cel/types/types.ts';
import { nodeOf, type RuleSpec } from '../../schema/model/node.ts';
import { ruleVariables } from '../../schema/rules.ts';
import { readFieldPath } from './field-path.ts';
import { type Fields, record, text } from './fields.ts';
import { levelOf } from './keywords.ts';
import type { SchemaCauses } from './structural.ts';
import { childrenOf, unreadableWord } from './walk.ts';

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

/**
 * The maximum number of expensive rules in an error. An expensive rule uses at least the share `CONTRIBUTION` of the
 * limit.
 */
const NAMED_CONTRIBUTORS = 4;
const CONTRIBUTION = 0.01;

const NO_DECLARATION =
  'Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations';

interface Place {
  readonly path: string;
  /** The maximum number of values in one object to which the schema applies. */
  readonly cardinality: number | undefined;
  /**
   * The path of the list or map that contains the value. The path is set if the server cannot match the items with the
   * old items.
   */
  readonly uncorrelatable: string | undefined;
  readonly isResource: boolean;
}

interface Total {
  cost: number;
  readonly contributors: { readonly field: string; readonly cost: number }[];
}

function dump(spec: RuleSpec): string {
  const quote = (value: unknown): string =>
    stringifyJson(value).replace(/[<>&]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const fields: [string, unknown][] = [
    ['Rule', spec.rule ?? ''],
    ['Message', spec.message ?? ''],
    ['MessageExpression', spec.messageExpression ?? ''],
    ['Reason', spec.reason ?? null],
    ['FieldPath', spec.fieldPath ?? ''],
    ['OptionalOldSelf', spec.optionalOldSelf ?? null],
  ];
  return `{${fields.map(([name, value]) => `"${name}":${quote(value)}`).join(',')}}`;
}

const invalidRule = (field: string, spec: RuleSpec, detail: string): StatusCause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${dump(spec)}: ${detail}`,
  field,
});

/** Returns whether a path such as `.a.b['c d']` names a field of the schema. */
const isFieldPath = (path: string, schema: Fields): boolean =>
  unreadableWord(schema) !== undefined || typeof readFieldPath(path, schema) !== 'string';

const hasBreaks = (words: string): boolean => /[\r\n]/.test(words);

/** As in kube-apiserver, the function reports only the first error of the message. */
function validateMessage(spec: RuleSpec, field: string): StatusCause[] {
  // If the field has a wrong type, an earlier check has already reported the error.
  const message = text(spec.message);
  const rule = text(spec.rule).trim();
  const at = `${field}.message`;
  const causes: StatusCause[] = [];
  if (rule === '') causes.push(required(`${field}.rule`, 'rule is not specified'));
  else if (message !== '' && message.trim() === '') {
    causes.push(invalid(at, message, 'must be non-empty if specified'));
  } else if (hasBreaks(message.trim())) causes.push(invalid(at, message, 'must not contain line breaks'));
  else if (hasBreaks(rule) && message === '') {
    causes.push(required(at, 'message must be specified if rule contains line breaks'));
  }
  const expression = text(spec.messageExpression);
  if (expression !== '' && expression.trim() === '') {
    causes.push(required(`${field}.messageExpression`, 'messageExpression must be non-empty if specified'));
  }
  return causes;
}

function validateSpec(spec: RuleSpec, schema: Fields, field: string): StatusCause[] {
  const causes = validateMessage(spec, field);
  if (spec.reason !== undefined && !REASONS.includes(spec.reason)) {
    causes.push(notSupported(`${field}.reason`, spec.reason, REASONS));
  }
  const path = text(spec.fieldPath);
  const at = `${field}.fieldPath`;
  if (path !== '' && path.trim() === '') causes.push(invalid(at, path, 'must be non-empty if specified'));
  if (hasBreaks(path)) causes.push(invalid(at, path, 'must not contain line breaks'));
  if (path !== '' && !isFieldPath(path, schema)) causes.push(invalid(at, path, 'must be a valid path'));
  return causes;
}

function compile(source: string, spec: RuleSpec, schema: Fields, isResource: boolean): Program | string {
  try {
    return compileCel(source, ruleVariables(nodeOf(schema as JsonSchema), spec, isResource));
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error;
    return `${error instanceof CelProgramError ? 'program instantiation' : 'compilation'} failed: ${error.message}`;
  }
}

function addCost(cost: number, field: string, what: string, total: Total): StatusCause[] {
  total.cost += cost;
  total.contributors.push({ field, cost });
  return cost > RULE_COST_LIMIT ? [forbidden(field, costMessage(what, cost, RULE_COST_LIMIT))] : [];
}

/** Validates the use of `oldSelf` in a rule. A rule that does not compile counts as a rule without `oldSelf`. */
function validateOldSelf(spec: RuleSpec, field: string, place: Place, usesOld: boolean): StatusCause[] {
  if (usesOld && place.uncorrelatable !== undefined) {
    const words = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelatable}`;
    return [invalid(`${field}.rule`, spec.rule, words)];
  }
  const optional = spec.optionalOldSelf ?? undefined;
  if (usesOld || optional === undefined) return [];
  return [invalid(`${field}.optionalOldSelf`, optional, 'may not be set if oldSelf is not used in rule')];
}

function validateProgram(spec: RuleSpec, schema: Fields, field: string, place: Place, total: Total): StatusCause[] {
  const at = `${field}.rule`;
  const program = compile(spec.rule, spec, schema, place.isResource);
  const refuse = (detail: string): StatusCause[] => [
    invalidRule(at, spec, detail),
    ...validateOldSelf(spec, field, place, false),
  ];
  if (typeof program === 'string') return refuse(program);
  if (program.type.kind !== 'bool' && program.type.kind !== 'dyn') {
    return refuse('cel expression must evaluate to a bool');
  }
  // If a list has no limit, the maximum size of a request limits the number of its values.
  const count = place.cardinality ?? maxCount(nodeOf(schema as JsonSchema), place.isResource);
  return [
    ...addCost(times(program.cost, count), at, 'estimated rule cost', total),
    ...validateMessageExpression(spec, schema, field, place, total),
    ...validateOldSelf(spec, field, place, program.uses.has('oldSelf')),
  ];
}

function validateMessageExpression(
  spec: RuleSpec,
  schema: Fields,
  field: string,
  place: Place,
  total: Total,
): StatusCause[] {
  const source = text(spec.messageExpression);
  if (source === '') return [];
  const at = `${field}.messageExpression`;
  const program = compile(source, spec, schema, place.isResource);
  if (typeof program === 'string')
    return [
      invalidRule(
        at,
        spec,
        program.replace(
          /^(compilation|program instantiation)/,
          (words) => `messageExpression ${words.split(' ').at(-1)}`,
        ),
      ),
    ];
  if (program.type.kind !== 'string' && program.type.kind !== 'dyn') {
    return [invalidRule(at, spec, 'messageExpression must evaluate to a string')];
  }
  // As in kube-apiserver, the cost of a messageExpression is not multiplied by the number of values.
  return addCost(program.cost, at, 'estimated messageExpression cost', total);
}

/** Returns the maximum number of values of a child schema. */
function childCardinality(schema: Fields, cardinality: number | undefined): number | undefined {
  const isMap = schema.type === 'object' && (schema.additionalProperties ?? undefined) !== undefined;
  if (cardinality === undefined || (!isMap && schema.type !== 'array')) return cardinality;
  const { maxItems, maxProperties } = nodeOf(schema as JsonSchema);
  const limit = isMap ? maxProperties : maxItems;
  return limit === undefined ? undefined : cardinality * Math.max(0, limit);
}

function childPlace(
  schema: Fields,
  child: { readonly path: string; readonly level: string },
  place: Place,
  path: string,
): Place {
  const isProperty = child.path.startsWith('.properties[', path.length);
  const node = nodeOf(schema as JsonSchema);
  const correlates = isProperty || child.level !== 'items' || node.listType === 'map';
  return {
    path: child.path,
    cardinality: childCardinality(schema, place.cardinality),
    uncorrelatable: place.uncorrelatable ?? (correlates ? undefined : path),
    isResource: false,
  };
}

interface RuleCauses {
  readonly form: StatusCause[];
  readonly expressions: StatusCause[];
}

function visit(schema: Fields, place: Place, total: Total, found: SchemaCauses): RuleCauses {
  const causes: RuleCauses = { form: [], expressions: [] };
  const { path } = place;
  for (const child of childrenOf(schema, path)) {
    const below = visit(child.schema, childPlace(schema, child, place, path), total, found);
    causes.form.push(...below.form);
    causes.expressions.push(...below.expressions);
  }
  const rules = schema['x-kubernetes-validations'];
  if (!Array.isArray(rules)) return causes;
  const specs = rules.map((rule) => record(rule) as Partial<RuleSpec> as RuleSpec);
  const field = (at: number): string => `${path}.x-kubernetes-validations[${at}]`;
  specs.forEach((spec, at) => {
    causes.form.push(...validateSpec(spec, schema, field(at)));
  });
  // The function does not compile the rules of an invalid schema, because their errors would be misleading.
  const isInvalid = !found.isStructural || found.words.some((cause) => levelOf(cause).startsWith(path));
  if (isInvalid || causes.form.length > 0) return causes;
  if (!isExposed(nodeOf(schema as JsonSchema))) {
    causes.expressions.push({
      reason: 'InternalError',
      message: NO_DECLARATION,
      field: `${path}.x-kubernetes-validations`,
    });
    return causes;
  }
  const isResource = place.isResource || schema['x-kubernetes-embedded-resource'] === true;
  specs.forEach((spec, at) => {
    causes.expressions.push(...validateProgram(spec, schema, field(at), { ...place, isResource }, total));
  });
  return causes;
}

export function validateRuleSpecs(schema: Fields, path: string, found: SchemaCauses): StatusCause[] {
  const total: Total = { cost: 0, contributors: [] };
  const { form, expressions } = visit(
    schema,
    { path, cardinality: 1, uncorrelatable: undefined, isResource: true },
    total,
    found,
  );
  const causes = [...form, ...expressions];
  if (total.cost <= SCHEMA_COST_LIMIT) return causes;
  const dearest = total.contributors
    .filter(({ cost }) => cost >= SCHEMA_COST_LIMIT * CONTRIBUTION)
    .sort((a, b) => b.cost - a.cost)
    .slice(0, NAMED_CONTRIBUTORS);
  for (const { field } of dearest) {
    causes.push(
      forbidden(field, 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'),
    );
  }
  const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
  causes.push(forbidden(path, costMessage(what, total.cost, SCHEMA_COST_LIMIT)));
  return causes;
}
