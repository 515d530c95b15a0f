import { describe, expect, it } from 'vitest';
import { builtinKinds } from '../kinds/index.ts';
import { WireReader } from '../protobuf/reader.ts';
import { openApiV2, openApiV2Piece } from './index.ts';
import { encodeOpenApiV2 } from './v2-protobuf.ts';

/** Maps the numbers of fields to their values. */
type Decoded = ReadonlyMap<number, readonly (Uint8Array | bigint)[]>;

function decode(bytes: Uint8Array): Decoded {
  const fields = new Map<number, (Uint8Array | bigint)[]>();
  for (const { number, bytes: value, varint } of new WireReader(bytes).fields()) {
    fields.set(number, [...(fields.get(number) ?? []), value ?? varint]);
  }
  return fields;
}

const all = (message: Decoded, number: number): Uint8Array[] =>
  (message.get(number) ?? []).filter((value) => typeof value !== 'bigint');
const at = (message: Decoded, ...way: readonly number[]): Decoded =>
  way.reduce((inner, number) => decode(all(inner, number)[0] ?? new Uint8Array()), message);
const texts = (message: Decoded, number: number): string[] =>
  all(message, number).map((bytes) => Buffer.from(bytes).toString());
const doubles = (message: Decoded, number: number): number[] =>
  all(message, number).map((bytes) => Buffer.from(bytes).readDoubleLE());
const named = (message: Decoded, number: number): Map<string, Decoded> =>
  new Map(all(message, number).map((bytes) => [texts(decode(bytes), 1)[0] ?? '', at(decode(bytes), 2)]));
const yaml = (message: Decoded | undefined): unknown => JSON.parse(texts(message ?? new Map(), 2)[0] ?? 'null');

const encode = (document: unknown): Decoded => decode(encodeOpenApiV2(JSON.stringify(document)));
const schemaOf = (schema: unknown): Decoded =>
  named(at(encode({ definitions: { a: schema } }), 9), 1).get('a') ?? new Map();

const [PATHS, DEFINITIONS] = [8, 9];

describe('the document of the built-in kinds', () => {
  const json = openApiV2([openApiV2Piece(builtinKinds)]);
  const bytes = encodeOpenApiV2(json);
  const document = decode(bytes);
  const expected = JSON.parse(json) as Record<'paths' | 'definitions', Record<string, unknown>>;

  it('has every path and definition, and is not larger than JSON', () => {
    expect(texts(document, 1)).toEqual(['2.0']);
    expect([...named(at(document, PATHS), 2).keys()]).toEqual(Object.keys(expected.paths));
    expect([...named(at(document, DEFINITIONS), 1).keys()]).toEqual(Object.keys(expected.definitions));
    expect(bytes.length).toBeLessThan(json.length);
    // A cached document must have no spare capacity in its buffer.
    expect(bytes.buffer.byteLength).toBe(bytes.length);
  });

  it('contains the fields of an operation that kubectl reads', () => {
    const item = named(at(document, PATHS), 2).get('/api/v1/namespaces/{namespace}/pods/{name}') ?? new Map();
    const patch = at(item, 8);
    expect(texts(patch, 5)).toEqual(['patchCoreV1NamespacedPod']);
    const gvk = named(patch, 13).get('x-kubernetes-group-version-kind');
    expect(yaml(gvk)).toEqual({ group: '', version: 'v1', kind: 'Pod' });
    const parameters = all(patch, 8).map((one) => at(decode(one), 1));
    const [body, ...others] = parameters;
    expect(texts(at(body ?? new Map(), 1, 5), 1)).toEqual(['#/definitions/io.k8s.api.core.v1.Pod']);
    expect(others.flatMap((one) => texts(at(one, 2, 3), 4))).toEqual(
      expect.arrayContaining(['dryRun', 'fieldManager', 'fieldValidation', 'force']),
    );
    expect(all(item, 9).flatMap((one) => texts(at(decode(one), 1, 2, 4), 4))).toEqual(['name', 'namespace']);
    const answers = named(at(patch, 9), 1);
    expect([...answers.keys()]).toEqual(['200', '401']);
    expect(texts(at(answers.get('200') ?? new Map(), 1, 2, 1), 1)).toEqual(['#/definitions/io.k8s.api.core.v1.Pod']);
  });

  it('has the keywords of schemas: types, items, values of maps, extensions', () => {
    const definitions = named(at(document, DEFINITIONS), 1);
    const spec = definitions.get('io.k8s.api.core.v1.PodSpec') ?? new Map();
    expect(texts(at(spec, 22), 1)).toEqual(['object']);
    expect(texts(spec, 19)).toEqual(['containers']);
    const properties = named(at(spec, 25), 1);
    const containers = properties.get('containers') ?? new Map();
    expect(texts(at(containers, 22), 1)).toEqual(['array']);
    expect(texts(at(containers, 23, 1), 1)).toEqual(['#/definitions/io.k8s.api.core.v1.Container']);
    expect(yaml(named(containers, 31).get('x-kubernetes-list-map-keys'))).toEqual(['name']);
    expect(texts(at(properties.get('nodeSelector') ?? new Map(), 21, 1, 22), 1)).toEqual(['string']);
  });
});

describe('a schema', () => {
  it('has numbers of each type, and zero values only where they matter', () => {
    const schema = schemaOf({
      maximum: 1.5,
      minimum: 0,
      maxLength: 300,
      minLength: 0,
      readOnly: true,
      uniqueItems: false,
    });
    expect([...schema.keys()]).toEqual([7, 11, 27]);
    expect([doubles(schema, 7), schema.get(11), schema.get(27)]).toEqual([[1.5], [300n], [1n]]);
    expect(at(schemaOf({ additionalProperties: false }), 21).get(2)).toEqual([0n]);
    expect(at(schemaOf({ additionalProperties: true }), 21).get(2)).toEqual([1n]);
    expect(schemaOf({ maxLength: -1 }).get(11)).toEqual([2n ** 64n - 1n]);
  });

  it('writes any value as YAML, also an empty one', () => {
    const schema = schemaOf({ default: '', example: { a: [null] }, enum: ['', 'ä', 0], 'x-large': 'é' });
    expect(yaml(at(schema, 5))).toBe('');
    expect(yaml(at(schema, 30))).toEqual({ a: [null] });
    expect(all(schema, 20).map((one) => yaml(decode(one)))).toEqual(['', 'ä', 0]);
    expect(yaml(named(schema, 31).get('x-large'))).toBe('é');
    const large = '{"definitions":{"a":{"default":9007199254740993}}}';
    const definition = named(at(decode(encodeOpenApiV2(large)), 9), 1).get('a') ?? new Map();
    expect(texts(at(definition, 5), 2)).toEqual(['9007199254740993\n']);
  });

  it('has properties with any name, and omits keywords that the message does not have', () => {
    const properties = named(at(schemaOf({ properties: { 'x-a': { title: 't' }, constructor: {} } }), 25), 1);
    expect([...properties.keys()]).toEqual(['x-a', 'constructor']);
    expect(texts(properties.get('x-a') ?? new Map(), 3)).toEqual(['t']);
    expect(schemaOf({ oneOf: [{}], nullable: true, toString: 'x', title: 3, allOf: null }).size).toBe(0);
  });
});

describe('fields with several forms', () => {
  it.each([
    ['header', 1, 5],
    ['formData', 2, 6],
    ['query', 3, 6],
    ['path', 4, 5],
  ])('a parameter in %s is form %i', (place, form, type) => {
    const parameter = { name: 'a', in: place, type: 'string', enum: ['b'] };
    const item = at(named(at(encode({ paths: { '/': { parameters: [parameter] } } }), 8), 2).get('/') ?? new Map(), 9);
    expect([...at(item, 1, 2).keys()]).toEqual([form]);
    const made = at(item, 1, 2, form);
    expect([texts(made, 2), texts(made, 4), texts(made, type)]).toEqual([[place], ['a'], ['string']]);
    expect(yaml(at(made, type + 15))).toBe('b');
  });

  it.each([
    [{ type: 'basic' }, 1],
    [{ type: 'apiKey', name: 'authorization', in: 'header' }, 2],
    [{ type: 'oauth2', flow: 'implicit', scopes: { a: 'b' } }, 3],
    [{ type: 'oauth2', flow: 'password', scopes: {} }, 4],
    [{ type: 'oauth2', flow: 'application', scopes: {} }, 5],
    [{ type: 'oauth2', flow: 'accessCode', scopes: {} }, 6],
  ])('%j is a security definition of form %i', (definition, form) => {
    const made = named(at(encode({ securityDefinitions: { a: definition } }), 13), 1).get('a') ?? new Map();
    expect([...made.keys()]).toEqual([form]);
    expect(texts(at(made, form), 1)).toEqual([definition.type]);
  });

  it('a reference can replace a parameter or a response', () => {
    const paths = {
      '/': { parameters: [{ $ref: '#/p' }], get: { responses: { default: { $ref: '#/r' }, 'x-a': 1 } } },
    };
    const item = named(at(encode({ paths }), 8), 2).get('/') ?? new Map();
    expect(texts(at(item, 9, 2), 1)).toEqual(['#/p']);
    const responses = at(item, 2, 9);
    expect(texts(at(named(responses, 1).get('default') ?? new Map(), 2), 1)).toEqual(['#/r']);
    expect([...named(responses, 1).keys(), ...named(responses, 2).keys()]).toEqual(['default', 'x-a']);
  });
});
