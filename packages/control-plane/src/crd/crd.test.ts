import { describe, expect, it } from 'vitest';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import {
  crdStatus,
  defaultCrd,
  formatWarnings,
  initialCrdStatus,
  kindsOfCrd,
  validateCrd,
  validateCrdStatus,
} from './index.ts';

type Fields = Record<string, unknown>;
const now = new Date('2024-01-01T00:00:00Z');

const version = (more: Fields = {}): Fields => ({
  name: 'v1',
  served: true,
  storage: true,
  schema: { openAPIV3Schema: { type: 'object' } },
  ...more,
});

function crd(spec: Fields = {}, name = 'things.g.example'): ApiObject {
  const object: ApiObject = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name },
    spec: {
      group: 'g.example',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [version()],
      ...spec,
    },
  };
  defaultCrd(object);
  object.status = initialCrdStatus(object);
  return object;
}

const problems = (object: ApiObject, old?: ApiObject): string[] =>
  validateCrd(object, old).map((cause) => `${cause.field}: ${cause.message}`);
const withSchema = (properties: Fields, root: Fields = {}): ApiObject =>
  crd({ versions: [version({ schema: { openAPIV3Schema: { type: 'object', properties, ...root } } })] });
const ROOT = 'spec.validation.openAPIV3Schema';

describe('defaultCrd', () => {
  it('derives names and the conversion strategy', () => {
    expect(crd().spec).toMatchObject({
      names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      conversion: { strategy: 'None' },
    });
  });
});

describe('validateCrd', () => {
  it('validateCrd accepts a plain CRD', () => {
    expect(problems(crd())).toEqual([]);
  });

  it('validateCrd reports an invalid version at each request, and accepts a valid one at each request', () => {
    const valid = withSchema({ a: { type: 'string' } });
    const invalid = withSchema({ a: { type: 'text' } });
    const first = problems(invalid);
    expect(first).not.toEqual([]);
    for (let request = 0; request < 2; request += 1) {
      expect([problems(valid), problems(invalid)]).toEqual([[], first]);
    }
  });

  it.each<[schema: Fields, status: object | undefined, ...fields: string[]]>([
    [{ type: 'object', not: { enum: ['a'] } }, {}, 'spec.validation.openAPIV3Schema'],
    [{ type: 'object', allOf: [{ required: ['a'] }], maxProperties: 1 }, {}, 'spec.validation.openAPIV3Schema'],
    [{ type: 'object', not: { enum: ['a'] } }, undefined],
    [{ type: 'object', required: ['a'], nullable: false }, {}],
  ])('the root %j of a schema with the status subresource %j is accepted or refused', (schema, status, ...fields) => {
    const object = crd({
      versions: [
        version({ schema: { openAPIV3Schema: schema }, subresources: status === undefined ? {} : { status } }),
      ],
    });
    const causes = validateCrd(object);
    expect(causes.map(({ field }) => field)).toEqual(fields);
    for (const { message } of causes) expect(message).toContain('fields are allowed at the root of the schema');
  });

  it('applies the rules of a status subresource to a schema that two versions share, if one version has a status', () => {
    const schema = { openAPIV3Schema: { type: 'object', maxProperties: 1 } };
    const other = version({ name: 'v2', storage: false, schema, subresources: { status: {} } });
    const causes = validateCrd(crd({ versions: [version({ schema, subresources: {} }), other] }));
    expect(causes.map(({ field }) => field)).toEqual(['spec.validation.openAPIV3Schema']);
  });

  it.each([
    [
      crd({}, 'other.g.example'),
      'metadata.name: Invalid value: "other.g.example": must be spec.names.plural+"."+spec.group',
    ],
    [
      crd({ group: 'nodots' }, 'things.nodots'),
      'spec.group: Invalid value: "nodots": should be a domain with at least one dot',
    ],
    [crd({ scope: 'Galaxy' }), 'spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"'],
    [
      crd({ preserveUnknownFields: true }),
      'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    ],
    [
      crd({ conversion: { strategy: 'Odd' } }),
      'spec.conversion.strategy: Unsupported value: "Odd": supported values: "None", "Webhook"',
    ],
    [
      crd({ names: { plural: 'things', kind: 'Thing', categories: [`-${'a'.repeat(63)}`] } }),
      expect.stringMatching(/^spec\.names\.categories\[0\]: .*: must be no more than 63 bytes,a DNS-1035 label must/),
    ],
    [
      crd({ group: 'x.k8s.io' }, 'things.x.k8s.io'),
      'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
    ],
    [crd({ versions: [version({ schema: {} })] }), 'spec.versions[0].schema.openAPIV3Schema: Required value'],
    [
      crd({ names: { plural: 'things', kind: 'Thing', listKind: 'Thing' } }),
      'spec.names.listKind: Invalid value: "Thing": kind and listKind may not be the same',
    ],
    [
      crd({
        versions: [
          version({ subresources: { scale: { specReplicasPath: '.status.x', statusReplicasPath: '.status.x' } } }),
        ],
      }),
      'spec.subresources.scale.specReplicasPath: Invalid value: ".status.x": should be a json path under .spec',
    ],
    [
      crd({ versions: [version({ additionalPrinterColumns: [{ name: 'A', type: 'odd', jsonPath: '.a' }] })] }),
      'spec.additionalPrinterColumns[0].type: Invalid value: "odd": must be one of boolean,date,integer,number,string',
    ],
    [
      crd({ versions: [version({ selectableFields: [{ jsonPath: '.spec.a' }] })] }),
      'spec.selectableFields[0].jsonPath: Invalid value: ".spec.a": is an invalid path: does not refer to a valid field',
    ],
  ])('%#: %s', (object, expected) => {
    expect(problems(object)).toEqual([expected]);
  });

  it.each<[conversion: Fields, ...fields: string[]]>([
    [
      { strategy: 'Odd', webhook: { clientConfig: {}, conversionReviewVersions: ['v1'] } },
      'strategy',
      'webhookClientConfig',
      'conversionReviewVersions',
    ],
    [
      {
        strategy: 'Webhook',
        webhook: { clientConfig: { url: 'https://h' }, conversionReviewVersions: ['v1', 'v1', 'V'] },
      },
      ...['conversionReviewVersions[1]', 'conversionReviewVersions[2]'],
    ],
    [
      { strategy: 'Webhook', webhook: { clientConfig: { url: 'https://h' }, conversionReviewVersions: ['v2', 'v2'] } },
      ...['conversionReviewVersions[1]', 'conversionReviewVersions'],
    ],
  ])('the conversion %j', (conversion, ...fields) => {
    expect(validateCrd(crd({ conversion })).map(({ field }) => field)).toEqual(
      fields.map((f) => `spec.conversion.${f}`),
    );
  });

  it('validateCrd requires exactly one storage version, which must be a stored one', () => {
    expect(problems(crd({ versions: [] }))).toEqual([
      'spec.versions: Invalid value: []: must have exactly one version marked as storage version',
      'status.storedVersions: Invalid value: null: must have at least one stored version',
    ]);
    expect(problems(crd({ versions: [version(), version({ name: 'v2' })] }))[1]).toBe(
      'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2',
    );
  });

  it('validateCrd requires each name, and checks the schema of a version before its name', () => {
    const wanted = ['plural', 'singular', 'kind', 'listKind'].map((name) => `spec.names.${name}: Required value`);
    expect(problems(crd({ names: { plural: 'things' } }))).toEqual(wanted.slice(1));
    expect(problems(crd({ names: {} })).slice(1)).toEqual(wanted);
    const bare: ApiObject = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: {} };
    defaultCrd(bare);
    expect(problems(bare).slice(3, -1)).toEqual(wanted);
    const odd = [version({ name: 'V_1', schema: undefined }), version({ name: 'v2', storage: false })];
    expect(problems(crd({ versions: odd })).map((problem) => problem.split(/ value:? ?/)[0])).toEqual([
      'spec.versions[0].schema.openAPIV3Schema: Required',
      'spec.versions[0].name: Invalid',
      'spec.version: Invalid',
    ]);
    expect(problems(crd({ versions: null }))[0]).toMatch(/^spec.versions: Invalid value: null: must have exactly one/);
  });

  it('validateCrd reports errors at the version if versions differ, and else at the spec', () => {
    const bad = { openAPIV3Schema: { type: 'object', properties: { a: { type: 'odd' } } } };
    const types =
      'Unsupported value: "odd": supported values: "array", "boolean", "integer", "number", "object", "string"';
    expect(problems(crd({ versions: [version({ schema: bad })] }))).toEqual([`${ROOT}.properties[a].type: ${types}`]);
    expect(problems(crd({ versions: [version(), version({ name: 'v2', storage: false, schema: bad })] }))).toEqual([
      `spec.versions[1].schema.openAPIV3Schema.properties[a].type: ${types}`,
    ]);
  });

  it('validateCrd requires stored versions and immutable fields to remain', () => {
    const old = crd({ versions: [version(), version({ name: 'v2', storage: false })] });
    old.status = crdStatus(old, [], now);
    const changed = crd({ versions: [version({ name: 'v2' })], scope: 'Cluster' });
    changed.status = old.status;
    expect(problems(changed, old)).toEqual([
      'spec.scope: Invalid value: "Cluster": field is immutable',
      expect.stringMatching(
        /^status\.storedVersions\[0\]: Invalid value: "v1": missing from spec\.versions; v1 was previously a storage version/,
      ),
    ]);
  });
});

describe('defaults', () => {
  it('validates them by types and by CEL rules', () => {
    const rule = { 'x-kubernetes-validations': [{ rule: "self == 'a'" }] };
    const d = { type: 'object', properties: { e: { type: 'integer' } }, default: { e: 'q', f: 1 } };
    const at = `${ROOT}.properties`;
    expect(problems(withSchema({ a: { type: 'string', default: 'z', ...rule }, d })).sort()).toEqual([
      `${at}[a].default: Invalid value: "z": failed rule: self == 'a'`,
      `${at}[d].default.e: Invalid value: "string": e in body must be of type integer: "string"`,
      `${at}[d].default: Invalid value: {"e":"q","f":1}: must not have unknown fields`,
    ]);
    expect(problems(withSchema({ a: { type: 'string', default: 'a', ...rule } }))).toEqual([]);
  });

  it.each([{}, [], true, 1.5])('accepts the default %j of an int-or-string field, as kube-apiserver does', (value) => {
    const field = { 'x-kubernetes-int-or-string': true };
    const nested = { type: 'object', properties: { b: field }, default: { b: value } };
    const list = { type: 'array', items: field, default: [value] };
    expect(problems(withSchema({ a: { ...field, default: value }, nested, list }))).toEqual([]);
  });

  it('requires a type in a default of the whole object', () => {
    const openAPIV3Schema = { type: 'object', properties: { a: { type: 'integer' } }, default: { a: 1 } };
    expect(problems(crd({ versions: [version({ schema: { openAPIV3Schema } })] }))).toEqual([
      `${ROOT}.default.apiVersion: Required value`,
      `${ROOT}.default.kind: Required value`,
    ]);
  });

  const resource = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
  };
  it.each<[defect: string, property: Fields, ...causes: string[]]>([
    [
      'an embedded resource with an invalid name',
      { ...resource, default: { apiVersion: 'v1', kind: 'P', metadata: { name: 'a/b' } } },
      `default.metadata.name: Invalid value: "a/b": may not contain '/'`,
    ],
    [
      'an embedded resource without apiVersion and with a label of a wrong type, which is the only error',
      { type: 'object', properties: { f: resource }, default: { f: { kind: 'P', metadata: { labels: { x: 5 } } } } },
      'default.f.metadata: Invalid value: {"labels":{"x":5}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    ],
    [
      'a name in embedded metadata',
      {
        ...resource,
        properties: { metadata: { type: 'object', properties: { name: { type: 'string', default: 'A/B' } } } },
      },
      `properties[metadata].properties[name].default: Invalid value: "A/B": must result in valid metadata: metadata.name: Invalid value: "A/B": may not contain '/'`,
    ],
    [
      'an empty apiVersion in a list of embedded resources',
      { type: 'array', items: { ...resource, properties: { apiVersion: { type: 'string', default: '' } } } },
      'items.properties[apiVersion].default: Invalid value: "": must result in valid metadata: apiVersion: Invalid value: "": must not be empty',
    ],
  ])('refuses %s', (_defect, property, ...causes) => {
    expect(problems(withSchema({ p: property }))).toEqual(causes.map((cause) => `${ROOT}.properties[p].${cause}`));
  });

  it('evaluates transition rules with the default as old and new value', () => {
    const grows = { 'x-kubernetes-validations': [{ rule: 'self > oldSelf' }] };
    expect(problems(withSchema({ n: { type: 'integer', default: 1, ...grows } }))).toEqual([
      `${ROOT}.properties[n].default: Invalid value: 1: failed rule: self > oldSelf`,
    ]);
  });
});

describe('several faults', () => {
  const list = { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'map' };
  const keys = `${ROOT}.properties[l].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`;

  it('reports structural errors and errors of extensions together', () => {
    expect(problems(withSchema({ l: list, b: { pattern: '(' } }))).toEqual([
      `${ROOT}.properties[b].pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): \`(\``,
      `${ROOT}.properties[b].type: Required value: must not be empty for specified object fields`,
      keys,
    ]);
  });

  it.each(['^\\u00b5$', '^(a)\\1$', '^\\cA$'])('refuses %s, which is only valid in JavaScript', (pattern) => {
    expect(problems(withSchema({ b: { type: 'string', pattern } }))).toHaveLength(1);
    expect(problems(withSchema({ b: { type: 'string', pattern: '^\\\\u00b5$' } }))).toEqual([]);
  });

  it('reports no structural errors for an unreadable schema', () => {
    const unread = { type: 'object', 'x-kubernetes-preserve-unknown-fields': false };
    expect(problems(withSchema({ l: list, b: {}, u: unread }))).toEqual([
      keys,
      `${ROOT}.properties[u].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined`,
    ]);
  });
});

describe('structural schemas', () => {
  it.each([
    [
      { a: { type: 'string', uniqueItems: true } },
      'properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
    ],
    [{ a: { $ref: '#/x' } }, 'properties[a].$ref: Forbidden: $ref is not supported'],
    [
      { a: { type: 'object', additionalProperties: { type: 'string' }, properties: { b: { type: 'string' } } } },
      'properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive',
    ],
    [{ a: {} }, 'properties[a].type: Required value: must not be empty for specified object fields'],
    [
      { a: { type: 'array', items: {} } },
      'properties[a].items.type: Required value: must not be empty for specified array items',
    ],
    [{ a: { type: 'array' } }, 'properties[a].items: Required value: must be specified'],
    [
      { a: { type: 'object', anyOf: [{ type: 'object' }] } },
      'properties[a].anyOf[0].type: Forbidden: must be empty to be structural',
    ],
    [
      { metadata: { type: 'object', properties: { labels: { type: 'object' } } } },
      'properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
    ],
    [
      { a: { type: 'integer', default: 'x' } },
      'properties[a].default: Invalid value: "string":  in body must be of type integer: "string"',
    ],
    [
      { a: { type: 'object', properties: {}, default: { c: 'd' } } },
      'properties[a].default: Invalid value: {"c":"d"}: must not have unknown fields',
    ],
    [
      { a: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'odd' } },
      'properties[a].x-kubernetes-list-type: Unsupported value: "odd": supported values: "atomic", "set", "map"',
    ],
    [
      {
        a: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          items: { type: 'object', properties: { k: { type: 'string' } } },
        },
      },
      'properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
    ],
  ] as [Fields, string][])('%j', (properties, expected) => {
    expect(problems(withSchema(properties))).toEqual([`${ROOT}.${expected}`]);
  });

  it('accepts int-or-string with its anyOf, nullable defaults and preserved unknown fields', () => {
    const properties = {
      a: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
      b: { type: 'string', nullable: true, default: null },
      c: { 'x-kubernetes-preserve-unknown-fields': true },
      metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 5 } } },
    };
    expect(problems(withSchema(properties))).toEqual([]);
  });
});

describe('structural schemas, with several errors', () => {
  const map = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] };
  const embedded = { type: 'object', 'x-kubernetes-embedded-resource': true };
  const k = { type: 'string' };

  it.each<[schema: Fields, ...fields: string[]]>([
    [{ nullable: true }, 'nullable'],
    [{ $schema: 'x' }, ''],
    [{ not: { properties: { b: {} } } }, 'properties[b]'],
    [{ properties: { a: { type: 'object', not: { properties: { b: {} } } } } }],
    [{ not: { properties: { metadata: {} } } }, 'not.properties[metadata]', 'properties[metadata]'],
    [{ properties: { a: { type: 'object', not: { title: '', nullable: false, additionalProperties: false } } } }],
    [{ not: { 'x-kubernetes-validations': [{ rule: 'true' }] } }, 'not.x-kubernetes-validations'],
    [{ not: { additionalProperties: { type: 'string' } } }, 'not.additionalProperties'],
    [{ properties: { a: { type: 'string', anyOf: [{ type: 'integer' }, { type: 'string' }] } } }],
    [
      { properties: { a: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'string' }] } } },
      'properties[a].anyOf[0].type',
    ],
    [
      {
        properties: {
          a: { 'x-kubernetes-int-or-string': true, allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }] },
        },
      },
    ],
    [
      { properties: { kind: { type: 'object' }, apiVersion: {}, metadata: { type: 'array', items: k } } },
      ...['properties[apiVersion].type', 'properties[apiVersion].type', 'properties[kind].type'],
      ...['properties[metadata].type', 'properties[metadata]'],
    ],
    [{ properties: { metadata: { type: 'object', description: 'd' } } }, 'properties[metadata]'],
    [
      { properties: { metadata: { type: 'object', properties: { name: { ...k, default: 'n' } } } } },
      'properties[metadata].properties[name].default',
    ],
    [{ properties: { kind: { ...k, default: 'n' } } }, 'properties[kind].default'],
    [
      { properties: { a: { ...embedded, additionalProperties: k } } },
      'properties[a].additionalProperties',
      'properties[a].properties',
    ],
    [
      {
        properties: {
          a: {
            ...embedded,
            properties: { metadata: { type: 'object', properties: { l: { ...embedded, properties: { a: k } } } } },
          },
        },
      },
      'properties[a].properties[metadata].properties[l].x-kubernetes-embedded-resource',
    ],
    [
      { properties: { a: { ...map, items: { type: 'object', nullable: true, required: ['k'], properties: { k } } } } },
      'properties[a].items.nullable',
    ],
    [
      { properties: { a: { ...map, items: { properties: { k } } } } },
      ...['properties[a].items.type', 'properties[a].items.type', 'properties[a].items.properties[k].default'],
    ],
  ])('%j', (root, ...fields) => {
    const properties = (root.properties ?? {}) as Fields;
    const found = validateCrd(withSchema(properties, root)).map(({ field = '' }) => field);
    expect(found).toEqual(fields.map((field) => (field === '' ? ROOT : `${ROOT}.${field}`)));
  });
});

it('warns about formats that the server does not check, unless the CRD had them before', () => {
  const formats = {
    a: { type: 'string', format: 'odd' },
    b: { type: 'integer', format: 'int8' },
    c: { type: 'boolean', format: 'date' },
    d: { type: 'string', format: 'date-time' },
    e: { type: 'string', format: 'hex-color' },
    f: { type: 'array', items: { type: 'number', format: 'double' } },
    g: { type: 'object', additionalProperties: { type: 'string', not: { format: 'bad' } } },
    h: { type: 'string', format: 'k8s-short-name' },
  };
  const crd = withSchema(formats);
  expect(formatWarnings(crd, undefined)).toEqual(
    ['odd', 'int8', 'date', 'bad'].map((f) => `unrecognized format "${f}"`),
  );
  expect(formatWarnings(crd, withSchema({ a: formats.a, b: formats.b, c: formats.c }))).toEqual([
    'unrecognized format "bad"',
  ]);
});

it('a write of the status is validated without its stored versions', () => {
  const object = crd();
  object.status = { acceptedNames: { plural: 'A', kind: '' }, storedVersions: [] };
  expect(validateCrdStatus(object).map(({ field }) => field)).toEqual(['status.acceptedNames.plural']);
});

describe('paths of a CRD', () => {
  const properties = {
    spec: {
      type: 'object',
      properties: { a: { type: 'string' }, o: { type: 'object', properties: { x: { type: 'string' } } } },
    },
    metadata: { type: 'object', properties: { name: { type: 'string' } } },
  };
  const withVersion = (more: Fields): string[] =>
    problems(crd({ versions: [version({ schema: { openAPIV3Schema: { type: 'object', properties } }, ...more })] }));

  it('requires only a leading period in paths of columns and of the scale subresource', () => {
    const column = (jsonPath: string): string[] =>
      withVersion({ additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath }] });
    expect(column('spec.a')).toEqual([
      'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec.a": must be a simple json path starting with .',
    ]);
    expect(column('.spec.a[')).toEqual([]);
    const scale = { specReplicasPath: '.spec.r[0]', statusReplicasPath: '.status.r', labelSelectorPath: '.x' };
    expect(withVersion({ subresources: { scale } })).toEqual([
      'spec.subresources.scale.labelSelectorPath: Invalid value: ".x": should be a json path under either .spec or .status',
    ]);
  });

  it.each<[paths: string[], ...expected: string[]]>([
    [['.spec.a', '.spec.o.x']],
    [['.spec.a', '.spec.a'], '[1].jsonPath: Duplicate value: ".spec.a"'],
    [['.metadata.name'], '[0].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata'],
    [["['spec'].a"], '[0].jsonPath: Invalid value: "[\'spec\'].a": is an invalid path: array notation is not allowed'],
    [['.spec.'], '[0].jsonPath: Invalid value: ".spec.": is an invalid path: unexpected end of JSON path'],
    [['.spec.b'], '[0].jsonPath: Invalid value: ".spec.b": is an invalid path: does not refer to a valid field'],
    [['spec.a'], '[0].jsonPath: Invalid value: "spec.a": is an invalid path: expected [ or . but got: spec'],
    [
      ['.spec.o', '.spec.o'],
      ...[0, 1].map(
        (at) =>
          `[${at}].jsonPath: Invalid value: ".spec.o": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.`,
      ),
      '[1].jsonPath: Duplicate value: ".spec.o"',
    ],
  ])('selectable fields %j', (paths, ...expected) => {
    const found = withVersion({ selectableFields: paths.map((jsonPath) => ({ jsonPath })) });
    expect(found).toEqual(expected.map((text) => `spec.selectableFields${text}`));
  });
});

describe('CEL rules', () => {
  const rules = (...list: Fields[]): Fields => ({
    a: { type: 'string', maxLength: 9, 'x-kubernetes-validations': list },
  });
  const at = `${ROOT}.properties[a].x-kubernetes-validations[0]`;

  it('CEL rules must compile to a bool', () => {
    const dump = (rule: string): string =>
      `{"Rule":${rule},"Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}`;
    expect(problems(withSchema(rules({ rule: 'self.x > 1' })))).toEqual([
      `${at}.rule: Invalid value: ${dump('"self.x \\u003e 1"')}: compilation failed: ERROR: <input>:1:5: type 'string' does not support field selection\n | self.x > 1\n | ....^`,
    ]);
    expect(problems(withSchema(rules({ rule: 'self' })))).toEqual([
      `${at}.rule: Invalid value: ${dump('"self"')}: cel expression must evaluate to a bool`,
    ]);
  });

  it.each([
    [{ rule: '' }, '.rule: Required value: rule is not specified'],
    [
      { rule: 'true', reason: 'Odd' },
      '.reason: Unsupported value: "Odd": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
    ],
    [{ rule: 'true', fieldPath: '.c' }, '.fieldPath: Invalid value: ".c": must be a valid path'],
    [{ rule: 'true', message: 'two\nlines' }, '.message: Invalid value: "two\\nlines": must not contain line breaks'],
  ])('%j', (rule, expected) => {
    expect(problems(withSchema(rules(rule)))).toEqual([`${at}${expected}`]);
  });

  it('CEL rules have a limit for their cost', () => {
    const inner = { type: 'array', items: { type: 'array', items: { type: 'string' } } };
    const dear = { ...inner, 'x-kubernetes-validations': [{ rule: 'self.all(x, x.all(y, y.matches("a")))' }] };
    expect(problems(withSchema({ a: dear })).map((problem) => problem.replace(/\(try.*/, ''))).toEqual([
      `${at}.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x `,
      `${at}.rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema`,
      `${ROOT}: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x `,
    ]);
    const bounded = {
      ...dear,
      maxItems: 5,
      items: { type: 'array', maxItems: 5, items: { type: 'string', maxLength: 10 } },
    };
    expect(problems(withSchema({ a: bounded }))).toEqual([]);
  });

  it('the cost of startsWith and endsWith depends on the prefix, not on the text', () => {
    const amounts = (...rule: string[]): string[] => {
      const quantities = { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] };
      const a = { type: 'object', maxProperties: 20, additionalProperties: quantities };
      return problems(withSchema({ a: { ...a, 'x-kubernetes-validations': rule.map((each) => ({ rule: each })) } }));
    };
    expect(amounts("self.all(k, !self[k].startsWith('-') && quantity(self[k]).isInteger())")).toEqual([]);
    expect(amounts('self.all(k, isQuantity(self[k]) && quantity(self[k]).isInteger())')).toHaveLength(1);
  });

  it.each([
    [{ type: 'string' }, "self.split('').all(x, x == 'a')", '1.6x'],
    [{ type: 'string', enum: ['a', 'bbbb'] }, "self.split('').all(x, self.matches('a'))", undefined],
    [{ type: 'string', maxLength: 200_000 }, "self.findAll('a').all(x, x == self)", 'more than 100x'],
    [{ type: 'array', maxItems: 3000, items: { type: 'integer' } }, 'self.all(x, self.all(y, x == y))', '4.5x'],
    [{ type: 'array', maxItems: 3000, items: { type: 'integer' } }, 'self.exists(x, self.exists(y, x == y))', '5.4x'],
    [{ type: 'array', maxItems: 3000, items: { type: 'integer' } }, 'self.sortBy(x, -x) == self', '1.8x'],
    [{ type: 'array', maxItems: 3000, items: { type: 'integer' } }, 'sets.equivalent(self, self)', '1.8x'],
  ])('%j with the rule %s costs as much as on kube-apiserver', (schema, rule, factor) => {
    const found = problems(withSchema({ a: { ...schema, 'x-kubernetes-validations': [{ rule }] } }));
    const words = found.map((problem) => /estimated rule cost exceeds budget by factor of (.*) \(/.exec(problem)?.[1]);
    expect(words[0]).toBe(factor);
  });

  it('lists without limits multiply the cost of a rule by the number of values in a request', () => {
    const text = { type: 'string', maxLength: 10, 'x-kubernetes-validations': [{ rule: "self.matches('a')" }] };
    const lists = { type: 'array', items: { type: 'array', items: text } };
    expect(problems(withSchema({ a: lists }))).toEqual([]);
  });

  it('an error in a rule of a field does not hide an error in a rule above', () => {
    const inner = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self.x' }] };
    const outer = { type: 'object', properties: { b: inner }, 'x-kubernetes-validations': [{ rule: 'self.c > 1' }] };
    expect(problems(withSchema({ a: outer }))).toHaveLength(2);
  });

  it.each([
    ['[self, 1].size() == 1', "expected type 'string' but found 'int'"],
    ["'%d'.format([self]) == ''", 'decimal clause can only be used on integers, was given string'],
    ["'%s'.format([self, 1]) == ''", 'too many arguments supplied to string.format (expected 1, got 2)'],
    ["self.matches('(')", 'invalid matches argument'],
    ["self.find('(') == ''", 'program instantiation failed: error parsing regexp'],
    ["duration('x') == duration('1s')", 'invalid duration argument'],
    ["'é' + 1 == ''", '\n | .．..^'],
    ["cel.bind(x, self, x == 'a')", "undeclared reference to 'cel'"],
  ])('the rule %s of a text is refused: %s', (rule, words) => {
    const a = { type: 'string', 'x-kubernetes-validations': [{ rule }] };
    expect(problems(withSchema({ a })).join()).toContain(words);
  });

  it('an error of a list does not hide errors in rules of its items', () => {
    const a = { type: 'string', 'x-kubernetes-validations': [{ rule: 'self.x' }] };
    const items = { type: 'object', properties: { a } };
    const list = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a'], items };
    expect(problems(withSchema({ a: list }))).toEqual([
      expect.stringContaining('items.properties[a].default: Required value'),
      expect.stringContaining("type 'string' does not support field selection"),
    ]);
  });

  it('a rule of a value that rules cannot read is an internal error', () => {
    const any = { 'x-kubernetes-preserve-unknown-fields': true, 'x-kubernetes-validations': [{ rule: 'true' }] };
    expect(problems(withSchema({ a: any }))).toEqual([
      expect.stringContaining('unable to convert structural schema to CEL declarations'),
    ]);
  });

  it('an embedded resource in a default needs an apiVersion and a kind', () => {
    const embedded = {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    };
    const at = `${ROOT}.properties[a].default`;
    const of = (value: unknown): string[] =>
      problems(withSchema({ a: { type: 'array', items: embedded, default: value } }));
    expect(of([{ apiVersion: 'v1', kind: 'Pod' }])).toEqual([]);
    expect(of([{ kind: 'Pod' }, { apiVersion: 'a/b/c', kind: '' }])).toEqual([
      `${at}[0].apiVersion: Required value`,
      `${at}[1].apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`,
      `${at}[1].kind: Invalid value: "": must not be empty`,
    ]);
  });

  it('rules cannot read fields without a type', () => {
    const of = (property: Fields, rule: string): string[] =>
      problems(
        withSchema({ a: { type: 'object', properties: { b: property }, 'x-kubernetes-validations': [{ rule }] } }),
      );
    const any = { 'x-kubernetes-preserve-unknown-fields': true };
    expect(of(any, 'has(self.b)').join()).toContain("undefined field 'b'");
    expect(of({ type: 'array', items: any }, 'self.b.size() > 1').join()).toContain("undefined field 'b'");
    expect(of({ type: 'object', ...any }, 'has(self.b.c)').join()).toContain("undefined field 'c'");
    expect(of({ type: 'object', ...any }, 'self.b == self.b')).toEqual([]);
  });

  it('selectable fields need a schema at the level at which the server stores them', () => {
    const schema = { openAPIV3Schema: { type: 'object', properties: { a: { type: 'string' } } } };
    const selectable = { selectableFields: [{ jsonPath: '.a' }] };
    const both = (first: Fields, second: Fields): string[] =>
      problems(crd({ versions: [version({ schema, ...first }), version({ name: 'v2', storage: false, ...second })] }));
    expect(both(selectable, { schema })).toEqual([
      'spec.versions[0].selectableFields: Invalid value: "": may only be set when `version.schema.openAPIV3Schema` is not included',
    ]);
    expect(both(selectable, { schema, ...selectable })).toEqual([]);
    expect(both(selectable, selectable)).toEqual([
      'spec.selectableFields: Invalid value: "": may only be set when validations.schema is included',
    ]);
  });

  it('CEL rules report optionalOldSelf also if the rule does not compile', () => {
    const fields = (rule: Fields): unknown[] => validateCrd(withSchema(rules(rule))).map(({ field }) => field);
    expect(fields({ rule: 'self.x', optionalOldSelf: true })).toEqual([`${at}.rule`, `${at}.optionalOldSelf`]);
    expect(fields({ rule: 'self', optionalOldSelf: false })).toEqual([`${at}.rule`, `${at}.optionalOldSelf`]);
    expect(fields({ rule: "oldSelf.hasValue() || self == 'a'", optionalOldSelf: true })).toEqual([]);
  });

  it.each([
    ['.b', true],
    ["['b']", true],
    ['.m.key', true],
    ["['m']['a.b\\'c']", true],
    ['.b.c', false],
    ['.m', true],
    ['b', false],
    ["['b'", false],
    ["['\\q']", false],
  ])('the field path %s of a rule is valid: %s', (fieldPath, isValid) => {
    const a = {
      type: 'object',
      properties: { b: { type: 'string' }, m: { type: 'object', additionalProperties: { type: 'string' } } },
      'x-kubernetes-validations': [{ rule: 'true', fieldPath }],
    };
    const wrong = `${at}.fieldPath: Invalid value: ${JSON.stringify(fieldPath)}: must be a valid path`;
    expect(problems(withSchema({ a }))).toEqual(isValid ? [] : [wrong]);
  });

  it('CEL rules may use oldSelf in values of maps and in properties of an atomic object', () => {
    const item = { type: 'string', maxLength: 9, 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] };
    const atomic = { type: 'object', 'x-kubernetes-map-type': 'atomic' };
    const fields = (a: Fields): unknown[] => validateCrd(withSchema({ a })).map(({ field }) => field);
    expect(fields({ ...atomic, maxProperties: 9, additionalProperties: item })).toEqual([]);
    expect(fields({ ...atomic, properties: { b: item } })).toEqual([]);
  });

  it('CEL rules may use oldSelf only if the old value can be found', () => {
    const item = { type: 'string', maxLength: 9, 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] };
    const list = { type: 'array', maxItems: 9, items: item };
    expect(problems(withSchema({ a: list }))).toEqual([
      `${ROOT}.properties[a].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${ROOT}.properties[a]`,
    ]);
    expect(problems(withSchema({ a: item }))).toEqual([]);
  });
});

describe('crdStatus', () => {
  it('crdStatus accepts names and establishes', () => {
    const object = crd();
    expect(object.status).toEqual({
      conditions: null,
      acceptedNames: { plural: '', kind: '' },
      storedVersions: ['v1'],
    });
    const status = crdStatus(object, [object], now);
    expect(status.acceptedNames).toEqual({ plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' });
    expect(status.conditions?.map(({ type, status: value, reason }) => `${type}=${value} ${reason}`)).toEqual([
      'NamesAccepted=True NoConflicts',
      'Established=True InitialNamesAccepted',
    ]);
    object.status = status;
    expect(crdStatus(object, [object], new Date('2030-01-01T00:00:00Z'))).toBe(status);
  });

  it('crdStatus does not accept names of another CRD of the group', () => {
    const first = crd();
    first.status = crdStatus(first, [], now);
    const second = crd(
      { names: { plural: 'others', singular: 'other', kind: 'Thing', listKind: 'ThingList' } },
      'others.g.example',
    );
    const status = crdStatus(second, [first, second], now);
    expect(status.acceptedNames).toEqual({ plural: 'others', singular: 'other', kind: '' } as never);
    expect(status.conditions?.[0]).toMatchObject({
      status: 'False',
      reason: 'ListKindConflict',
      message: '"ThingList" is already in use',
    });
    expect(status.conditions?.[1]).toMatchObject({ status: 'False', reason: 'NotAccepted' });
  });

  it('crdStatus adds a new storage version to the stored ones', () => {
    const object = crd();
    object.status = crdStatus(object, [], now);
    (object.spec as Fields).versions = [version({ storage: false }), version({ name: 'v2' })];
    expect(crdStatus(object, [], now).storedVersions).toEqual(['v1', 'v2']);
  });
});

describe('kindsOfCrd', () => {
  it('creates a kind for each served version', () => {
    const object = crd({
      versions: [
        version({
          subresources: { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
          additionalPrinterColumns: [{ name: 'N', type: 'integer', jsonPath: '.spec.n' }],
          selectableFields: [{ jsonPath: '.spec.color' }],
        }),
        version({ name: 'v1beta1', storage: false, deprecated: true }),
        version({ name: 'v1alpha1', storage: false, served: false }),
      ],
    });
    const [v1, beta, ...rest] = kindsOfCrd(object);
    expect(rest).toEqual([]);
    expect(v1).toMatchObject({
      version: 'v1',
      storage: true,
      custom: true,
      namespaced: true,
      subresources: { status: true, scale: { specReplicasPath: '.spec.n' } },
    });
    expect(
      v1?.selectableFields?.['spec.color']?.({ apiVersion: '', kind: '', metadata: {}, spec: { color: 'red' } }),
    ).toBe('red');
    expect(beta?.deprecationWarning).toBe('g.example/v1beta1 Thing is deprecated; use g.example/v1 Thing');
  });
});
