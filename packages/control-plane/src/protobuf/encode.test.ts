import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { apiVersionOf } from '../apimachinery/objects/kind.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { builtinKinds } from '../kinds/index.ts';
import { fieldsOfModel } from '../resources/schemas.ts';
import { roundTrip } from '../resources/shape.ts';
import { decodeProtobuf } from './decode.ts';
import { encodeProtobuf, encodeWatchEvent, hasProtobuf } from './encode.ts';

interface Event {
  readonly type: string;
  readonly object: ApiObject;
}

interface Recorded {
  readonly path: string;
  readonly json: ApiObject | readonly Event[];
  readonly protobuf: string;
}

const recorded = JSON.parse(
  readFileSync(new URL('../../testdata/protobuf/answers.json', import.meta.url), 'utf8'),
) as readonly Recorded[];

const isStream = (json: Recorded['json']): json is readonly Event[] => Array.isArray(json);

describe('encodeProtobuf', () => {
  it.each(recorded.map((one) => [one.path, one] as const))(
    'writes %s byte by byte as the real server does',
    (_, { json, protobuf }) => {
      const written = isStream(json)
        ? Buffer.concat(json.map(({ type, object }) => encodeWatchEvent(type, object)))
        : Buffer.from(encodeProtobuf(json as ApiObject));
      expect(written.toString('latin1')).toBe(Buffer.from(protobuf, 'base64').toString('latin1'));
    },
  );

  it('writes integers of 64 bits, negative ones too, and reads them again', () => {
    const object = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', generation: 2 ** 40 },
      spec: { containers: [], securityContext: { runAsUser: -1, fsGroup: 2 ** 53 - 1 } },
    };
    expect(decodeProtobuf(encodeProtobuf(object), () => undefined)).toMatchObject({
      metadata: { generation: 2 ** 40 },
      spec: { securityContext: { runAsUser: -1, fsGroup: 2 ** 53 - 1 } },
    });
  });

  it('refuses a kind that has no protobuf form', () => {
    expect(hasProtobuf('g.example/v1', 'Thing')).toBe(false);
    expect(() => encodeProtobuf({ apiVersion: 'g.example/v1', kind: 'Thing' })).toThrow(/no protobuf form/);
  });
});

const SCALARS: Readonly<Record<string, unknown>> = {
  // A quantity counts as a string, because the models have no type for quantities.
  string: '5',
  boolean: true,
  number: 1.5,
  double: -2.25,
  int32: -7,
  int64: 2 ** 40,
  byte: 'aGk=',
  'date-time': '2024-01-02T03:04:05Z',
  'date-time-micro': '2024-01-02T03:04:05.000600Z',
  'int-or-string': '50%',
  quantity: '100m',
  any: { a: [1, 'b', null] },
};
const WALK_DEPTH = 7;

function sampleOf(type: string, depth: number): unknown {
  if (type.startsWith('[]')) return [sampleOf(type.slice(2), depth)];
  if (type.startsWith('{}')) return { b: sampleOf(type.slice(2), depth), a: sampleOf(type.slice(2), depth) };
  if (!/^[A-Z]/.test(type)) return SCALARS[type];
  const { fields } = fieldsOfModel(type);
  const value: Record<string, unknown> = {};
  if (depth > WALK_DEPTH) return value;
  for (const [name, field] of Object.entries(fields)) {
    // The envelope contains the type of the object, but nested objects have no type.
    if ('metadata' in fields && (name === 'apiVersion' || name === 'kind')) continue;
    value[name] = sampleOf(field, depth + 1);
  }
  return value;
}

describe('a round trip', () => {
  const kinds = builtinKinds.filter(({ model, group }) => model !== undefined && group !== 'apiextensions.k8s.io');
  it.each(kinds.map((kind) => [`${apiVersionOf(kind)} ${kind.kind}`, kind] as const))(
    'of %s with every field set loses nothing',
    (name, kind) => {
      const apiVersion = apiVersionOf(kind);
      const object = { ...(sampleOf(kind.model ?? '', 0) as object), apiVersion, kind: kind.kind } as ApiObject;
      roundTrip(object, kind.model ?? '');
      const again = decodeProtobuf(encodeProtobuf(object), () => kind);
      roundTrip(again, kind.model ?? '');
      expect(again, name).toEqual(object);
    },
  );
});
