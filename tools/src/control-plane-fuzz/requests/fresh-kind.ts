import type { Draw } from './draw.ts';
import { bodyOf, type Json, type JsonObject, onlyIf } from './json.ts';
import type { Kind } from './kinds.ts';
import { mutateOnce } from './mutate.ts';
import type { Schema, Schemas } from './schema.ts';
import type { Step } from './step.ts';
import { makeValue } from './values.ts';

const DEPTH = 3;
/**
 * The API group of the custom kinds that a fuzz case creates. Each case has a separate API group, because cases run
 * concurrently.
 */
const GROUP = '${id}.none.dev';
const PLURAL = 'things';
/** The longest wait for a new kind. If kube-apiserver refuses the CRD of a kind, it never serves the kind. */
const WAIT_MS = 3000;

type Property = JsonObject & Schema;

/** The server refuses some CEL rules as too expensive if the schema does not limit lengths. */
const RULES: Readonly<Record<string, readonly string[]>> = {
  string: [
    "self.startsWith('a')",
    'self.size() < 4',
    'self == oldSelf',
    "self.matches('^[a-z]*$')",
    "self in ['a', 'b', 'x']",
    'isURL(self)',
    '!isIP(self) || ip(self).family() == 4',
    "!isQuantity(self) || quantity(self).isGreaterThan(quantity('1'))",
    'self.lowerAscii() == self',
    "self.split(',').size() == 1",
    "self.find('[0-9]+') == ''",
    '!format.dns1123Label().validate(self).hasValue()',
    "self.replace('a', 'b') != 'b'",
  ],
  integer: ['self > 0', 'self % 2 == 0', 'self >= oldSelf', 'self in [1, 2, 3]', 'double(self) < 50.5'],
  number: ['self > 0.5', 'self < 1000.0', 'self == oldSelf', 'int(self) != 1'],
  boolean: ['self', '!self', 'self == oldSelf', 'self ? true : false'],
  array: [
    'self.size() <= 1',
    'self.all(x, x == x)',
    'self.exists(x, true)',
    'self.exists_one(x, true)',
    'oldSelf.all(x, x in self)',
    'self.map(x, x).size() < 3',
    'self == oldSelf',
    'self.isSorted()',
    'self[0] == self[0]',
  ],
  object: [
    'has(self.a)',
    '!has(self.a) || has(self.b)',
    '!has(oldSelf.a) || has(self.a)',
    'self == oldSelf',
    'true',
    'self.size() > 0',
    'self.a == self.b',
  ],
}; // prettier-ignore

const MAP_RULES = ["self.all(k, k != 'b')", 'self.size() < 3', "'a' in self", 'self == oldSelf'];

function ruleOf(draw: Draw, rules: readonly string[]): JsonObject {
  const rule: JsonObject = { rule: draw.pick(rules) };
  if (draw.chance(0.4)) rule['message'] = draw.pick(['m', 'must be set', 'a b']);
  if (draw.chance(0.15)) rule['messageExpression'] = draw.pick(["'fixed'", "'is ' + 'x'", "''"]);
  if (draw.chance(0.2))
    rule['reason'] = draw.pick([
      'FieldValueInvalid',
      'FieldValueForbidden',
      'FieldValueRequired',
      'FieldValueDuplicate',
    ]);
  if (draw.chance(0.05)) Object.assign(rule, draw.pick(ODD));
  return rule;
} // prettier-ignore

/** Unusual settings of a CEL rule. The servers refuse these settings, or accept them only in some schemas. */
const ODD: readonly JsonObject[] = [
  { message: 'a\nb' },
  { message: '' },
  { messageExpression: 'self' },
  { messageExpression: "'a' + 1" },
  { reason: 'x' },
  { fieldPath: '.' },
  { fieldPath: '.a' },
  { fieldPath: 'a' },
  { optionalOldSelf: true },
  { optionalOldSelf: false },
  { rule: 'self.missing' },
  { rule: 'self +' },
  { rule: '' },
]; // prettier-ignore

const FORMATS = [
  'date-time',
  'date',
  'byte',
  'uuid',
  'ipv4',
  'ipv6',
  'cidr',
  'uri',
  'email',
  'hostname',
  'duration',
  'password',
  'mac',
  'bogus',
]; // prettier-ignore

function textSchema(draw: Draw): JsonObject {
  const schema: JsonObject = { type: 'string' };
  if (draw.chance(0.15)) schema['enum'] = draw.pick([['a', 'b'], ['x'], ['a', '', 'x']]);
  if (draw.chance(0.15)) schema['pattern'] = draw.pick(['^a', '^[a-z]+$', 'b$', '\\d', '^$']);
  if (draw.chance(0.15)) schema['format'] = draw.pick(FORMATS);
  if (draw.chance(0.15)) schema['minLength'] = draw.pick([0, 1, 3]);
  if (draw.chance(0.5)) schema['maxLength'] = draw.pick([1, 5, 20, 20]);
  return schema;
}

function numberSchema(draw: Draw, type: 'integer' | 'number'): JsonObject {
  const schema: JsonObject = { type };
  if (draw.chance(0.25)) schema['minimum'] = draw.pick([0, 1, -5]);
  if (draw.chance(0.25)) schema['maximum'] = draw.pick([10, 100, 3]);
  if (draw.chance(0.1)) schema['exclusiveMinimum'] = draw.chance(0.5);
  if (draw.chance(0.1)) schema['multipleOf'] = draw.pick([2, 5, 0.5]);
  if (draw.chance(0.2))
    schema['format'] = type === 'integer' ? draw.pick(['int32', 'int64']) : draw.pick(['float', 'double']);
  if (draw.chance(0.05)) schema['enum'] = [1, 2];
  return schema;
} // prettier-ignore

function listSchema(draw: Draw, depth: number): JsonObject {
  const schema: JsonObject = { type: 'array' };
  if (draw.chance(0.6)) schema['maxItems'] = draw.pick([1, 2, 5]);
  if (draw.chance(0.15)) schema['minItems'] = draw.pick([0, 1]);
  const kind = draw.weigh([
    [4, ''],
    [1, 'atomic'],
    [2, 'set'],
    [3, 'map'],
  ]);
  if (kind !== '') schema['x-kubernetes-list-type'] = kind;
  if (kind !== 'map') {
    schema['items'] =
      kind === 'set' ? draw.pick([{ type: 'string' }, { type: 'integer' }]) : fieldSchema(draw, depth + 1);
    return schema;
  }
  const items = objectSchema(draw, depth + 1);
  items['properties'] = {
    ...(items['properties'] as JsonObject),
    a: { type: 'string', ...onlyIf(draw.chance(0.3), { default: 'k' }) },
  };
  items['required'] = draw.chance(0.8) ? ['a'] : [];
  schema['x-kubernetes-list-map-keys'] = ['a'];
  schema['items'] = items;
  return schema;
} // prettier-ignore

function objectSchema(draw: Draw, depth: number): JsonObject {
  const names = ['a', 'b', 'c', 'd'].slice(0, 1 + draw.int(4));
  const schema: JsonObject = {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, fieldSchema(draw, depth + 1)])),
  };
  if (draw.chance(0.25)) schema['required'] = [draw.pick(names)];
  if (draw.chance(0.1)) schema['x-kubernetes-preserve-unknown-fields'] = true;
  if (draw.chance(0.1)) schema['x-kubernetes-map-type'] = draw.pick(['atomic', 'granular']);
  if (draw.chance(0.06))
    schema[draw.pick(['anyOf', 'oneOf', 'allOf'])] = [{ required: ['a'] }, { required: [draw.pick(names)] }];
  if (draw.chance(0.04)) schema['not'] = { required: [draw.pick(names)] };
  if (draw.chance(0.06)) schema['minProperties'] = 1;
  if (draw.chance(0.06)) schema['maxProperties'] = draw.pick([1, 3]);
  return schema;
} // prettier-ignore

function mapSchema(draw: Draw, depth: number): JsonObject {
  const schema: JsonObject = { type: 'object', additionalProperties: fieldSchema(draw, depth + 1) };
  if (draw.chance(0.5)) schema['maxProperties'] = draw.pick([1, 2, 5]);
  return schema;
}

/** Returns a random structural schema for a custom kind. */
function fieldSchema(draw: Draw, depth: number): JsonObject {
  const deeper = depth < DEPTH ? 1 : 0;
  const schema = draw.weigh<() => JsonObject>([
    [6, () => textSchema(draw)],
    [4, () => numberSchema(draw, 'integer')],
    [1, () => numberSchema(draw, 'number')],
    [2, () => ({ type: 'boolean' })],
    [5 * deeper, () => objectSchema(draw, depth)],
    [4 * deeper, () => listSchema(draw, depth)],
    [3 * deeper, () => mapSchema(draw, depth)],
    [1, () => ({ 'x-kubernetes-int-or-string': true })],
    [0.7, () => ({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true })],
    [0.3, () => ({ 'x-kubernetes-preserve-unknown-fields': true })],
    [
      0.3,
      () => ({ type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true }),
    ],
  ])(); // prettier-ignore
  if (draw.chance(0.1)) schema['nullable'] = true;
  if (draw.chance(0.05)) schema['description'] = draw.pick(['A field.', '']);
  const type = String(schema['type'] ?? '');
  const rules = 'additionalProperties' in schema ? MAP_RULES : RULES[type];
  if (rules !== undefined && draw.chance(0.12))
    schema['x-kubernetes-validations'] = Array.from({ length: 1 + draw.int(2) }, () => ruleOf(draw, rules));
  const isPlain = Object.keys(schema).every((key) => PLAIN.has(key));
  if (depth > 0 && draw.chance(isPlain ? 0.3 : 0.02))
    schema['default'] = makeValue(draw, NO_SCHEMAS, schema as Property, '', depth + 3);
  return schema;
}

/** Schema keywords that refuse no value of the type. */
const PLAIN = new Set(['type', 'description', 'nullable', 'maxLength', 'x-kubernetes-int-or-string']);

const NO_SCHEMAS: Schemas = { of: () => ({}), resolve: (schema) => ({ schema, name: '' }) };

const PATHS = [
  '.spec.a',
  '.spec.b',
  '.spec.c',
  '.status.a',
  '.status.b',
  '.metadata.name',
  '.metadata.labels.app',
  '.spec.a[0]',
  ".spec['a']",
  '.spec',
  '.spec.a.b',
];

function columnOf(draw: Draw): JsonObject {
  const column: JsonObject = {
    name: draw.pick(['A', 'B', 'Age', 'Long name']),
    type: draw.pick(['string', 'string', 'integer', 'number', 'boolean', 'date']),
    jsonPath: draw.pick(PATHS),
  };
  if (draw.chance(0.15)) column['jsonPath'] = '.metadata.creationTimestamp';
  if (draw.chance(0.2)) column['priority'] = draw.pick([0, 1]);
  if (draw.chance(0.1)) column['format'] = draw.pick(['int32', 'date-time', 'name', 'bogus']);
  if (draw.chance(0.2)) column['description'] = 'About it.';
  return column;
}

const some = <T>(draw: Draw, most: number, make: () => T): T[] => Array.from({ length: draw.int(most + 1) }, make);

interface Version {
  readonly entry: JsonObject;
  readonly schema: JsonObject;
}

function versionOf(draw: Draw, name: string, storage: boolean, root: JsonObject): Version {
  const subresources: JsonObject = {};
  if (draw.chance(0.6)) subresources['status'] = {};
  if (draw.chance(0.3))
    subresources['scale'] = {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.replicas',
      ...onlyIf(draw.chance(0.5), { labelSelectorPath: '.status.selector' }),
    };
  const entry: JsonObject = { name, served: true, storage, schema: { openAPIV3Schema: root }, subresources };
  const columns = some(draw, 3, () => columnOf(draw));
  if (columns.length > 0) entry['additionalPrinterColumns'] = columns;
  if (draw.chance(0.2))
    entry['selectableFields'] = [{ jsonPath: draw.chance(0.9) ? '.spec.replicas' : draw.pick(PATHS) }];
  if (draw.chance(0.1))
    Object.assign(entry, { deprecated: true, ...onlyIf(draw.chance(0.5), { deprecationWarning: 'use another' }) });
  return { entry, schema: root };
} // prettier-ignore

function rootSchema(draw: Draw): JsonObject {
  const spec = objectSchema(draw, 0);
  const status = objectSchema(draw, 1);
  Object.assign(spec['properties'] as JsonObject, { replicas: { type: 'integer' } });
  Object.assign(status['properties'] as JsonObject, { replicas: { type: 'integer' }, selector: { type: 'string' } });
  const root: JsonObject = { type: 'object', properties: { spec, status } };
  if (draw.chance(0.2)) Object.assign(root['properties'] as JsonObject, { more: fieldSchema(draw, 1) });
  if (draw.chance(0.2)) root['required'] = ['spec'];
  if (draw.chance(0.1))
    root['x-kubernetes-validations'] = [
      ruleOf(draw, ['has(self.spec)', "self.metadata.name != 'b'", '!has(self.status)', 'self.spec == oldSelf.spec']),
    ];
  return root;
} // prettier-ignore

export interface FreshKind {
  readonly steps: readonly Step[];
  readonly kinds: readonly [Kind, ...Kind[]];
}

function kindOf(draw: Draw, { entry, schema }: Version, namespaced: boolean): Kind {
  const apiVersion = `${GROUP}/${String(entry['name'])}`;
  const subresources = Object.keys(entry['subresources'] as JsonObject);
  const object = (): JsonObject => ({
    ...(makeValue(draw, NO_SCHEMAS, schema as Property, '') as JsonObject),
    apiVersion,
    kind: 'Thing',
    metadata: { name: 'a', ...onlyIf(draw.chance(0.3), { labels: { app: 'x' } }) },
  });
  const all: Schema = {
    ...(schema as Property),
    properties: { ...(schema as Property).properties, metadata: { type: 'object' } },
  };
  return {
    apiVersion,
    kind: 'Thing',
    resource: PLURAL,
    namespaced,
    builtIn: false,
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    subresources,
    samples: [object(), object(), object()],
    schema: all,
    collection: `/apis/${apiVersion}${namespaced ? '/namespaces/${ns}' : ''}/${PLURAL}`,
  };
} // prettier-ignore

/**
 * Returns the steps that create a custom kind with a random schema. If the servers refuse the CRD, they answer all
 * later requests for the kind with 404.
 */
export function freshKind(draw: Draw, schemas: Schemas): FreshKind {
  const namespaced = draw.chance(0.8);
  const root = rootSchema(draw);
  const first = versionOf(draw, 'v1', true, root);
  const second = draw.chance(0.25) ? [versionOf(draw, 'v2', false, draw.chance(0.5) ? root : rootSchema(draw))] : [];
  const names: Json = {
    plural: PLURAL,
    kind: 'Thing',
    ...onlyIf(draw.chance(0.3), { shortNames: ['th'], singular: 'thing' }),
  };
  const definition: JsonObject = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${PLURAL}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names,
      versions: [first, ...second].map(({ entry }) => entry),
    },
  };
  const kinds: FreshKind['kinds'] = [
    kindOf(draw, first, namespaced),
    ...second.map((each) => kindOf(draw, each, namespaced)),
  ];
  const sent = structuredClone(definition);
  if (draw.chance(0.15))
    mutateOnce(draw, schemas, sent, schemas.of('apiextensions.k8s.io/v1', 'CustomResourceDefinition'));
  return {
    steps: [
      { request: 'POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions', ...bodyOf(sent) },
      { request: `GET ${kinds[0].collection}`, eventually: { until: { status: 200 }, timeout: WAIT_MS } },
    ],
    kinds,
  };
} // prettier-ignore
