import { Annotations, type Machine, type MachineClass, type MachinePhase } from '@mcm/api';
import type { Node, Taint } from '@mcm/kube';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { at, machine, node } from '../machine/testing.ts';
import { parseLastApplied, planNodeSync, syncCapacity, syncMap, syncTaints } from './sync.ts';

type Strings = Record<string, string>;

function applied(current: Strings, changes: Record<string, string | null>): Strings {
  const result = { ...current };
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) delete result[key];
    else result[key] = value;
  }
  return result;
}

const k1: Strings = { k1: 'v1' };

test.each<[row: string, last: Strings, current: Strings, wanted: Strings, result: Strings, changed: boolean]>([
  ['S-N1 no change', k1, k1, k1, k1, false],
  ['S-N2 another value in the template', k1, k1, { k1: 'new' }, { k1: 'new' }, true],
  ['S-N3 the template adds a key', k1, k1, { k1: 'v1', k2: 'v2' }, { k1: 'v1', k2: 'v2' }, true],
  ['S-N4 the template removes a key', { k1: 'v1', k2: 'v2' }, { k1: 'v1', k2: 'v2' }, k1, k1, true],
  ['S-N5 edited by a user', k1, { k1: 'hand' }, k1, k1, true],
  ['S-N6 a key of another client stays', k1, { k1: 'v1', foreign: 'x' }, k1, { k1: 'v1', foreign: 'x' }, false],
  ['S-N7 the node has none of the keys', k1, {}, { k1: 'v1', k2: 'v2' }, { k1: 'v1', k2: 'v2' }, true],
])('labels and annotations: %s', (_row, last, current, wanted, result, changed) => {
  const changes = syncMap(current, last, wanted);
  expect(applied(current, changes)).toEqual(result);
  expect(Object.keys(changes).length > 0).toBe(changed);
});

const taint = (key: string, value: string, effect = 'NoSchedule'): Taint => ({ key, value, effect });
const K1 = taint('K1', 'V1');
const K2 = taint('K2', 'V2');

test.each<[row: string, last: Taint[], current: Taint[], wanted: Taint[], result: Taint[], changed: boolean]>([
  ['S-T1 no change', [K1], [K1], [K1], [K1], false],
  ['S-T3 one taint added', [K1], [K1], [K1, K2], [K1, K2], true],
  ['S-T4 one taint removed', [K1, K2], [K1, K2], [K1], [K1], true],
  [
    'S-T5 the value is corrected, and the same key with another effect is added',
    [K1],
    [taint('K1', 'V2')],
    [K1, taint('K1', 'V1', 'NoExecute')],
    [K1, taint('K1', 'V1', 'NoExecute')],
    true,
  ],
  ['S-T6 a taint of another client stays', [K1], [K1, taint('KeyNew', 'x')], [K1], [K1, taint('KeyNew', 'x')], false],
  ['S-T7 the node has no taints', [K1], [], [K1, K2], [K1, K2], true],
])('taints: %s', (_row, last, current, wanted, result, changed) => {
  const taints = syncTaints(current, last, wanted);
  expect(taints ?? current).toEqual(result);
  expect(taints !== undefined).toBe(changed);
});

const memory = 'hc.hana.com/memory';
const cpu = 'hc.hana.com/cpu';

test.each<[row: string, last: Strings, wanted: Strings, before: Strings, after: Strings]>([
  ['S-V1 same', { [memory]: '1234567' }, { [memory]: '1234567' }, { [memory]: '1234567' }, { [memory]: '1234567' }],
  [
    'S-V2 another amount',
    { [memory]: '1234567' },
    { [memory]: '2234567' },
    { [memory]: '1234567' },
    { [memory]: '2234567' },
  ],
  [
    'S-V3 one resource added',
    { [memory]: '1111111' },
    { [memory]: '1111111', [cpu]: '2' },
    { [memory]: '1111111' },
    { [memory]: '1111111', [cpu]: '2' },
  ],
  [
    'S-V4 one resource removed',
    { [cpu]: '2', [memory]: '1111111' },
    { [cpu]: '2' },
    { [cpu]: '2', [memory]: '1111111' },
    { [cpu]: '2' },
  ],
  [
    'the same amount in another format is not a change',
    { [memory]: '1Ki' },
    { [memory]: '1024' },
    { [memory]: '1Ki' },
    { [memory]: '1Ki' },
  ],
])('virtual capacity: %s', (_row, last, wanted, before, after) => {
  const real = { memory: '1234567' };
  expect(applied({ ...real, ...before }, syncCapacity({ ...real, ...before }, last, wanted))).toEqual({
    ...real,
    ...after,
  });
});

const small: MachineClass = {
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineClass',
  metadata: {
    name: 'small',
    namespace: 'test',
    uid: 'c',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  providerSpec: {},
  nodeTemplate: {
    capacity: { cpu: 1, gpu: 0, memory: '1Gi' },
    virtualCapacity: { 'virtual.com/dongle': 2 },
    instanceType: 't',
    region: 'r',
    zone: 'z',
  },
};

const templated = (labels: Strings, taints: Taint[] = []): Machine =>
  machine({
    spec: {
      nodeTemplate: {
        metadata: { labels, annotations: { a: 'b' } },
        spec: { taints: taints.map((t) => ({ ...t, effect: 'NoSchedule' as const })) },
      },
    },
  });

function patched(current: Node, m: Machine, c?: MachineClass): Node {
  const patch = planNodeSync(m, c, current);
  const merge = (target: unknown, change: unknown): unknown => {
    if (typeof change !== 'object' || change === null || Array.isArray(change)) return change;
    const result: Record<string, unknown> = { ...(target as object) };
    for (const [key, value] of Object.entries(change)) {
      if (value === null) delete result[key];
      else result[key] = merge(result[key] ?? {}, value);
    }
    return result;
  };
  return merge(merge(current, patch?.main ?? {}), patch?.status ? { status: patch.status } : {}) as Node;
}

test('virtual capacity is written and recorded [S-N8]', () => {
  const after = patched(node(), machine(), small);
  expect(after.status?.capacity).toEqual({ 'virtual.com/dongle': '2' });
  expect(after.metadata.annotations?.[Annotations.LastAppliedVirtualCapacity]).toBe('{"virtual.com/dongle":"2"}');
});

test('a new node gets label, annotation, taint, record, machine name and finalizer in one write [S-N9]', () => {
  const patch = planNodeSync(templated({ l: 'x' }, [K1]), undefined, node());
  expect(patch?.status).toBeUndefined();
  expect(patch?.main).toMatchObject({
    metadata: {
      labels: { l: 'x', 'node.gardener.cloud/machine-name': 'machine-0' },
      annotations: { a: 'b' },
      finalizers: ['node.machine.sapcloud.io/machine-controller'],
    },
    spec: { taints: [K1] },
  });
});

const PROTECTION = [Annotations.ScaleDownDisabled, Annotations.ScaleDownDisabledByMCM];

test.each<[what: string, phase: MachinePhase, annotations: Strings, isProtected: boolean]>([
  ['the first write to a new Node', 'Pending', {}, true],
  ['a Node that has joined', 'Running', {}, false],
  ['a Node with its template', 'Pending', { [Annotations.LastAppliedNodeTemplate]: '{}' }, false],
  ['a Node with a setting of a user', 'Pending', { [Annotations.ScaleDownDisabled]: 'false' }, false],
])('a machine of a rollout protects its Node from a scale-down: %s', (_what, phase, annotations, isProtected) => {
  const status = { currentStatus: { phase, lastUpdateTime: at(0) } };
  const added = (own: Strings) => {
    const m = machine({ metadata: { annotations: own }, status });
    const written = planNodeSync(m, undefined, node({ metadata: { annotations } }))?.main?.metadata?.annotations ?? {};
    return PROTECTION.map((key) => written[key]);
  };
  const both = isProtected ? ['true', 'true'] : [undefined, undefined];
  expect(added({ [Annotations.ProtectNewNode]: 'true' })).toEqual(both);
  expect(added({})).toEqual([undefined, undefined]);
});

test('after a sync nothing is left to do, also if the original wrote the record', () => {
  const m = templated({ l: 'x' }, [K1]);
  const synced = patched(node(), m, small);
  expect(planNodeSync(m, small, synced)).toBeUndefined();
  const byOriginal = {
    ...synced.metadata.annotations,
    [Annotations.LastAppliedNodeTemplate]:
      '{"spec":{"taints":[{"effect":"NoSchedule","key":"K1","value":"V1"}]},"metadata":{"annotations":{"a":"b"},"labels":{"l":"x"}}}',
  };
  expect(
    planNodeSync(m, small, { ...synced, metadata: { ...synced.metadata, annotations: byOriginal } }),
  ).toBeUndefined();
});

test('an unreadable record removes nothing and is written again', () => {
  const broken = node({
    metadata: { labels: { old: 'x' }, annotations: { [Annotations.LastAppliedNodeTemplate]: '{' } },
  });
  const after = patched(broken, templated({ l: 'x' }));
  expect(after.metadata.labels).toMatchObject({ old: 'x', l: 'x' });
  expect(JSON.parse(after.metadata.annotations?.[Annotations.LastAppliedNodeTemplate] ?? '')).toMatchObject({
    metadata: { labels: { l: 'x' } },
  });
});

test('values of other clients are never removed, and a sync is stable [R49]', () => {
  const keys = fc.constantFrom('a', 'b', 'c', 'd');
  const labels = fc.dictionary(keys, fc.constantFrom('1', '2'));
  const taints = fc
    .uniqueArray(keys, { maxLength: 3 })
    .chain((ks) => fc.tuple(...ks.map((k) => fc.constantFrom('1', '2').map((v) => taint(k, v)))));
  fc.assert(
    fc.property(labels, labels, labels, taints, taints, (own, first, second, ownTaints, wanted) => {
      const start = node({ metadata: { labels: own }, spec: { taints: ownTaints } });
      const once = patched(start, templated(first, wanted));
      const twice = patched(once, templated(second));
      for (const [key, value] of Object.entries(own)) {
        if (!(key in first) && !(key in second)) expect(twice.metadata.labels?.[key]).toBe(value);
      }
      const wantedKeys = new Set(wanted.map((t) => t.key));
      for (const foreign of ownTaints.filter((t) => !wantedKeys.has(t.key))) {
        expect(twice.spec.taints).toContainEqual(foreign);
      }
      expect(planNodeSync(templated(second), undefined, twice)).toBeUndefined();
    }),
  );
});

test.each<[what: string, before: Taint[], wanted: Taint, changed: boolean]>([
  ['a new one', [K2], K1, true],
  ['another value', [taint('K1', 'V2'), K2], K1, true],
  ['an identical one', [K1, K2], K1, false],
])('S-X3 a taint is added to a node: %s', (_what, before, wanted, changed) => {
  const after = syncTaints(before, [], [wanted]);
  expect(after !== undefined).toBe(changed);
  expect((after ?? before).filter(({ key }) => key === 'K1')).toEqual([wanted]);
  expect(after ?? before).toContainEqual(K2);
});

test('the Node of a machine that is being deleted does not get the finalizer again', () => {
  const bare = node({ metadata: { finalizers: [] } });
  const living = templated({ a: '1' });
  const going = { ...living, metadata: { ...living.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  expect(planNodeSync(living, undefined, bare)?.main?.metadata?.finalizers).toHaveLength(1);
  expect(planNodeSync(going, undefined, bare)?.main?.metadata).not.toHaveProperty('finalizers');
});

test('a Node that is being deleted gets no finalizer, because the server would refuse it', () => {
  const going = node({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x.io/other'] } });
  expect(planNodeSync(templated({ a: '1' }), undefined, going)?.main?.metadata).not.toHaveProperty('finalizers');
  const stays = node({ metadata: { finalizers: ['x.io/other'] } });
  expect(planNodeSync(templated({ a: '1' }), undefined, stays)?.main?.metadata?.finalizers).toHaveLength(2);
});

test.each([[{ key: 'K1' }], [{ effect: 'NoSchedule' }], ['K1'], [null]])(
  'a record that was edited to the taint %j removes no taint',
  (rubbish) => {
    const record = JSON.stringify({ metadata: {}, spec: { taints: [rubbish, K2] } });
    expect(parseLastApplied(record).taints).toEqual([K2]);
  },
);

test('an empty template has a record too, so that later changes have a base', () => {
  const { main } = planNodeSync(machine({}), undefined, node({})) ?? {};
  const text = main?.metadata?.annotations?.[Annotations.LastAppliedNodeTemplate];
  expect(JSON.parse(text ?? 'null')).toEqual({ metadata: {}, spec: {} });
});

test('a removed value that the node does not have causes no write', () => {
  expect(syncMap({}, { lost: 'x' }, {})).toEqual({});
});

test.each(['{"metadata":null,"spec":null}', '{"metadata":{"labels":null}}', 'null', '[]', '{"metadata":[],"spec":[]}'])(
  'the record %s contains no applied value',
  (record) => {
    expect(parseLastApplied(record)).toEqual({ labels: {}, annotations: {}, taints: [] });
  },
);

test('a changed template is recorded again', () => {
  const before = patched(node(), templated({ l: 'x' }));
  const after = patched(before, templated({ l: 'y' }));
  expect(JSON.parse(after.metadata.annotations?.[Annotations.LastAppliedNodeTemplate] ?? 'null')).toMatchObject({
    metadata: { labels: { l: 'y' } },
  });
});

test.each([[{ key: 1, effect: 'NoSchedule' }], [{ key: 'K1', effect: null }], [[]]])(
  'a record with taint %j removes none, and the valid one next to it counts',
  (rubbish) => {
    expect(parseLastApplied(JSON.stringify({ spec: { taints: [rubbish, K1] } })).taints).toEqual([K1]);
  },
);

test('the Node of an alternative gets no zone and no instance type of the first choice', () => {
  const labels = { 'topology.kubernetes.io/zone': 'a', 'node.kubernetes.io/instance-type': 'small', team: 'x' };
  const nodeTemplate = { metadata: { labels } };
  const wanted = (offering: string) =>
    planNodeSync(
      machine({
        metadata: { annotations: { 'capacity.machine.sapcloud.io/offering': offering } },
        spec: { nodeTemplate },
      }),
      undefined,
      node(),
    )?.main?.metadata?.labels;
  expect(wanted('{}')).toMatchObject(labels);
  expect(wanted('{"zone":"b"}')).toEqual({ team: 'x', 'node.gardener.cloud/machine-name': 'machine-0' });
});
