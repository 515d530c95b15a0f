import { duplicateValue } from '../../apimachinery/errors/causes.ts';
import { invalidValue, requiredValue } from '../../apimachinery/errors/errors.ts';
import { qualifiedNameProblems } from '../../apimachinery/errors/names.ts';
import type { JsonSchema } from '../../apimachinery/objects/kind.ts';
import { items, type Plain, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { definitionSchema } from '../../resources/schemas.ts';
import { compileCel, type Declaration } from '../../schema/cel/compile.ts';
import { AUTHORIZER, RESOURCE_CHECK } from '../../schema/cel/lib/authorization.ts';
import { CelCompileError } from '../../schema/cel/syntax/ast.ts';
import { type CelType, DYN, printType, typeOfNode } from '../../schema/cel/types/types.ts';
import { nodeOf } from '../../schema/model/node.ts';

const STRING_FIELD: JsonSchema = { type: 'string' };
const structure = (properties: Record<string, JsonSchema>): JsonSchema => ({ type: 'object', properties });
const structureOf = (...fields: string[]): JsonSchema =>
  structure(Object.fromEntries(fields.map((field) => [field, STRING_FIELD])));

const KIND = structureOf('group', 'version', 'kind');
const RESOURCE = structureOf('group', 'version', 'resource');
const STRINGS: JsonSchema = { type: 'array', items: STRING_FIELD };

/** The CEL type of a request lacks the fields `object` and `oldObject`. */
const REQUEST = structure({
  kind: KIND,
  resource: RESOURCE,
  subResource: STRING_FIELD,
  requestKind: KIND,
  requestResource: RESOURCE,
  requestSubResource: STRING_FIELD,
  name: STRING_FIELD,
  namespace: STRING_FIELD,
  operation: STRING_FIELD,
  userInfo: structure({
    username: STRING_FIELD,
    uid: STRING_FIELD,
    groups: STRINGS,
    extra: { type: 'object', additionalProperties: STRINGS },
  }),
  dryRun: { type: 'boolean' },
  options: { 'x-kubernetes-preserve-unknown-fields': true },
});

const declare = (name: string, schema: JsonSchema, typeName: string): Declaration => {
  const node = nodeOf(schema);
  return { name, type: typeOfNode(node, typeName, false), node };
};
const untyped = (name: string): Declaration => ({ name, type: DYN });

const REQUEST_VARIABLES: readonly Declaration[] = [
  untyped('object'),
  untyped('oldObject'),
  declare('request', REQUEST, 'kubernetes.AdmissionRequest'),
  { name: 'authorizer', type: AUTHORIZER },
  { name: 'authorizer.requestResource', type: RESOURCE_CHECK },
];

/** The namespace variable exists for webhooks, but its value is always empty. */
export const webhookVariables = (): Declaration[] => [
  ...REQUEST_VARIABLES,
  declare('namespaceObject', definitionSchema('V1Namespace'), 'kubernetes.Namespace'),
];

export const policyVariables = (hasParams: boolean): Declaration[] => [
  ...webhookVariables(),
  ...(hasParams ? [untyped('params')] : []),
];

/** CEL expressions cannot read a value without a type, so a value of any type has this schema. */
const ANY: JsonSchema = { 'x-kubernetes-int-or-string': true };

function schemaOf(type: CelType): JsonSchema {
  switch (type.kind) {
    case 'string':
      return STRING_FIELD;
    case 'int':
      return { type: 'integer' };
    case 'double':
      return { type: 'number' };
    case 'bool':
      return { type: 'boolean' };
    case 'timestamp':
      return { type: 'string', format: 'date-time' };
    case 'duration':
      return { type: 'string', format: 'duration' };
    case 'bytes':
      return { type: 'string', format: 'byte' };
    case 'list':
      return { type: 'array', items: schemaOf(type.item) };
    case 'map':
      return type.key.kind === 'string' ? { type: 'object', additionalProperties: schemaOf(type.value) } : ANY;
    default:
      return ANY;
  }
}

/** An empty list of wanted types allows any type. */
type Wanted = readonly ('bool' | 'string' | 'null')[];

function typeProblem(type: CelType, wanted: Wanted): string | undefined {
  if (wanted.length === 0 || wanted.some((kind) => kind === type.kind)) return undefined;
  const names = wanted.map((kind) => (kind === 'null' ? 'null_type' : kind));
  const list = names.length === 1 ? names[0] : `one of [${names.join(' ')}]`;
  return `must evaluate to ${list} but got ${printType(type)}`;
}

function check(source: string, field: string, wanted: Wanted, variables: readonly Declaration[]) {
  try {
    const { type } = compileCel(source, variables);
    const problem = typeProblem(type, wanted);
    return { type, causes: problem === undefined ? [] : [invalidValue(field, source, problem)] };
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error;
    return { type: undefined, causes: [invalidValue(field, source, `compilation failed: ${error.message}`)] };
  }
}

const isBlank = (source: string): boolean => source.trim() === '';

export function expressionCauses(
  holder: Plain,
  name: string,
  path: string,
  wanted: Wanted,
  variables: readonly Declaration[],
): StatusCause[] {
  const source = text(holder, name);
  const field = `${path}.${name}`;
  if (isBlank(source)) return [requiredValue(field, `${name} is not specified`)];
  return check(source.trim(), field, wanted, variables).causes;
}

/** Validates an expression that mutates an object and must have the result type `wanted`. */
export function mutationCauses(
  holder: Plain,
  path: string,
  wanted: CelType,
  variables: readonly Declaration[],
  messages: (name: string) => boolean,
): StatusCause[] {
  const source = text(holder, 'expression').trim();
  const field = `${path}.expression`;
  if (source === '') return [requiredValue(field)];
  try {
    const { type } = compileCel(source, variables, messages);
    const [want, got] = [printType(wanted), printType(type)];
    const fits = type.kind === 'dyn' || want === got || (wanted.kind === 'list' && got === 'list(dyn)');
    return fits ? [] : [invalidValue(field, source, `must evaluate to ${want} but got ${got}`)];
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error;
    return [invalidValue(field, source, `compilation failed: ${error.message}`)];
  }
}

export function conditionCauses(holder: Plain, path: string, variables: readonly Declaration[]): StatusCause[] {
  const names = new Set<string>();
  return items(holder, 'matchConditions').flatMap((condition, index) => {
    const at = `${path}[${index}]`;
    const source = text(condition, 'expression');
    const name = text(condition, 'name');
    const causes = isBlank(source)
      ? [requiredValue(`${at}.expression`)]
      : check(source.trim(), `${at}.expression`, ['bool'], variables).causes;
    if (name === '') causes.push(requiredValue(`${at}.name`));
    else for (const problem of qualifiedNameProblems(name)) causes.push(invalidValue(`${at}.name`, name, problem));
    if (name !== '' && names.has(name)) causes.push(duplicateValue(`${at}.name`, name));
    names.add(name);
    return causes;
  });
}

/** Each variable of a policy may use the variables before it. */
export function variableCauses(spec: Plain, declared: Declaration[]): StatusCause[] {
  const known: Record<string, JsonSchema> = {};
  const base = [...declared];
  return items(spec, 'variables').flatMap((variable, index) => {
    const at = `spec.variables[${index}]`;
    const name = text(variable, 'name');
    const source = text(variable, 'expression');
    const causes: StatusCause[] = [];
    if (name === '') causes.push(requiredValue(`${at}.name`, 'name is not specified'));
    else if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      causes.push(invalidValue(`${at}.name`, name, 'must be a valid CEL identifier'));
    }
    if (isBlank(source)) return [...causes, requiredValue(`${at}.expression`, 'expression is not specified')];
    const found = check(source.trim(), `${at}.expression`, [], declared);
    // A variable with an error has any type, so that expressions that use the variable do not report the error again.
    if (name !== '') known[name] = found.type === undefined ? ANY : schemaOf(found.type);
    declared.splice(0, declared.length, ...base, declare('variables', structure({ ...known }), 'kubernetes.variables'));
    return [...causes, ...found.causes];
  });
}
