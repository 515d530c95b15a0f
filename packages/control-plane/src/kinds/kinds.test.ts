import { describe, expect, test } from 'vitest';
import type { JsonSchema, KindDefinition } from '../apimachinery/objects/kind.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { builtinKinds } from './index.ts';

const kindOf = (name: string): KindDefinition => {
  const found = builtinKinds.find(({ kind }) => kind === name);
  if (found === undefined) throw new Error(`no kind ${name}`);
  return found;
};

const context = { now: new Date('2024-01-01T00:00:00Z'), subresource: '', userName: 'someone', newUid: () => 'uid' };

function create(name: string, body: Record<string, unknown>): { object: ApiObject; causes: string[] } {
  const kind = kindOf(name);
  const object: ApiObject = {
    apiVersion: 'v1',
    kind: name,
    metadata: { name: 'x', namespace: 'ns', uid: 'u-1' },
    ...body,
  };
  kind.setDefaults?.(object);
  kind.prepareForCreate?.(object, context);
  return {
    object,
    causes: (kind.validate?.(object, context) ?? []).map(({ field, message }) => `${field}: ${message}`),
  };
}

function update(name: string, before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const kind = kindOf(name);
  const old = create(name, before).object;
  const object: ApiObject = { ...structuredClone(old), ...after };
  kind.setDefaults?.(object);
  kind.prepareForUpdate?.(object, old, context);
  return (kind.validateUpdate?.(object, old, context) ?? []).map(({ field, message }) => `${field}: ${message}`);
}

const container = { name: 'c', image: 'example.dev/app:1' };
const pod = (spec: Record<string, unknown> = {}) => ({ spec: { containers: [container], ...spec } });
const workload = (spec: Record<string, unknown> = {}) => ({
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [container] } },
    ...spec,
  },
});

test('every kind has a schema with metadata, and unique names', () => {
  const seen = new Set<string>();
  for (const kind of builtinKinds) {
    const id = `${kind.group}/${kind.version}/${kind.plural}`;
    expect(seen.has(id), id).toBe(false);
    seen.add(id);
    expect(kind.schema?.properties?.metadata?.$id, id).toBe('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta');
  }
});

test('lists that are merged have their keys in the schema', () => {
  const spec = kindOf('Pod').schema?.properties?.spec as JsonSchema;
  expect(spec.properties?.containers).toMatchObject({
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    'x-kubernetes-patch-merge-key': 'name',
    'x-kubernetes-patch-strategy': 'merge',
  });
  expect(spec.properties?.tolerations).toMatchObject({ 'x-kubernetes-list-type': 'atomic' });
  expect(spec.properties?.volumes?.['x-kubernetes-patch-strategy']).toBe('merge,retainKeys');
});

describe('pods', () => {
  test('pods get their defaults', () => {
    expect(create('Pod', pod()).object).toMatchObject({
      spec: {
        restartPolicy: 'Always',
        dnsPolicy: 'ClusterFirst',
        schedulerName: 'default-scheduler',
        terminationGracePeriodSeconds: 30,
        enableServiceLinks: true,
        securityContext: {},
        containers: [{ imagePullPolicy: 'IfNotPresent', terminationMessagePath: '/dev/termination-log' }],
      },
      status: { phase: 'Pending', qosClass: 'BestEffort' },
    });
  });

  test.each([
    ['a', 'Always'],
    ['a:latest', 'Always'],
    ['a:1', 'IfNotPresent'],
    ['registry.example.dev:5000/a', 'Always'],
    ['a@sha256:0', 'IfNotPresent'],
  ])('image %s is pulled %s', (image, policy) => {
    const { object } = create('Pod', pod({ containers: [{ name: 'c', image }] }));
    expect(object).toMatchObject({ spec: { containers: [{ imagePullPolicy: policy }] } });
  });

  test.each([
    [{ limits: { cpu: '1', memory: '1Mi' } }, 'Guaranteed'],
    [{ requests: { cpu: '1m' } }, 'Burstable'],
    [{ limits: { cpu: '1' } }, 'Burstable'],
    [{}, 'BestEffort'],
  ])('resources %j make it %s', (resources, qos) => {
    const { object } = create('Pod', pod({ containers: [{ ...container, resources }] }));
    expect(object).toMatchObject({ status: { qosClass: qos } });
  });

  test.each([
    [{ containers: [] }, 'spec.containers: Required value'],
    [{ containers: [container, container] }, 'spec.containers[1].name: Duplicate value: "c"'],
    [
      { restartPolicy: 'Odd' },
      'spec.restartPolicy: Unsupported value: "Odd": supported values: "Always", "OnFailure", "Never"',
    ],
    [
      { activeDeadlineSeconds: 0 },
      'spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive',
    ],
    [{ dnsPolicy: 'None' }, 'spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None'],
    [
      { containers: [{ ...container, volumeMounts: [{ name: 'none', mountPath: '/x' }] }] },
      'spec.containers[0].volumeMounts[0].name: Not found: "none"',
    ],
    [
      { containers: [{ ...container, resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }] },
      'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ],
  ])('%j is refused', (spec, cause) => {
    expect(create('Pod', pod(spec)).causes).toEqual([cause]);
  });

  test('pods may change their image and little else', () => {
    const changed = (spec: Record<string, unknown>) =>
      update('Pod', pod({ nodeName: 'n' }), pod({ nodeName: 'n', ...spec }));
    expect(changed({ containers: [{ ...container, image: 'example.dev/app:2' }] })).toEqual([]);
    expect(changed({ activeDeadlineSeconds: 5 })).toEqual([]);
    expect(changed({ nodeName: 'other' })[0]).toContain(
      'spec: Forbidden: pod updates may not change fields other than',
    );
    expect(changed({ containers: [container, { name: 'd', image: 'i' }] })).toEqual([
      'spec.containers: Forbidden: pod updates may not add or remove containers',
    ]);
  });

  test.each([
    [{}, undefined, 0],
    [{ nodeName: 'n' }, undefined, 30],
    [{ nodeName: 'n', terminationGracePeriodSeconds: 7 }, undefined, 7],
    [{ nodeName: 'n' }, 'Succeeded', 0],
  ])('%j in phase %s gets %i seconds to end', (spec, phase, seconds) => {
    const { object } = create('Pod', pod(spec));
    if (phase !== undefined) object.status = { phase };
    expect(kindOf('Pod').gracePeriodSeconds?.(object)).toBe(seconds);
  });
});

describe('other kinds', () => {
  test('a deployment gets a default rollout strategy, and its selector is immutable', () => {
    expect(create('Deployment', workload()).object).toMatchObject({
      spec: {
        replicas: 1,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
        revisionHistoryLimit: 10,
        progressDeadlineSeconds: 600,
      },
      status: {},
    });
    const other = {
      selector: { matchLabels: { app: 'o' } },
      template: { metadata: { labels: { app: 'o' } }, spec: { containers: [container] } },
    };
    expect(update('Deployment', workload(), { spec: other })).toEqual([
      'spec.selector: Invalid value: {"matchLabels":{"app":"o"}}: field is immutable',
    ]);
  });

  test.each([
    ['Deployment', { replicas: -1 }, 'spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    [
      'Deployment',
      { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } },
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0',
    ],
    [
      'ReplicaSet',
      { selector: { matchLabels: { app: 'o' } } },
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ],
    [
      'DaemonSet',
      { updateStrategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } },
      'spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0',
    ],
  ])('%s with %j is refused', (kind, spec, cause) => {
    expect(create(kind, workload(spec)).causes).toEqual([cause]);
  });

  test('stringData of a secret is encoded into its data', () => {
    const { object } = create('Secret', { data: { a: 'eA==' }, stringData: { a: 'hello' } });
    expect(object).toMatchObject({ type: 'Opaque', data: { a: 'aGVsbG8=' } });
    expect(object).not.toHaveProperty('stringData');
  });

  test('an immutable config map cannot be changed', () => {
    expect(update('ConfigMap', { data: { a: '1' }, immutable: true }, { data: { a: '2' } })).toEqual([
      'data: Forbidden: field is immutable when `immutable` is set',
    ]);
    expect(create('ConfigMap', { data: { '..': '1' } }).causes).toEqual([
      'data[..]: Invalid value: "..": must not be \'..\'',
    ]);
  });

  test('a service gets an address that does not change', () => {
    const { object } = create('Service', { spec: { ports: [{ port: 80 }] } });
    expect(object).toMatchObject({
      spec: {
        type: 'ClusterIP',
        clusterIP: expect.stringMatching(/^10\.96\.\d+\.\d+$/),
        ports: [{ protocol: 'TCP', targetPort: 80 }],
      },
    });
    const moved = { spec: { ...(object.spec as object), clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] } };
    expect(update('Service', { spec: { ports: [{ port: 80 }] } }, moved)[0]).toContain('may not change once set');
  });

  test('a namespace has a label with its name, and a finalizer', () => {
    const { object } = create('Namespace', {});
    expect(object).toMatchObject({
      metadata: { labels: { 'kubernetes.io/metadata.name': 'x' } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  });

  test('extended resources of a node are integers', () => {
    expect(create('Node', { status: { capacity: { 'example.dev/z': '1500m' } } }).causes).toEqual([
      'status.capacity.example.dev/z: Invalid value: "1500m": must be an integer',
      'status.allocatable.example.dev/z: Invalid value: "1500m": must be an integer',
    ]);
  });

  test('events of both groups are the same objects', () => {
    const events = builtinKinds.find(({ group, kind }) => group === 'events.k8s.io' && kind === 'Event');
    const event: ApiObject = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'e' },
      note: 'n',
      regarding: { kind: 'Pod' },
    };
    const stored = events?.storedAs?.encode(event);
    expect(stored).toMatchObject({ apiVersion: 'v1', message: 'n', involvedObject: { kind: 'Pod' } });
    expect(stored === undefined ? undefined : events?.storedAs?.decode(stored)).toEqual(event);
  });
});
