import { startControlPlane } from '@mcm/control-plane';
import { createClient, isConflict, isInvalid, isNotFound, type Node, nodes, type Taint, VirtualClock } from '@mcm/kube';
import { afterEach, expect, test } from 'vitest';
import { type NodeChange, nodePatch, patchNode, patchNodeStatus } from './patch.ts';

const cleanUp: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0)) await clean();
});

const NAMED = { metadata: { name: 'n' } };

async function world(draft: { readonly metadata?: object; readonly spec?: { readonly taints?: Taint[] } } = {}) {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, controllers: false });
  cleanUp.push(() => plane.close());
  const transport = plane.transport;
  const client = createClient({ transport, userAgent: 'test', clock }).resource<Node>(nodes);
  await client.create({ ...NAMED, ...draft, spec: {} });
  const taints = draft.spec?.taints ?? null;
  const node = await client.patch('n', { type: 'merge', body: { spec: { taints } } });
  const touch = (body: object): Promise<Node> => client.patch('n', { type: 'merge', body });
  const beat = (): Promise<Node> =>
    client.patch('n', { type: 'merge', body: { status: { phase: 'Running' } } }, { subresource: 'status' });
  return { client, node, touch, beat };
}

/** Replaces a Node by another Node that differs only in its UID. */
async function replaced() {
  const { client, node, touch } = await world();
  await client.delete('n');
  await client.create({ ...NAMED, spec: {} });
  await touch({ spec: { taints: null } });
  return { client, node };
}

const OURS = { key: 'ours', effect: 'NoSchedule' } as const;
const FOREIGN = { key: 'theirs', effect: 'NoExecute' } as const;

test.each<[what: string, draft: { metadata: object; spec?: { taints: Taint[] } }, change: NodeChange, result: object]>([
  [
    'a finalizer and an annotation on a Node without any',
    NAMED,
    { metadata: { finalizers: ['x.io/ours'], annotations: { 'x.io/a': '1' } } },
    { metadata: { finalizers: ['x.io/ours'], annotations: { 'x.io/a': '1' } } },
  ],
  [
    'one of two finalizers removed, together with the cordon',
    { metadata: { name: 'n', finalizers: ['x.io/other', 'x.io/ours'] } },
    { metadata: { finalizers: ['x.io/other'] }, spec: { unschedulable: true } },
    { metadata: { finalizers: ['x.io/other'] }, spec: { unschedulable: true } },
  ],
  [
    'a taint, an annotation, a label and a finalizer in one patch, on a Node without any',
    NAMED,
    {
      metadata: { annotations: { 'x.io/a': '1', gone: null }, labels: { l: '1' }, finalizers: ['x.io/ours'] },
      spec: { taints: [OURS] },
    },
    {
      metadata: { annotations: { 'x.io/a': '1' }, labels: { l: '1' }, finalizers: ['x.io/ours'] },
      spec: { taints: [OURS] },
    },
  ],
  [
    'the last taint and an annotation removed',
    { metadata: { name: 'n', annotations: { 'x.io/a': '1', b: '2' } }, spec: { taints: [OURS] } },
    { metadata: { annotations: { 'x.io/a': null, never: null } }, spec: { taints: null } },
    { metadata: { annotations: { b: '2' } } },
  ],
])('%s; a kubelet that writes status meanwhile is no conflict', async (_what, draft, change, result) => {
  const { client, node, beat } = await world(draft);
  await beat();
  const after = await patchNode(client, node, change);
  expect(after).toMatchObject(result);
  if (change.spec?.taints === null) expect(after.spec.taints).toBeUndefined();
  expect(after.status).toMatchObject({ phase: 'Running' });
});

test('finalizers that other clients add or remove in the meantime are neither lost nor restored', async () => {
  const { client, node, touch } = await world({ metadata: { name: 'n', finalizers: ['x.io/ours', 'x.io/b'] } });
  await touch({ metadata: { finalizers: ['x.io/ours', 'x.io/c'] } });
  const after = await patchNode(client, node, { metadata: { finalizers: ['x.io/b'] } });
  expect(after.metadata.finalizers).toEqual(['x.io/c']);
});

test.each<[what: string, draft: { spec: { taints?: Taint[] } }]>([
  ['on a Node without taints', { spec: {} }],
  ['next to another taint', { spec: { taints: [{ ...OURS, value: 'old' }] } }],
])('a taint that another client adds in the meantime, %s, is never overwritten: a conflict', async (_what, draft) => {
  const { client, node, touch } = await world(draft);
  await touch({ spec: { taints: [FOREIGN] } });
  const refused = await patchNode(client, node, { spec: { taints: [OURS] } }).catch((error: unknown) => error);
  expect(isConflict(refused)).toBe(true);
  expect((await client.get('n')).spec.taints).toEqual([FOREIGN]);
});

test.each<[kind: string, change: NodeChange]>([
  ['strategic', { spec: { unschedulable: true } }],
  ['json', { spec: { taints: [OURS] } }],
])('another Node of the same name is a conflict (%s)', async (kind, change) => {
  const { client, node } = await replaced();
  expect(nodePatch(node, change).type).toBe(kind);
  const refused = await patchNode(client, node, change).catch((error: unknown) => error);
  expect(isConflict(refused)).toBe(true);
});

test.each(['merge', 'strategic'] as const)(
  'the status of another Node of the same name is a conflict (%s)',
  async (type) => {
    const { client, node } = await replaced();
    const refused = await patchNodeStatus(client, node, type, { phase: 'Running' }).catch((error: unknown) => error);
    expect(isConflict(refused)).toBe(true);
  },
);

test.each<[kind: string, change: NodeChange]>([
  ['strategic', { spec: { unschedulable: true } }],
  ['json', { spec: { taints: [OURS] } }],
])('a write to the status in the meantime is a conflict only for `onlyIfUnchanged` (%s)', async (kind, change) => {
  const { client, node, beat } = await world();
  await patchNode(client, node, { ...change, onlyIfUnchanged: true });
  const read = await client.get('n');
  await beat();
  expect(nodePatch(read, change).type).toBe(kind);
  const ask = (how: NodeChange) => patchNode(client, read, how).catch((error: unknown) => error);
  expect(isConflict(await ask({ ...change, onlyIfUnchanged: true }))).toBe(true);
  expect(isConflict(await ask(change))).toBe(false);
});

test('a status patch with `onlyIfUnchanged` is a conflict after a change of the labels', async () => {
  const { client, node, touch } = await world();
  await touch({ metadata: { labels: { selected: 'true' } } });
  const status = { conditions: [{ type: 'InPlaceUpdate', status: 'True' }] };
  const ask = (onlyIfUnchanged: boolean) =>
    patchNodeStatus(client, node, 'strategic', status, { onlyIfUnchanged }).catch((error: unknown) => error);
  expect(isConflict(await ask(true))).toBe(true);
  expect(await ask(false)).toMatchObject({ status });
});

test('a value that the server refuses is no conflict, so the error is reported', async () => {
  const { client, node } = await world();
  const taints = [{ key: 'not a key', effect: 'NoSchedule' as const }];
  const refused = await patchNode(client, node, { spec: { taints } }).catch((error: unknown) => error);
  expect(isInvalid(refused)).toBe(true);
});

test.each<[kind: string, change: NodeChange]>([
  ['strategic', { spec: { unschedulable: true } }],
  ['json', { spec: { taints: [OURS] } }],
])('a missing Node is no conflict, and callers must recognize it (%s)', async (_kind, change) => {
  const { client, node } = await world();
  await client.delete('n');
  const refused = await patchNode(client, node, change).catch((error: unknown) => error);
  expect([isNotFound(refused), isConflict(refused)]).toEqual([true, false]);
});

test('a cordoned Node whose taints change stays cordoned; only an explicit change makes it schedulable', async () => {
  const { client, node, touch } = await world();
  expect(node.spec.unschedulable).toBeUndefined();
  const cordoned = await touch({ spec: { unschedulable: true } });
  const tainted = await patchNode(client, cordoned, { spec: { taints: [OURS] } });
  expect(tainted.spec).toMatchObject({ unschedulable: true, taints: [OURS] });
  const back = await patchNode(client, tainted, { spec: { taints: null, unschedulable: false } });
  expect(back.spec).toEqual({});
});

test('a schedulable Node stays schedulable when its taints change, also with an explicit value', async () => {
  const { client, node } = await world();
  const tainted = await patchNode(client, node, { spec: { taints: [OURS] } });
  expect(tainted.spec).toEqual({ taints: [OURS] });
  const both = await patchNode(client, tainted, { spec: { taints: [FOREIGN], unschedulable: false } });
  expect(both.spec).toEqual({ taints: [FOREIGN] });
  const cordoned = await patchNode(client, both, { spec: { taints: [OURS], unschedulable: true } });
  expect(cordoned.spec).toEqual({ taints: [OURS], unschedulable: true });
});

test('a patch without a test that the server refuses without a field is no conflict', async () => {
  const { node } = await world();
  const status = { kind: 'Status', code: 422, reason: 'Invalid', message: 'no' };
  const transport = () => Promise.resolve(new Response(JSON.stringify(status), { status: 422 }));
  const client = createClient({ transport, userAgent: 'test', clock: new VirtualClock() }).resource<Node>(nodes);
  const ask = (change: NodeChange) => patchNode(client, node, change).catch((error: unknown) => error);
  expect(isInvalid(await ask({ spec: { unschedulable: true } }))).toBe(true);
  expect(isConflict(await ask({ spec: { taints: [OURS] } }))).toBe(true);
});
