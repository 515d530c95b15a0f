import type { Draw } from './draw.ts';
import { type Json, raw } from './json.ts';
import type { Schema, Schemas } from './schema.ts';

/** Below this depth of an object, the fuzzer generates only required fields. */
const DEEP = 6;

const NAMES = ['a', 'b', 'x', 'c-1', 'a.b'];
const KEYS = ['a', 'app', 'example.dev/k', 'kubernetes.io/hostname', 'b-1'];
const TEXTS = [
  'a',
  'x',
  'b',
  '',
  'a b',
  'A',
  'example.dev/a',
  '1.2.3.4',
  '10.0.0.0/8',
  '/a',
  '5',
  'a:b',
  'https://a.b',
];
const TIMES = ['2024-01-01T00:00:00Z', '2024-02-29T12:00:00Z', '2024-01-01T00:00:00+02:00', '2030-06-01T01:02:03Z'];
const MICRO = [
  '2024-01-01T00:00:00.000000Z',
  '2024-02-29T12:00:00.123456Z',
  '2024-01-01T00:00:00.5Z',
  '2024-01-01T00:00:00Z',
];
export const QUANTITIES = [
  '1',
  '0',
  '100m',
  '1Gi',
  '1.5',
  '0.5Gi',
  '1e3',
  '10M',
  '-1',
  '1500m',
  '0.0001',
  '12345678901234567890',
];
const BY_NAME: Readonly<Record<string, readonly string[]>> = {
  apiVersion: ['v1', 'apps/v1', 'example.dev/v1'],
  kind: ['Pod', 'Deployment', 'Node', 'Widget'],
  namespace: ['${ns}', 'other'],
  ip: ['1.2.3.4', '::1', '1.2.3.256'],
  ips: ['1.2.3.4', 'fd00::1'],
  cidr: ['10.0.0.0/8', '10.0.0.1/8', 'fd00::/8'],
  mountPath: ['/v', '/w', 'v'],
  path: ['/x', 'x', '../x', '/a/../b'],
  image: ['i', 'example.dev/i:1', ' i'],
  uid: ['00000000-0000-0000-0000-000000000001', 'u'],
  topologyKey: ['zone', 'kubernetes.io/hostname', ''],
  operator: ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Equal', 'x'],
  effect: ['NoSchedule', 'NoExecute', 'PreferNoSchedule', 'x'],
  protocol: ['TCP', 'UDP', 'SCTP', 'tcp'],
  whenUnsatisfiable: ['DoNotSchedule', 'ScheduleAnyway', 'x'],
  status: ['True', 'False', 'Unknown', 'x'],
  type: ['Ready', 'Available', 'Progressing', 'RollingUpdate', 'OnDelete', 'Recreate', 'x'],
  fieldPath: ['metadata.name', 'metadata.labels', 'spec.nodeName', "metadata.labels['a']", 'status.x'],
  resource: ['limits.cpu', 'requests.memory', 'cpu', 'pods'],
  restartPolicy: ['Always', 'OnFailure', 'Never', 'x'],
};

const INTEGERS: readonly Json[] = [0, 1, 2, 3, 5, 10, 80, 100, 3600];
const EDGES: readonly Json[] = [
  -1,
  65535,
  65536,
  2147483647,
  raw('2147483648'),
  raw('9007199254740993'),
  raw('9223372036854775807'),
  raw('9223372036854775808'),
]; // prettier-ignore

/**
 * Returns a random value that matches the schema of a field. A server may still refuse the value, because some rules
 * are not part of the schema.
 */
export function makeValue(draw: Draw, schemas: Schemas, given: Schema, field: string, depth = 0): Json {
  const { schema, name } = schemas.resolve(given);
  if (schema.enum !== undefined && schema.enum.length > 0 && draw.chance(0.95)) return draw.pick(schema.enum);
  if (name.endsWith('.Quantity')) return draw.pick(QUANTITIES);
  if (
    name.endsWith('.IntOrString') ||
    schema['x-kubernetes-int-or-string'] === true ||
    schema.format === 'int-or-string'
  )
    return draw.pick<Json>([1, 0, '10%', '50%', 'http', 80, -1, '101%', '1']);
  if (name.endsWith('.FieldsV1')) return { 'f:spec': {} };
  if (name.endsWith('.MicroTime')) return draw.pick(MICRO);
  if (name.endsWith('.Time') || schema.format === 'date-time') return draw.pick(TIMES);
  switch (schema.type) {
    case 'string':
      return textOf(draw, schema, field);
    case 'boolean':
      return draw.chance(0.5);
    case 'integer':
      return draw.chance(0.85) ? draw.pick(INTEGERS) : draw.pick(EDGES);
    case 'number':
      return draw.pick<Json>([0, 1, 1.5, -1, 1e21, 0.1]);
    case 'array':
      return Array.from(
        {
          length: draw.weigh([
            [1, 0],
            [6, 1],
            [3, 2],
          ]),
        },
        () => makeValue(draw, schemas, schema.items ?? {}, field.replace(/s$/, ''), depth + 1),
      ); // prettier-ignore
    default:
      return objectOf(draw, schemas, schema, depth);
  }
}

function textOf(draw: Draw, schema: Schema, field: string): string {
  if (schema.format === 'byte') return draw.pick(['AAE=', '', 'dg==', 'aGk']);
  const known = BY_NAME[field];
  if (known !== undefined && draw.chance(0.8)) return draw.pick(known);
  if (/name$/i.test(field) && draw.chance(0.8)) return draw.pick(NAMES);
  if (/key$/i.test(field) && draw.chance(0.8)) return draw.pick(KEYS);
  return draw.pick(TEXTS);
}

function objectOf(draw: Draw, schemas: Schemas, schema: Schema, depth: number): Json {
  const { properties, additionalProperties, required = [] } = schema;
  const result: Record<string, Json> = {};
  if (properties !== undefined) {
    // For types with many fields, only few fields are set, so that objects stay readable and servers accept most of
    // them.
    const share = depth >= DEEP ? 0 : Math.min(0.5, 2 / Math.max(1, Object.keys(properties).length));
    for (const [key, property] of Object.entries(properties))
      if (required.includes(key) ? draw.chance(0.97) : draw.chance(share))
        result[key] = makeValue(draw, schemas, property, key, depth + 1);
    return result;
  }
  if (typeof additionalProperties === 'object')
    for (let count = draw.int(3); count > 0; count -= 1)
      result[draw.pick(KEYS)] = makeValue(draw, schemas, additionalProperties, '', depth + 1);
  else if (draw.chance(0.7)) result[draw.pick(KEYS)] = draw.pick<Json>([1, 'x', null, { a: [1] }, true]);
  return result;
}
