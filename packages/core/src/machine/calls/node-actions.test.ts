import { Finalizers, formatTime, Labels, type Machine, Taints } from '@mcm/api';
import { isConflict, type KubeClient, type Node, nodes, volumeAttachments } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import type { DrainMemory } from '../../drain/model/observation.ts';
import { refusal, startNodeActions } from '../../run/testing/actions.ts';
import { machine } from '../testing.ts';
import { NodeActions } from './node-actions.ts';

const FOREIGN = 'example.com/backup';

async function makeNode(admin: KubeClient, parts: { finalizers?: string[]; spec?: Node['spec'] } = {}): Promise<Node> {
  const { finalizers = [], spec = {} } = parts;
  return admin.resource(nodes).create({ metadata: { name: 'n', finalizers }, spec });
}
const present = async (admin: KubeClient): Promise<Node | undefined> =>
  (await admin.resource(nodes).list()).items.find(({ metadata }) => metadata.name === 'n');
const relabel = (admin: KubeClient): Promise<Node> =>
  admin.resource(nodes).patch('n', { type: 'merge', body: { metadata: { labels: { reports: 'again' } } } });
async function replaced(admin: KubeClient): Promise<[before: Node, after: Node]> {
  const before = await makeNode(admin);
  await admin.resource(nodes).delete('n');
  return [before, await makeNode(admin)];
}
const gone = async (admin: KubeClient, finalizers: string[] = []): Promise<Node> => {
  const node = await makeNode(admin);
  await admin.resource(nodes).delete('n');
  return { ...node, metadata: { ...node.metadata, finalizers } };
};

describe('a sync of a Node', () => {
  test('a sync writes the parts of a Node, each only if it changes, and caches the answers', async () => {
    const { actions, admin, asked, recorded, scope } = await startNodeActions();
    const node = await makeNode(admin);
    const main = { metadata: { labels: { a: 'b' } } };
    const status = { addresses: [{ type: 'Hostname', address: 'h' }] };
    await actions.sync(scope({ node }), { main, status });
    expect(asked).toEqual(['PATCH /api/v1/nodes/n', 'PATCH /api/v1/nodes/n/status']);
    expect(await present(admin)).toMatchObject({ metadata: { labels: { a: 'b' } }, status });
    expect(recorded.at(-1)).toEqual(await present(admin));
    expect(recorded).toHaveLength(2);
    asked.length = 0;
    await actions.sync(scope({ node }), { main });
    await actions.sync(scope({ node }), { status });
    await actions.sync(scope(), { main, status });
    expect(asked).toEqual(['PATCH /api/v1/nodes/n', 'PATCH /api/v1/nodes/n/status']);
  });

  test('a condition is added to those that are there', async () => {
    const { actions, admin, asked, recorded, scope } = await startNodeActions();
    const node = await makeNode(admin);
    const other = { type: 'Ready', status: 'True' } as const;
    await admin
      .resource(nodes)
      .patch('n', { type: 'merge', body: { status: { conditions: [other] } } }, { subresource: 'status' });
    const set = (status: 'True' | 'False') =>
      ({ do: 'setNodeCondition', condition: { type: 'InPlaceUpdate', status } }) as const;
    const refused = actions.setCondition(scope({ node }), { ...set('False'), onlyIfUnchanged: true });
    await expect(refused).rejects.toMatchObject({ code: 409 });
    await actions.setCondition(scope({ node }), set('True'));
    await actions.setCondition(scope(), set('False'));
    expect(asked).toHaveLength(2);
    const after = await present(admin);
    expect(after?.status?.conditions?.map(({ type, status }) => `${type}=${status}`).sort()).toEqual([
      'InPlaceUpdate=True',
      'Ready=True',
    ]);
    expect(recorded).toEqual([after]);
  });
});

describe('a read of the Node', () => {
  const labelled = machine({ metadata: { labels: { [Labels.Node]: 'n' } } });

  test('a read finds the Node by its name or the label of the machine, and counts whether the cache was stale', async () => {
    const { actions, admin, asked, memory, recorded, clock, scope } = await startNodeActions();
    await actions.read(scope());
    expect([asked, actions.rechecks]).toEqual([[], { all: 0, stale: 0 }]);
    const node = await makeNode(admin);
    await actions.read(scope({ node, machine: machine({ metadata: { labels: { [Labels.Node]: 'other' } } }) }));
    expect(actions.rechecks).toEqual({ all: 1, stale: 0 });
    expect([recorded, memory.healthWrites]).toEqual([[node], undefined]);
    memory.healthWrites = { unknown: 1, mirrored: 2, at: clock.now() };
    await actions.read(scope({ machine: labelled }));
    expect(actions.rechecks).toEqual({ all: 2, stale: 1 });
    expect(memory.healthWrites).toEqual({ unknown: 1, mirrored: 2, at: clock.now(), readAt: clock.now() });
    await admin.resource(nodes).delete('n');
    await actions.read(scope({ node }));
    expect([actions.rechecks, recorded]).toEqual([{ all: 3, stale: 2 }, [node, node]]);
  });
});

const CORDON = { do: 'cordon', reason: 'ScaleDown', tolerant: false, release: false } as const;

describe('a cordon', () => {
  test.each([
    ['ScaleDown', 'Machine Controller is scaling down machine'],
    ['Unhealthy', 'Machine Controller is terminating failed machine'],
  ] as const)('a cordon because of %s marks the Node with its reason and time', async (reason, message) => {
    const { actions, admin, asked, clock, recorded, scope } = await startNodeActions();
    const node = await makeNode(admin, { finalizers: [Finalizers.Node] });
    await actions.cordon(scope({ node }), { ...CORDON, reason });
    const time = formatTime(clock.now());
    const after = await present(admin);
    expect(after?.status?.conditions).toEqual([
      { type: 'Terminating', status: 'True', reason, message, lastHeartbeatTime: time, lastTransitionTime: time },
    ]);
    expect([after?.spec.unschedulable, after?.metadata.finalizers]).toEqual([true, [Finalizers.Node]]);
    expect(recorded).toHaveLength(2);
    asked.length = 0;
    await actions.cordon(scope({ node: after }), CORDON);
    expect(asked).toEqual([]);
  });

  test('a cordon of an empty Node removes the finalizer of mcm in the same write', async () => {
    const { actions, admin, scope } = await startNodeActions();
    const node = await makeNode(admin, { finalizers: [Finalizers.Node, FOREIGN] });
    await actions.cordon(scope({ node }), { ...CORDON, release: true });
    const after = await present(admin);
    expect([after?.spec.unschedulable, after?.metadata.finalizers]).toEqual([true, [FOREIGN]]);
  });

  test('a cordon writes only what is missing on the Node', async () => {
    const { actions, admin, asked, scope } = await startNodeActions();
    const node = await makeNode(admin, { spec: { unschedulable: true } });
    const other = { type: 'Ready', status: 'True' } as const;
    await actions.cordon(scope({ node: { ...node, status: { conditions: [other] } } }), CORDON);
    expect(asked).toEqual(['PATCH /api/v1/nodes/n/status']);
  });

  test('a cordon without a Node, or of a Node that is gone, is done', async () => {
    const { actions, admin, asked, clock, memory, recorded, scope } = await startNodeActions();
    await actions.cordon(scope(), CORDON);
    expect([asked, memory.missingNode]).toEqual([[], undefined]);
    const node = await gone(admin);
    await actions.cordon(scope({ node }), CORDON);
    expect([recorded, memory.missingNode]).toEqual([[], { uid: node.metadata.uid, at: clock.now() }]);
  });

  test('a cordon that the server refuses ends the pass, unless the drain is forced', async () => {
    const forbidden = (method: string) => (method === 'PATCH' ? refusal(403, 'Forbidden') : undefined);
    const { actions, admin, log, memory, scope } = await startNodeActions(forbidden);
    const node = await makeNode(admin);
    await expect(actions.cordon(scope({ node }), CORDON)).rejects.toThrow(/Forbidden/);
    expect([memory.drain.cordonFailed, log.lines]).toEqual([undefined, []]);
    memory.drain = { ...memory.drain, detachRequested: new Map([['v', { uid: 'v', at: new Date(0) }]]) };
    await actions.cordon(scope({ node }), { ...CORDON, tolerant: true });
    expect([memory.drain.cordonFailed, memory.drain.detachRequested?.size]).toEqual([true, 1]);
    expect(log.lines.map(({ message, fields }) => [message, fields.node, fields.error])).toEqual([
      ['Cordon failed; the forced drain continues', 'n', expect.stringContaining('Forbidden')],
    ]);
  });

  test.each([false, true])(
    'a cordon of a Node that another client changed is decided again (forced drain: %s)',
    async (tolerant) => {
      const { actions, admin, log, memory, recorded, scope } = await startNodeActions();
      const conditions = [{ type: 'Terminating', status: 'True' }] as const;
      const node = { ...(await makeNode(admin)), status: { conditions } };
      const changed = await relabel(admin);
      const refused = await actions.cordon(scope({ node }), { ...CORDON, tolerant }).catch((error: unknown) => error);
      expect(isConflict(refused)).toBe(true);
      expect(recorded).toEqual([changed]);
      expect([memory.drain.cordonFailed, log.lines]).toEqual([undefined, []]);
      await actions.cordon(scope({ node: { ...changed, status: { conditions } } }), { ...CORDON, tolerant });
      expect((await present(admin))?.spec.unschedulable).toBe(true);
    },
  );

  test('a conflict without a change of the Node does not end a forced drain', async () => {
    const conflict = (method: string) => (method === 'PATCH' ? refusal(409, 'Conflict') : undefined);
    const { actions, admin, memory, scope } = await startNodeActions(conflict);
    const node = await makeNode(admin);
    await actions.cordon(scope({ node }), { ...CORDON, tolerant: true });
    expect(memory.drain.cordonFailed).toBe(true);
  });
});

test('a Node that is out of service keeps its other taints', async () => {
  const { actions, admin, asked, memory, recorded, scope } = await startNodeActions();
  await actions.markOutOfService(scope());
  expect(asked).toEqual([]);
  const taint = { key: 'a', effect: 'NoSchedule' } as const;
  await actions.markOutOfService(scope({ node: await makeNode(admin, { spec: { taints: [taint] } }) }));
  const after = await present(admin);
  expect(after?.spec.taints).toEqual(expect.arrayContaining([taint, Taints.OutOfService]));
  expect(recorded).toEqual([after]);
  await admin.resource(nodes).delete('n');
  expect(memory.missingNode).toBeUndefined();
  await actions.markOutOfService(scope({ node: after }));
  expect([recorded.length, memory.missingNode?.uid]).toEqual([1, after?.metadata.uid]);
});

describe('attachments', () => {
  const uidsOf = ({ detachRequested }: DrainMemory): readonly string[] =>
    [...(detachRequested?.values() ?? [])].map(({ uid }) => uid);
  const attach = (name: string) => ({
    metadata: { name },
    spec: { attacher: 'disks', nodeName: 'n', source: { persistentVolumeName: 'pv' } },
  });

  test('an attachment that took the name of a detached one stays', async () => {
    const { actions, admin, memory, scope } = await startNodeActions();
    const client = admin.resource(volumeAttachments);
    const first = await client.create(attach('va'));
    await client.delete('va');
    const second = await client.create(attach('va'));
    await actions.deleteAttachments(scope(), [{ name: 'va', uid: first.metadata.uid }]);
    expect((await client.get('va')).metadata.uid).toBe(second.metadata.uid);
    expect(uidsOf(memory.drain)).toEqual([first.metadata.uid]);
    await actions.deleteAttachments(scope(), [{ name: 'va', uid: second.metadata.uid }]);
    expect((await client.list()).items).toEqual([]);
    expect(uidsOf(memory.drain)).toEqual([second.metadata.uid]);
  });

  test('a missing attachment counts as detached, without a warning', async () => {
    const { actions, log, memory, scope } = await startNodeActions();
    memory.drain = { ...memory.drain, cordonFailed: true };
    await actions.deleteAttachments(scope(), [{ name: 'gone', uid: 'u' }]);
    expect([uidsOf(memory.drain), log.lines]).toEqual([['u'], []]);
    expect(memory.drain.cordonFailed).toBe(true);
  });

  test.each([
    [429, 'TooManyRequests', true],
    [409, 'Conflict', false],
  ])('an answer %i %s is repeated: %s', async (code, reason, repeated) => {
    const { actions, clock, log, memory, scope } = await startNodeActions(() => refusal(code, reason));
    const done = actions.deleteAttachments(scope(), [{ name: 'va', uid: 'u' }]).then(
      () => 'done',
      (error: unknown) => String(error),
    );
    await clock.advance(600_000);
    expect((await done) === 'done').toBe(!repeated);
    expect(memory.drain.detachRequested?.has('va') ?? false).toBe(!repeated);
    expect(log.lines.map(({ fields }) => fields.error)).toEqual(repeated ? [] : [expect.stringContaining(reason)]);
  });
});

describe('the release of a Node', () => {
  test('the release of a Node removes the finalizer of mcm, then deletes the Node', async () => {
    const { actions, admin, asked, memory, scope } = await startNodeActions();
    const node = await makeNode(admin, { finalizers: [Finalizers.Node, FOREIGN] });
    await actions.release(node, scope());
    expect(asked).toEqual(['PATCH /api/v1/nodes/n', 'DELETE /api/v1/nodes/n']);
    const after = await present(admin);
    expect(after?.metadata.finalizers).toEqual([FOREIGN]);
    expect(after?.metadata.deletionTimestamp).toBeDefined();
    expect(memory.releasedNode).toBe(node.metadata.uid);
    asked.length = 0;
    await actions.release(after, scope());
    await actions.release(undefined, scope());
    expect(asked).toEqual([]);
  });

  test('the release of another Node of the same name is refused, and the release of a Node that is gone is done', async () => {
    const { actions, admin, memory, recorded, scope } = await startNodeActions();
    const [before, after] = await replaced(admin);
    await expect(actions.release(before, scope())).rejects.toThrow();
    expect([(await present(admin))?.metadata.uid, memory.releasedNode]).toEqual([after.metadata.uid, undefined]);
    await admin.resource(nodes).delete('n');
    await actions.release(await gone(admin, [Finalizers.Node]), scope());
    expect([memory.releasedNode === undefined, recorded]).toEqual([false, []]);
  });
});

describe('the Node of another VM', () => {
  test('a changed Node of another VM is not deleted, and the next pass decides on its present version', async () => {
    const { actions, admin, memory, recorded, scope } = await startNodeActions();
    const conflictingNode = await makeNode(admin);
    const changed = await relabel(admin);
    const refused = await actions.releaseStale(scope({ conflictingNode })).catch((error: unknown) => error);
    expect(isConflict(refused)).toBe(true);
    expect(recorded).toEqual([changed]);
    expect(memory.releasedNode).toBeUndefined();
    await actions.releaseStale(scope({ conflictingNode: changed }));
    expect(await present(admin)).toBeUndefined();
    expect(memory.releasedNode).toBe(changed.metadata.uid);
  });

  test('the Node of another VM loses the finalizer of mcm first, and only that, and is decided on again', async () => {
    const { actions, admin, memory, recorded, scope } = await startNodeActions();
    const conflictingNode = await makeNode(admin, { finalizers: [Finalizers.Node, FOREIGN] });
    await actions.releaseStale(scope({ conflictingNode }));
    const after = await present(admin);
    expect(after?.metadata).toMatchObject({ finalizers: [FOREIGN] });
    expect(after?.metadata.deletionTimestamp).toBeUndefined();
    expect([recorded, memory.releasedNode]).toEqual([[after], undefined]);
  });

  test('the Node of another VM counts as released when it is gone, and no request is sent without such a Node', async () => {
    const { actions, admin, asked, memory, scope } = await startNodeActions();
    await actions.releaseStale(scope());
    expect(asked).toEqual([]);
    const conflictingNode = await gone(admin);
    await actions.releaseStale(scope({ conflictingNode }));
    expect(memory.releasedNode).toBe(conflictingNode.metadata.uid);
  });

  test('a missing Node of another VM with the finalizer of mcm is recorded', async () => {
    const { actions, admin, memory, scope } = await startNodeActions();
    const conflictingNode = await gone(admin, [Finalizers.Node]);
    await actions.releaseStale(scope({ conflictingNode }));
    expect(memory.missingNode?.uid).toBe(conflictingNode.metadata.uid);
  });

  test('a replaced Node of another VM is read again, and after another refusal or its end nothing is cached', async () => {
    const answers = [refusal(403, 'Forbidden'), refusal(409, 'Conflict')];
    const { actions, admin, asked, recorded, scope } = await startNodeActions((method) =>
      method === 'DELETE' ? answers.shift() : undefined,
    );
    const conflictingNode = await gone(admin);
    await expect(actions.releaseStale(scope({ conflictingNode }))).rejects.toThrow(/Forbidden/);
    expect(asked).toEqual(['DELETE /api/v1/nodes/n']);
    const end = await actions.releaseStale(scope({ conflictingNode })).catch((error: unknown) => error);
    expect([isConflict(end), recorded]).toEqual([true, []]);
    const after = await makeNode(admin);
    await expect(actions.releaseStale(scope({ conflictingNode }))).rejects.toThrow();
    expect(recorded).toEqual([after]);
  });
});

describe('a Node that the cache does not have', () => {
  const dying = (change: Partial<Machine['metadata']> = {}): Machine =>
    machine({ metadata: { labels: { [Labels.Node]: 'n' }, ...change } });
  const settings = { drainTimeoutMs: 60_000 };

  test.each(['findsLate', 'findsMissed'] as const)('%s reads the missing Node and caches it', async (find) => {
    const { actions, admin, asked, recorded, scope } = await startNodeActions();
    expect(await actions[find](scope({ machine: dying(), settings }))).toBe(false);
    const node = await makeNode(admin);
    expect(await actions[find](scope({ machine: dying(), settings }))).toBe(true);
    expect([asked.length, recorded]).toEqual([2, [node]]);
  });

  test.each<
    [
      what: string,
      change: { o?: object; releasedNode?: string; cached?: true; without?: true },
      late: number,
      missed: number,
    ]
  >([
    ['a machine without a label', { o: { machine: machine() } }, 0, 0],
    ['a Node that was observed', { o: { node: { metadata: { name: 'n' } } } }, 0, 0],
    ['a Node that the cache has', { cached: true }, 0, 0],
    ['no target cluster', { without: true }, 0, 0],
    ['a Node that was released', { releasedNode: 'u' }, 0, 1],
  ])('%s: %#', async (_what, { o = {}, releasedNode, cached, without }, late, missed) => {
    const stage = await startNodeActions();
    const node = await makeNode(stage.admin);
    const actions = without
      ? new NodeActions({ target: undefined, log: stage.log, caches: {} } as never)
      : stage.actions;
    if (cached) stage.shown.set('n', node);
    if (releasedNode) stage.memory.releasedNode = releasedNode;
    const scope = stage.scope({ machine: dying(), settings, ...o });
    expect([await actions.findsLate(scope), stage.asked.length]).toEqual([late > 0, late]);
    expect([await actions.findsMissed(scope), stage.asked.length]).toEqual([missed > 0, missed + late]);
  });

  test('an unreadable Node delays the deletion of the VM until the drain timeout, but not the end of a machine', async () => {
    const { actions, clock, log, scope } = await startNodeActions(() => refusal(403, 'Forbidden'));
    const before = (ms: number) => new Date(clock.now().getTime() - ms).toISOString();
    const finds = (change: Partial<Machine['metadata']>) =>
      actions.findsMissed(scope({ machine: dying({ creationTimestamp: before(0), ...change }), settings }));
    expect(await actions.findsLate(scope({ machine: dying() }))).toBe(false);
    await expect(finds({ deletionTimestamp: before(59_999) })).rejects.toThrow(/Forbidden/);
    await expect(finds({ deletionTimestamp: before(0), creationTimestamp: before(60_000) })).rejects.toThrow(
      /Forbidden/,
    );
    await expect(finds({})).rejects.toThrow(/Forbidden/);
    expect(log.lines).toEqual([]);
    expect(await finds({ deletionTimestamp: before(60_000) })).toBe(false);
    expect(log.lines.map(({ fields }) => [fields.machine, fields.error])).toEqual([
      ['machine-0', expect.stringContaining('Forbidden')],
    ]);
    const labels = { [Labels.Node]: 'n', 'force-deletion': 'True' };
    expect(await finds({ deletionTimestamp: before(0), labels })).toBe(false);
    expect(await finds({ creationTimestamp: before(60_000) })).toBe(false);
  });
});

test('without a target cluster an action on a Node is a fault', () => {
  const actions = new NodeActions({ target: undefined } as never);
  expect(() => actions.client).toThrow('without a target cluster');
});

test('an action that was stopped sends nothing', async () => {
  const { actions, admin, asked, memory, clock } = await startNodeActions();
  const node = await makeNode(admin, { finalizers: [Finalizers.Node] });
  const plain = { ...node, metadata: { ...node.metadata, finalizers: [] } };
  const dying = machine({ metadata: { labels: { [Labels.Node]: 'n' }, creationTimestamp: '2000-01-01T00:00:00Z' } });
  const scope = (o: object) =>
    ({
      o: { machine: dying, settings: { drainTimeoutMs: 0 }, ...o },
      memory,
      now: clock.now(),
      signal: AbortSignal.abort(),
    }) as never;
  const one = { do: 'setNodeCondition', condition: { type: 'a', status: 'True' } } as const;
  const stopped = [
    actions.sync(scope({ node }), { main: { metadata: { labels: { a: 'b' } } } }),
    actions.sync(scope({ node }), { status: { addresses: [] } }),
    actions.setCondition(scope({ node }), one),
    actions.read(scope({ node })),
    actions.cordon(scope({ node }), CORDON),
    actions.markOutOfService(scope({ node })),
    actions.deleteAttachments(scope({}), [{ name: 'va', uid: 'u' }]),
    actions.release(node, scope({})),
    actions.release(plain, scope({})),
    actions.releaseStale(scope({ conflictingNode: node })),
    actions.releaseStale(scope({ conflictingNode: plain })),
    actions.findsLate(scope({})),
    actions.findsMissed(scope({})),
  ];
  const ends = await Promise.allSettled(stopped);
  expect(ends.map(({ status }) => status)).toEqual(
    stopped.map((_, index) => (index === 11 ? 'fulfilled' : 'rejected')),
  );
  expect(asked).toEqual([]);
});

test('a process that is stopped during a refused deletion does not read the Node', async () => {
  const stop = new AbortController();
  const { actions, admin, asked, memory, clock } = await startNodeActions((method) => {
    if (method === 'DELETE') stop.abort();
    return method === 'DELETE' ? refusal(409, 'Conflict') : undefined;
  });
  const o = { conflictingNode: await makeNode(admin) };
  const scope = { o, memory, now: clock.now(), signal: stop.signal } as never;
  await expect(actions.releaseStale(scope)).rejects.toThrow();
  expect(asked).toEqual(['DELETE /api/v1/nodes/n']);
});
