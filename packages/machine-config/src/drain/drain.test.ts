import { type KubeClient, nodes, podDisruptionBudgets, pods, type Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { NodeAnnotations } from '../constants/annotations.ts';
import { startWorld, type World, type WorldOptions } from '../testing.ts';

const { DesiredDrain, LastAppliedDrain } = NodeAnnotations;

async function inWorld(work: (world: World) => Promise<void>, options: WorldOptions = {}): Promise<void> {
  const world = await startWorld(options);
  try {
    await work(world);
  } finally {
    await world.end();
  }
}

const createNode = (client: KubeClient, desired: string, unschedulable: boolean) =>
  client.resource(nodes).create({
    metadata: { name: 'n', annotations: { [DesiredDrain]: desired } },
    spec: unschedulable ? { unschedulable } : {},
  });

const nodeNow = async (client: KubeClient) => {
  const { metadata, spec } = await client.resource(nodes).get('n');
  return { unschedulable: spec?.unschedulable ?? false, answer: metadata.annotations?.[LastAppliedDrain] };
};

const nodeWrites = ({ writes }: World) => writes.filter((write) => write === 'PATCH /api/v1/nodes/n').length;

test('a cordoned node whose daemon requests an uncordon is uncordoned, then the request is answered [D1]', () =>
  inWorld(async (world) => {
    await createNode(world.client, 'uncordon-a', true);
    await world.clock.advance(1_000);
    expect(await nodeNow(world.client)).toEqual({ unschedulable: false, answer: 'uncordon-a' });
    expect(nodeWrites(world)).toBe(2);
  }));

test('a node without pods whose daemon requests a drain is cordoned, then the request is answered [D2]', () =>
  inWorld(async (world) => {
    await createNode(world.client, 'drain-a', false);
    await world.clock.advance(1_000);
    expect(await nodeNow(world.client)).toEqual({ unschedulable: true, answer: 'drain-a' });
    expect(nodeWrites(world)).toBe(2);
  }));

test('a cordon of a former process that arrives late does not cordon the node again', () => {
  const cordons: (() => Promise<unknown>)[] = [];
  const wire =
    (transport: Transport): Transport =>
    (request) => {
      if (String(request.body).includes('"unschedulable":true')) cordons.push(() => transport(request));
      return transport(request);
    };
  return inWorld(
    async ({ client, clock }) => {
      await createNode(client, 'drain-a', false);
      await clock.advance(1_000);
      const annotations = { [DesiredDrain]: 'uncordon-a' };
      await client.resource(nodes).patch('n', { type: 'merge', body: { metadata: { annotations } } });
      await clock.advance(1_000);
      for (const repeat of cordons) await repeat();
      await clock.advance(5_000);
      expect([cordons.length, await nodeNow(client)]).toEqual([1, { unschedulable: false, answer: 'uncordon-a' }]);
    },
    { wire },
  );
});

test('a node that a client uncordons before it is read again is drained again before the answer [D3]', async () => {
  let undo: (() => Promise<unknown>) | undefined;
  let cordons = 0;
  await inWorld(
    async (world) => {
      const { client, clock } = world;
      undo = () => client.resource(nodes).patch('n', { type: 'merge', body: { spec: { unschedulable: false } } });
      await createNode(client, 'drain-a', false);
      await clock.advance(5_000);
      expect(await nodeNow(client)).toEqual({ unschedulable: true, answer: 'drain-a' });
      expect(nodeWrites(world)).toBe(3);
    },
    {
      afterWrite: async ({ path }) => {
        if (path !== '/api/v1/nodes/n') return;
        cordons += 1;
        if (cordons === 1) await undo?.();
      },
    },
  );
});

test('a drain waits for pods that a budget blocks, even for hours, without blocking a worker, and answers after the last pod [trap 14]', () =>
  inWorld(async ({ client, clock }) => {
    const make = (name: string, owner?: string) =>
      client.resource(pods, 'default').create({
        metadata: {
          name,
          namespace: 'default',
          labels: { app: name },
          ...(owner && {
            ownerReferences: [{ apiVersion: 'apps/v1', kind: owner, name: 'x', uid: '1', controller: true }],
          }),
        },
        spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: 0 },
      });
    await client.resource(nodes).create({ metadata: { name: 'n' }, spec: {} });
    await make('held');
    const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    const ready = { type: 'merge', body: { status: running } } as const;
    await client.resource(pods, 'default').patch('held', ready, { subresource: 'status' });
    await make('free');
    await make('daemon', 'DaemonSet');
    await client.request('POST', '/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
      body: {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'b' },
        spec: { minAvailable: 1, selector: { matchLabels: { app: 'held' } } },
      },
    });
    const body = { metadata: { annotations: { [DesiredDrain]: 'drain-a' } } };
    await client.resource(nodes).patch('n', { type: 'merge', body });
    await clock.advance(60_000);
    const left = (await client.resource(pods, 'default').list()).items.map(({ metadata }) => metadata.name);
    expect(left.toSorted()).toEqual(['daemon', 'held']);
    expect(await nodeNow(client)).toEqual({ unschedulable: true, answer: undefined });
    await clock.advance(2 * 3_600_000);
    expect(await nodeNow(client)).toEqual({ unschedulable: true, answer: undefined });
    await client.resource(pods, 'default').delete('held', { gracePeriodSeconds: 0 });
    await clock.advance(2_000);
    expect(await nodeNow(client)).toEqual({ unschedulable: true, answer: 'drain-a' });
  }));

test('a budget with new room retries as many pods as it has room for, and a budget without room retries none', () =>
  inWorld(async ({ client, clock, writes }) => {
    const kept = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await client.resource(nodes).create({ metadata: { name: 'n' }, spec: {} });
    for (const name of ['one', 'two']) {
      const pod = client.resource(pods, 'default');
      await pod.create({
        metadata: { name, namespace: 'default', labels: { app: 'held' } },
        spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: 0 },
      });
      await pod.patch(name, { type: 'merge', body: { status: kept } }, { subresource: 'status' });
    }
    const budgets = client.resource(podDisruptionBudgets, 'default');
    await budgets.create({
      metadata: { name: 'b' },
      spec: { minAvailable: 2, selector: { matchLabels: { app: 'held' } } },
    });
    const assessed = (disruptionsAllowed: number) => {
      const counts = { currentHealthy: 2, desiredHealthy: 2, expectedPods: 2, observedGeneration: 1 };
      const status = { ...counts, disruptionsAllowed };
      return budgets.patch('b', { type: 'merge', body: { status } }, { subresource: 'status' });
    };
    await assessed(0);
    await client
      .resource(nodes)
      .patch('n', { type: 'merge', body: { metadata: { annotations: { [DesiredDrain]: 'drain-a' } } } });
    await clock.advance(120_000);
    const tries = () => writes.filter((write) => write.endsWith('/eviction')).length;
    const paced = tries();
    while (tries() === paced) await clock.advance(100);
    const before = tries();
    await client
      .resource(podDisruptionBudgets, 'default')
      .patch('b', { type: 'merge', body: { metadata: { labels: { x: 'y' } } } });
    await clock.advance(200);
    expect(tries(), 'no room: nobody tries').toBe(before);
    await assessed(1);
    await clock.advance(200);
    expect(tries(), 'one try for the room of one').toBe(before + 1);
    const left = (await client.resource(pods, 'default').list()).items;
    expect(left).toHaveLength(1);
    expect((await nodeNow(client)).answer).toBeUndefined();
    await budgets.delete('b');
    await clock.advance(1_500);
    expect(await nodeNow(client)).toEqual({ unschedulable: true, answer: 'drain-a' });
  }));

test('an unknown request is reported as an event and changes nothing', () =>
  inWorld(async (world) => {
    await createNode(world.client, 'explode-a', false);
    await world.clock.advance(30_000);
    expect(nodeWrites(world)).toBe(0);
    const events = await world.client.request<{ items: { reason: string }[] }>('GET', '/api/v1/events');
    expect(events.items.map(({ reason }) => reason)).toContain('DrainRequestInvalid');
  }));

const withoutEvictions =
  (code: number) =>
  (transport: Transport): Transport =>
  async (request) => {
    if (!request.path.endsWith('/eviction')) return transport(request);
    const reason = code === 404 ? 'NotFound' : 'BadRequest';
    const message = 'the server could not find the requested resource';
    const missing = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message, details: {} };
    return Response.json(missing, { status: code });
  };

test.each([404, 400])(
  'without an eviction API (%i) pods are deleted as far as budgets allow, and an event reports it',
  (code) =>
    inWorld(
      async ({ client, clock }) => {
        const own = client.resource(pods, 'default');
        await client.resource(nodes).create({ metadata: { name: 'n' }, spec: {} });
        for (const [name, app] of [
          ['web-1', 'web'],
          ['web-2', 'web'],
          ['other', 'other'],
          ['pair-1', 'pair'],
          ['pair-2', 'pair'],
        ] as const) {
          await own.create({
            metadata: { name, namespace: 'default', labels: { app } },
            spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: 20 },
          });
        }
        const budgets = client.resource(podDisruptionBudgets, 'default');
        for (const [name, app] of Object.entries({ b: 'web', pair: 'pair' })) {
          await budgets.create({ metadata: { name }, spec: { minAvailable: 1, selector: { matchLabels: { app } } } });
        }
        const allow = (disruptionsAllowed: number, name = 'b') => {
          const counts = { currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, observedGeneration: 1 };
          const status = { ...counts, disruptionsAllowed };
          return budgets.patch(name, { type: 'merge', body: { status } }, { subresource: 'status' });
        };
        await allow(0);
        await allow(1, 'pair');
        await client
          .resource(nodes)
          .patch('n', { type: 'merge', body: { metadata: { annotations: { [DesiredDrain]: 'drain-a' } } } });
        await clock.advance(10 * 60_000);
        const going = async () =>
          (await own.list()).items.flatMap(({ metadata }) =>
            metadata.deletionTimestamp === undefined ? [] : [`${metadata.name} ${metadata.deletionGracePeriodSeconds}`],
          );
        const before = await going();
        expect(before).toContain('other 20');
        expect(
          before.filter((pod) => pod.startsWith('web')),
          'a budget that allows nothing is kept',
        ).toEqual([]);
        expect(
          before.filter((pod) => pod.startsWith('pair')),
          'a budget that allows one lets one go',
        ).toHaveLength(1);
        await allow(1);
        await clock.advance(2_000);
        expect(await going(), 'a budget that gives way lets one more go').toHaveLength(3);
        await own.delete('other', { gracePeriodSeconds: 0 });
        for (const name of ['web-1', 'web-2', 'pair-1', 'pair-2']) await own.delete(name, { gracePeriodSeconds: 0 });
        await clock.advance(2_000);
        expect(await nodeNow(client)).toEqual({ unschedulable: true, answer: 'drain-a' });
        const events = await client.request<{ items: { reason: string; message: string }[] }>('GET', '/api/v1/events');
        const reported = events.items
          .filter(({ reason }) => reason === 'EvictionUnavailable')
          .map(({ message }) => message);
        expect(reported).toContainEqual(
          expect.stringMatching(/^Deleted because the API server has no eviction API: .*default\/other/),
        );
      },
      { wire: withoutEvictions(code) },
    ),
);
