import { expect, test } from 'vitest';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { builtinKinds } from '../kinds/index.ts';
import { roundTrip } from './shape.ts';

const object = (kind: string, body: Record<string, unknown>): ApiObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'x' },
  ...body,
});

test('zero fields are removed, structures stay, and other given values are kept', () => {
  const pod = object('Pod', {
    spec: {
      nodeName: '',
      hostNetwork: false,
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      containers: [{ name: 'c', image: 'i', ports: [], env: [{ name: 'A', value: '' }] }],
    },
  });
  roundTrip(pod, 'V1Pod');
  expect(pod).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'x' },
    spec: {
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      containers: [{ name: 'c', image: 'i', env: [{ name: 'A' }], resources: {} }],
    },
    status: {},
  });
});

test('quantities become canonical, and times are converted to UTC', () => {
  const node = object('Node', {
    status: {
      capacity: { cpu: '2000m', memory: '1024Mi', pods: 110 },
      conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2024-01-01T02:00:00.5+02:00' }],
    },
  });
  roundTrip(node, 'V1Node');
  expect(node).toMatchObject({
    status: {
      capacity: { cpu: '2', memory: '1Gi', pods: '110' },
      conditions: [{ lastHeartbeatTime: '2024-01-01T00:00:00Z', lastTransitionTime: null }],
      daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
    },
  });
});

test('micro times have exactly six digits', () => {
  const spec = { renewTime: '2024-01-01T01:00:00.123456+01:00' };
  const lease = object('Lease', { spec });
  roundTrip(lease, 'V1Lease');
  expect(lease.spec).toEqual({ renewTime: '2024-01-01T00:00:00.123456Z' });
  for (const renewTime of ['2024-01-01T00:00:00Z', '2024-01-01T00:00:00.123Z', '2024-01-01T00:00:00.1234567Z']) {
    expect(() => roundTrip(object('Lease', { spec: { renewTime } }), 'V1Lease')).toThrow(/parsing time/);
  }
});

test.each([
  [
    'Pod',
    { spec: { containers: 'x' } },
    'json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container',
  ],
  [
    'Pod',
    { spec: { terminationGracePeriodSeconds: 'x' } },
    'json: cannot unmarshal string into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64',
  ],
  ['ConfigMap', { data: { a: 1 } }, 'json: cannot unmarshal number into Go struct field ConfigMap.data of type string'],
  [
    'ConfigMap',
    { immutable: 'yes' },
    'json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool',
  ],
  ['Secret', { data: { a: 'not base64' } }, 'illegal base64 data at input byte 3'],
  ['Node', { status: { capacity: { cpu: 'abc' } } }, 'quantities must match the regular expression'],
])('%s %j is refused with the text of the real server', (kind, body, words) => {
  expect(() => roundTrip(object(kind, body), `V1${kind}`)).toThrow(
    `${kind} in version "v1" cannot be handled as a ${kind}: ${words}`,
  );
});

test('a second round trip changes nothing', () => {
  for (const kind of builtinKinds) {
    const empty: ApiObject = { apiVersion: 'v1', kind: kind.kind, metadata: { name: 'x' } };
    kind.setDefaults?.(empty);
    const once = structuredClone(empty);
    kind.setDefaults?.(empty);
    expect(empty, kind.kind).toEqual(once);
  }
});
