import { Annotations, Finalizers, Labels, type Machine, machines } from '@mcm/api';
import { type KubeClient, nodes } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { refusal, startPerformer } from '../../run/testing/actions.ts';
import type { Action } from '../model/plan.ts';
import { Performer } from './perform.ts';

const FOREIGN = 'example.com/backup';
const client = (admin: KubeClient) => admin.resource<Machine>(machines, 'default');
const stored = (admin: KubeClient) => client(admin).get('m');

type Writes = [what: string, action: Action, wanted: object];
const WRITES: Writes[] = [
  ['its finalizer', { do: 'addFinalizer' }, { metadata: { finalizers: [Finalizers.MachineControllerManager] } }],
  ['its VM', { do: 'record', instance: { providerId: 'id', nodeName: 'n' } }, { spec: { providerID: 'id' } }],
  ['its Node', { do: 'labelNode', nodeName: 'n' }, { metadata: { labels: { [Labels.Node]: 'n' } } }],
  ['an annotation', { do: 'annotate', annotations: { a: 'b' } }, { metadata: { annotations: { a: 'b' } } }],
  [
    'its status',
    { do: 'writeStatus', status: { currentStatus: { phase: 'Pending' } } },
    { status: { currentStatus: { phase: 'Pending' } } },
  ],
];

describe('a write to a machine', () => {
  test.each(WRITES)('%s is stored and cached', async (_what, action, wanted) => {
    const { admin, made, performer, scope, writes } = await startPerformer();
    await performer.perform(action, scope({ machine: await made(), hasTarget: true }));
    expect(writes).toEqual([await stored(admin)]);
    expect(writes).toMatchObject([wanted]);
  });

  test.each(WRITES)('%s is not written to another machine of its name', async (_what, action) => {
    const { admin, made, performer, scope, writes } = await startPerformer();
    const machine = await made();
    await client(admin).delete('m');
    const other = await made();
    await expect(performer.perform(action, scope({ machine, hasTarget: true }))).rejects.toThrow();
    expect([await stored(admin), writes]).toEqual([other, []]);
  });

  test.each<[what: string, action: Action]>([
    ['finalizers', { do: 'addFinalizer' }],
    ['the status', { do: 'writeStatus', status: { currentStatus: { phase: 'Pending' } } }],
  ])('%s are written to the version that was decided on only', async (_what, action) => {
    const { admin, made, performer, scope } = await startPerformer();
    const machine = await made();
    const changed = await client(admin).patch('m', { type: 'merge', body: { metadata: { finalizers: [FOREIGN] } } });
    await expect(performer.perform(action, scope({ machine }))).rejects.toThrow();
    expect(await stored(admin)).toEqual(changed);
  });
});

test('a stopped process sends nothing to the machine', async () => {
  const { asked, clock, made, memory, performer } = await startPerformer();
  const machine = await made();
  const scope = { o: { machine, hasTarget: true }, memory, now: clock.now(), signal: AbortSignal.abort() } as never;
  const actions: Action[] = [...WRITES.map(([, action]) => action), { do: 'removeFinalizer' }, { do: 'deleteMachine' }];
  const ends = await Promise.allSettled(actions.map((action) => performer.perform(action, scope)));
  expect(ends.map(({ status }) => status)).toEqual(actions.map(() => 'rejected'));
  expect(asked).toEqual([]);
});

test('the finalizers of other programs stay, in order', async () => {
  const { admin, made, performer, scope } = await startPerformer();
  const machine = await made({ finalizers: ['a.example.com/z', 'z.example.com/a'] });
  await performer.perform({ do: 'addFinalizer' }, scope({ machine }));
  expect((await stored(admin)).metadata.finalizers).toEqual([
    'a.example.com/z',
    Finalizers.MachineControllerManager,
    'z.example.com/a',
  ]);
  const { finalizers: _, ...metadata } = (await stored(admin)).metadata;
  const bare = { ...machine, metadata };
  await performer.perform({ do: 'addFinalizer' }, scope({ machine: bare }));
  expect((await stored(admin)).metadata.finalizers).toEqual([Finalizers.MachineControllerManager]);
});

describe('the record of a VM', () => {
  test.each<[what: string, nodeName: string, hasTarget: boolean, priority: string | undefined, wanted: object]>([
    ['with its Node', 'n', true, undefined, { node: 'n', priority: '3' }],
    ['that keeps a priority', 'n', true, '1', { node: 'n', priority: '1' }],
    ['without a target cluster', 'n', false, undefined, { priority: '3' }],
    ['without a name of its Node', '', true, undefined, { priority: '3' }],
  ])('%s', async (_what, nodeName, hasTarget, priority, wanted) => {
    const { admin, made, performer, scope } = await startPerformer();
    const machine = await made(priority ? { annotations: { [Annotations.Priority]: priority } } : {});
    await performer.perform({ do: 'record', instance: { providerId: 'id', nodeName } }, scope({ machine, hasTarget }));
    const { metadata, spec } = await stored(admin);
    const node = metadata.labels?.[Labels.Node];
    expect({ ...(node === undefined ? {} : { node }), priority: metadata.annotations?.[Annotations.Priority] }).toEqual(
      wanted,
    );
    expect(spec.providerID).toBe('id');
  });
});

describe('a status', () => {
  const PENDING = { currentStatus: { phase: 'Pending' } } as const;

  test('a status that is stored already is not written again', async () => {
    const { asked, called, made, performer, scope } = await startPerformer();
    const event = { type: 'Normal', reason: 'NodeDeleted', message: 'x' } as const;
    const machine = await made({}, PENDING);
    await performer.perform({ do: 'writeStatus', status: PENDING, event }, scope({ machine }));
    expect([asked, called]).toEqual([[], []]);
  });

  test('a written status is counted, reported and remembered as its plan says', async () => {
    const { admin, called, clock, made, memory, performer, scope } = await startPerformer();
    await performer.perform({ do: 'writeStatus', status: PENDING }, scope({ machine: await made() }));
    expect([called, memory.healthWrites, memory.drain.reportedAt]).toEqual([[], undefined, undefined]);
    memory.drain = { ...memory.drain, cordonFailed: true };
    const event = { type: 'Warning', reason: 'NodeDeleted', message: 'x' } as const;
    const status = { currentStatus: { phase: 'Unknown' } } as const;
    const action: Action = { do: 'writeStatus', status, writes: 'unknown', reportsDrain: true, event };
    await performer.perform(action, scope({ machine: await stored(admin) }));
    expect(called).toEqual([['event', 'Warning', 'NodeDeleted', 'x']]);
    expect(memory.healthWrites).toEqual({ unknown: 1, mirrored: 0, at: clock.now() });
    expect(memory.drain).toMatchObject({ reportedAt: clock.now(), cordonFailed: true });
  });
});

describe('the end of a machine', () => {
  const ours = [FOREIGN, Finalizers.MachineControllerManager];

  test('the end of a machine removes only the finalizer of mcm, and the version is remembered', async () => {
    const { admin, made, memory, performer, scope } = await startPerformer();
    const machine = await made({ finalizers: ours });
    await performer.perform({ do: 'removeFinalizer' }, scope({ machine }));
    expect((await stored(admin)).metadata.finalizers).toEqual([FOREIGN]);
    expect(memory.finishedVersion).toBe(machine.metadata.resourceVersion);
    await client(admin).delete('m');
    await client(admin)
      .patch('m', { type: 'merge', body: { metadata: { finalizers: null } } })
      .catch(() => undefined);
    delete memory.finishedVersion;
    const { finalizers: _, ...metadata } = machine.metadata;
    await performer.perform({ do: 'removeFinalizer' }, scope({ machine: { ...machine, metadata } }));
    expect(memory.finishedVersion).toBe(machine.metadata.resourceVersion);
  });

  test('the end of a machine waits for a Node that the cache did not show', async () => {
    const { admin, made, memory, performer, scope } = await startPerformer();
    await admin.resource(nodes).create({ metadata: { name: 'n' }, spec: {} });
    const machine = await made({ finalizers: ours, labels: { [Labels.Node]: 'n' } });
    await performer.perform({ do: 'removeFinalizer' }, scope({ machine }));
    expect(await stored(admin)).toEqual(machine);
    expect(memory.finishedVersion).toBeUndefined();
  });

  const JOINED = { conditions: [{ type: 'Ready', status: 'True' }] } as const;
  test.each<[what: string, asksForToken: boolean, joined: boolean, issued: boolean, removes: boolean]>([
    ['a machine that never joined may have one', true, false, false, true],
    ['a machine that joined has none', true, true, false, false],
    ['a machine without a placeholder has none', false, false, false, false],
    ['a token of this process is removed in any case', false, true, true, true],
  ])('the end of a machine and its bootstrap token: %s', async (_what, asksForToken, joined, issued, removes) => {
    const { called, made, performer, scope, tokens } = await startPerformer();
    tokens.issued = () => issued;
    const machine = await made({ finalizers: ours }, joined ? { conditions: [...JOINED.conditions] } : undefined);
    await performer.perform({ do: 'removeFinalizer' }, scope({ machine, asksForToken }));
    expect(called).toEqual(removes ? [['remove', machine]] : []);
  });

  test('a machine can end without a store of bootstrap tokens', async () => {
    const { made, memory, options, scope } = await startPerformer();
    const performer = new Performer({ ...options, tokens: undefined } as never);
    const machine = await made({ finalizers: ours });
    await performer.perform({ do: 'removeFinalizer' }, scope({ machine, asksForToken: true }));
    await performer.perform({ do: 'deleteToken' }, scope({ machine }));
    await performer.perform({ do: 'extendToken', until: new Date() }, scope({ machine }));
    expect(memory.finishedVersion).toBeDefined();
  });
});

describe('a machine whose Node is deleted', () => {
  const DELETED = ['event', 'Warning', 'NodeDeleted', 'Its Node n was deleted, so mcm deletes the machine'];
  const labels = { [Labels.Node]: 'n' };

  test('a machine whose Node is deleted is deleted too, and an event says why', async () => {
    const { admin, called, log, made, performer, scope, writes } = await startPerformer();
    await performer.perform({ do: 'deleteMachine' }, scope({ machine: await made({ finalizers: [FOREIGN], labels }) }));
    const after = await stored(admin);
    expect(after.metadata.deletionTimestamp).toBeDefined();
    expect([writes, called]).toEqual([[after], [DELETED]]);
    expect(log.lines.map(({ message, fields }) => [message, fields.machine])).toEqual([
      ['Node is being deleted, deleting its machine', 'm'],
    ]);
  });

  test('a deleted machine without finalizers is gone at once, is not cached, and may be gone already', async () => {
    const { called, made, performer, scope, writes } = await startPerformer();
    const machine = await made({ labels });
    await performer.perform({ do: 'deleteMachine' }, scope({ machine }));
    await performer.perform({ do: 'deleteMachine' }, scope({ machine }));
    expect([writes, called]).toEqual([[], [DELETED, DELETED]]);
    const { labels: _, ...bare } = machine.metadata;
    await performer.perform({ do: 'deleteMachine' }, scope({ machine: { ...machine, metadata: bare } }));
    expect(called.at(-1)?.at(-1)).toBe('Its Node  was deleted, so mcm deletes the machine');
  });

  test.each(['changed', 'replaced'])('stays if it was %s', async (what) => {
    const { admin, made, performer, scope } = await startPerformer();
    const machine = await made({ labels });
    if (what === 'replaced') await client(admin).delete('m');
    const other =
      what === 'replaced'
        ? await made()
        : await client(admin).patch('m', { type: 'merge', body: { metadata: { labels: { node: 'other' } } } });
    await expect(performer.perform({ do: 'deleteMachine' }, scope({ machine }))).rejects.toThrow();
    expect(await stored(admin)).toEqual(other);
  });
});

test.each<[action: Action, reads: boolean]>([
  [{ do: 'call', call: 'delete' }, true],
  [{ do: 'call', call: 'create' }, false],
  [{ do: 'keepVm' }, true],
])('before %j the Node is read, if the cache does not have it: %s', async (action, reads) => {
  const { admin, asked, called, clock, made, memory, performer, scope } = await startPerformer();
  const settings = { drainTimeoutMs: 60_000 };
  const o = { machine: await made({ labels: { [Labels.Node]: 'n' } }), machineClass: {}, settings };
  await performer.perform(action, scope(o));
  expect([asked.length, called.length]).toEqual([reads ? 1 : 0, 1]);
  expect(memory.keeping).toEqual(action.do === 'keepVm' ? { since: clock.now(), settled: false } : undefined);
  await admin.resource(nodes).create({ metadata: { name: 'n' }, spec: {} });
  await performer.perform(action, scope(o));
  expect(called.length).toBe(reads ? 1 : 2);
});

test('a VM is kept with its class only, and the memory follows its end', async () => {
  const { called, clock, made, memory, performer, scope } = await startPerformer();
  const machine = await made();
  await performer.perform({ do: 'keepVm' }, scope({ machine }));
  expect([called, memory.keeping]).toEqual([[], undefined]);
  const machineClass = { kind: 'MachineClass' };
  await performer.perform({ do: 'keepVm' }, scope({ machine, machineClass }));
  const [, ...args] = called[0] ?? [''];
  expect(args.slice(0, 3)).toEqual([machine, machineClass, clock.now()]);
  const settle = args[3] as (kept?: object) => void;
  settle();
  expect(memory.keeping).toEqual({ since: clock.now(), settled: true });
  const kept = { providerID: 'id' };
  settle(kept);
  expect(memory.keeping).toEqual({ since: clock.now(), settled: true, kept });
});

test('evidence is settled once for the failure that requested it', async () => {
  const { called, clock, made, memory, performer, scope } = await startPerformer();
  const machine = await made();
  const keep = (id: string) => performer.perform({ do: 'keepEvidence', failure: { id } as never }, scope({ machine }));
  await keep('first');
  await keep('second');
  const [settleFirst, settleSecond] = called.map(([, , , settle]) => settle as () => void);
  settleFirst?.();
  expect(memory.evidence).toEqual({ failure: 'second', since: clock.now(), settled: false });
  settleSecond?.();
  expect(memory.evidence).toEqual({ failure: 'second', since: clock.now(), settled: true });
});

test('warnings are looked up once a process, and remembered', async () => {
  const { called, made, memory, performer, scope } = await startPerformer();
  const machine = await made();
  await performer.perform({ do: 'warn', warnings: ['a', 'b'] }, scope({ machine }));
  await performer.perform({ do: 'warn', warnings: ['c'] }, scope({ machine }));
  const event = (text: string, once: boolean) => ['event', 'Warning', 'InvalidInput', text, { once }];
  expect(called).toEqual([event('a', true), event('b', true), event('c', false)]);
  expect(memory.warned).toBe('c');
  await performer.perform({ do: 'warn', warnings: ['d', 'e'] }, scope({ machine }));
  expect(memory.warned).toBe('d; e');
});

test('problems of a drain are reported once each, and remembered with earlier ones', async () => {
  const { called, made, memory, performer, scope } = await startPerformer();
  memory.drain = { ...memory.drain, cordonFailed: true };
  const event = { type: 'Warning', reason: 'NodeDeleted', message: 'x' } as const;
  const scopeOf = scope({ machine: await made() });
  await performer.perform({ do: 'reportDrain', causes: ['a', 'b'], event }, scopeOf);
  await performer.perform({ do: 'reportDrain', causes: ['c'], event }, scopeOf);
  expect([...(memory.drain.reported ?? [])]).toEqual(['a', 'b', 'c']);
  expect([memory.drain.cordonFailed, called[0]]).toEqual([
    true,
    ['event', 'Warning', 'NodeDeleted', 'x', { once: true }],
  ]);
  await performer.perform({ do: 'reportHeld', held: true, event }, scopeOf);
  expect([memory.held, called.at(-1)]).toEqual([true, ['event', 'Warning', 'NodeDeleted', 'x']]);
});

test('tokens are extended and removed for their machine', async () => {
  const { called, clock, made, performer, scope } = await startPerformer();
  const machine = await made();
  await performer.perform({ do: 'extendToken', until: clock.now() }, scope({ machine }));
  await performer.perform({ do: 'deleteToken' }, scope({ machine }));
  expect(called).toEqual([
    ['extend', machine, clock.now()],
    ['remove', machine],
  ]);
});

describe('pods', () => {
  const pod = (name: string) => ({ namespace: 'default', name, uid: `uid-${name}` });
  const accepted = (): Response => Response.json({ kind: 'Status', status: 'Success' }, { status: 201 });

  test('pods that were deleted without an eviction API are named in an event', async () => {
    const missing = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      code: 404,
      reason: 'NotFound',
      message: 'x',
    };
    let evicts = true;
    const { called, made, performer, scope } = await startPerformer((_method, path) =>
      path.endsWith('/eviction') && !evicts ? Response.json(missing, { status: 404 }) : accepted(),
    );
    const scopeOf = scope({ machine: await made() });
    await performer.perform({ do: 'evict', pods: [pod('a')] }, scopeOf);
    expect(called).toEqual([]);
    evicts = false;
    await performer.perform({ do: 'evict', pods: [pod('a'), pod('b')] }, scopeOf);
    expect(called).toEqual([
      [
        'event',
        'Warning',
        'EvictionUnavailable',
        'Pods deleted without a check of their budgets, because the API server has no eviction API: default/a, default/b',
      ],
    ]);
  });

  test('pods that are forced off a Node are named once', async () => {
    const { called, made, performer, scope } = await startPerformer(() => refusal(403, 'Forbidden'));
    const scopeOf = scope({ machine: await made() });
    const action: Action = { do: 'deletePods', pods: [pod('a'), pod('b')], because: 'because of x' };
    await performer.perform(action, scopeOf);
    const message =
      'Pods deleted without a grace period or a check of their budgets, because of x: default/a, default/b';
    expect(called).toEqual([['event', 'Warning', 'PodsForcedOff', message]]);
    await performer.perform(action, scopeOf);
    expect(called).toHaveLength(1);
    await performer.perform({ ...action, pods: [pod('a'), pod('c')] }, scopeOf);
    expect(called.at(-1)?.at(-1)).toMatch(/: default\/c$/);
  });
});

test('actions on the Node reach it', async () => {
  const { admin, asked, made, memory, performer, recorded, scope } = await startPerformer();
  const node = await admin.resource(nodes).create({ metadata: { name: 'n' }, spec: {} });
  const scopeOf = scope({ machine: await made(), node, conflictingNode: node });
  const actions: Action[] = [
    { do: 'readNode' },
    { do: 'syncNode', patch: { main: { metadata: { labels: { a: 'b' } } } } },
    { do: 'setNodeCondition', condition: { type: 'a', status: 'True' } },
    { do: 'cordon', reason: 'ScaleDown', tolerant: false, release: false },
    { do: 'markOutOfService' },
  ];
  for (const action of actions) await performer.perform(action, scopeOf).catch(() => undefined);
  expect(asked.map((line) => line.replace('/api/v1/nodes/n', ''))).toEqual([
    'GET ',
    'PATCH ',
    'PATCH /status',
    'PATCH /status',
    'PATCH ',
    'PATCH ',
  ]);
  expect([recorded.length > 0, performer.rechecks]).toEqual([true, { all: 1, stale: 0 }]);
  await performer.perform({ do: 'deleteAttachments', attachments: [{ name: 'va', uid: 'u' }] }, scopeOf);
  expect(memory.drain.detachRequested?.get('va')?.uid).toBe('u');
  await performer.perform({ do: 'releaseNode' }, scopeOf);
  expect([(await admin.resource(nodes).list()).items, memory.releasedNode]).toEqual([[], node.metadata.uid]);
  await performer.perform({ do: 'deleteStaleNode' }, scopeOf);
  expect(asked.at(-1)).toBe('DELETE /api/v1/nodes/n');
});

test('an unknown action is a fault', async () => {
  const { performer, scope } = await startPerformer();
  await expect(performer.perform({ do: 'dance' } as never, scope())).rejects.toThrow('not handled: {"do":"dance"}');
});
