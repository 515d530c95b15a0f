import { Annotations, formatTime } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { describe, expect, test } from 'vitest';
import { World, type WorldOptions } from '../testing/world.ts';
import { parseScaleIn, scaleInResults } from './scale-in.ts';

const start = async (replicas: number, options: WorldOptions = {}): Promise<World> => {
  const world = await World.start(startControlPlane, options);
  await world.deploy(replicas);
  await world.until(() => world.complete(), 120);
  await world.pass(5);
  return world;
};
const names = async (world: World) => (await world.machines()).map((machine) => machine.metadata.name).sort();
const request = (requestID: string, machines: readonly string[], from: number, to = from - machines.length) => ({
  metadata: { annotations: { [Annotations.ScaleIn]: JSON.stringify({ requestID, machines, from, to }) } },
  spec: { replicas: to },
});
const priority = (value: string) => ({ metadata: { annotations: { [Annotations.Priority]: value } } });
const settle = async (world: World) => {
  await world.pass(30);
  const stored = await world.deployment();
  expect(stored.metadata.annotations?.[Annotations.ScaleIn]).toBeUndefined();
  return { replicas: stored.spec.replicas, results: scaleInResults(stored), left: await names(world) };
};

describe('one write that names machines and the new count', () => {
  test('exactly the named machines are deleted, with any priorities of others, and nothing replaces them [incident 8]', async () => {
    await using world = await start(5);
    const [a = '', b = '', c = '', d = '', e = ''] = await names(world);
    await world.patchMachine(a, priority('0'));
    await world.patchMachine(b, priority('1'));
    await world.change(request('r1', [d, e], 5));
    const { replicas, results, left } = await settle(world);
    expect([replicas, left]).toEqual([3, [a, b, c]]);
    expect(results.map((r) => [r.requestID, r.outcome])).toEqual([['r1', 'Accepted']]);
    expect((await world.events()).filter((event) => event.reason === 'ScaleInAccepted')).toHaveLength(1);
  });

  test('a repeated scale-in request changes nothing, also after a scale-up', async () => {
    await using world = await start(4);
    const [, , , d = ''] = await names(world);
    const write = request('r1', [d], 4);
    await world.change(write);
    await world.pass(30);
    await world.change({ spec: { replicas: 6 } });
    await world.until(() => world.complete(), 60);
    const before = await names(world);
    await world.change(write);
    const { replicas, results, left } = await settle(world);
    expect([replicas, left]).toEqual([6, before]);
    expect(results).toHaveLength(1);
  });

  test.each<[title: string, body: (names: readonly string[]) => object, why: RegExp]>([
    [
      'a count that differs from that of the client',
      ([a = '']) => request('r', [a], 4),
      /"from" of the request is 4, but spec.replicas was 3/,
    ],
    [
      'a machine without an owner',
      ([a = '']) => request('r', [a, 'other'], 3),
      /other is not a machine of this deployment/,
    ],
    [
      'counts that do not add up',
      ([a = '']) => request('r', [a], 3, 1),
      /the field "to" must be "from" minus the number/,
    ],
    ['a repeated name', ([a = '']) => request('r', [a, a], 3), /no duplicates/],
    [
      'rubbish',
      () => ({ metadata: { annotations: { [Annotations.ScaleIn]: '{' } }, spec: { replicas: 1 } }),
      /the field "requestID" must be a string/,
    ],
  ])(
    '%s: the whole request is refused, the replicas are restored, and no machine is deleted',
    async (_title, body, why) => {
      await using world = await start(3);
      const before = await names(world);
      await world.change(body(before));
      const { replicas, left } = await settle(world);
      expect([replicas, left]).toEqual([3, before]);
      const refusals = (await world.events()).filter((event) => event.reason === 'ScaleInRefused');
      expect(refusals.map((event) => event.message)).toEqual([expect.stringMatching(why)]);
    },
  );

  test('replicas that changed after the request stay', async () => {
    await using world = await start(3);
    const before = await names(world);
    await world.change({ ...request('r', before.slice(0, 1), 3), spec: { replicas: 4 } });
    const { replicas, results } = await settle(world);
    expect([replicas, results[0]?.outcome]).toEqual([4, 'Refused']);
    expect(await names(world)).toEqual(expect.arrayContaining(before));
  });

  test('a named scale-in is refused during a rollout', async () => {
    await using world = await start(3, { birthMs: () => 20_000 });
    const [a = ''] = await names(world);
    await world.changeClass('large');
    await world.pass(5);
    await world.change(request('r', [a], 3));
    await world.pass(5);
    const stored = await world.deployment();
    expect([stored.spec.replicas, scaleInResults(stored)[0]?.message]).toEqual([
      3,
      expect.stringContaining('a rollout is in progress'),
    ]);
  });

  test('the manager dies right after the write: the next one executes it', async () => {
    await using world = await start(5);
    const [a = '', b = '', ...rest] = await names(world);
    const write = world.change(request('r1', [a, b], 5));
    await world.restart();
    await write;
    const { replicas, left } = await settle(world);
    expect([replicas, left]).toEqual([3, rest]);
  });
});

describe('the scaler’s annotations (docs/compatibility/rules-deployments.md §9)', () => {
  const scaler = (time: Date, list: readonly string[], replicas: number) => {
    const stamp = formatTime(time);
    return {
      metadata: {
        annotations: {
          [Annotations.LastReplicaChangeByScaler]: stamp,
          [Annotations.TriggerDeletion]: list.map((name) => `${name}~${stamp}`).join(','),
        },
      },
      spec: { replicas },
    };
  };

  test('a scale-down as the scaler writes it: the named machine is deleted, and the list is pruned [9.1]', async () => {
    await using world = await start(3);
    const [a = '', b = '', c = ''] = await names(world);
    await world.change(scaler(world.clock.now(), [b], 2));
    await world.pass(30);
    expect(await names(world)).toEqual([a, c]);
    expect((await world.deployment()).metadata.annotations?.[Annotations.TriggerDeletion]).toBeUndefined();
  });

  test('a name alone deletes nothing: the machine is deleted when the replicas fall [9.3]', async () => {
    await using world = await start(3);
    const [a = '', b = '', c = ''] = await names(world);
    await world.change(scaler(world.clock.now(), [b], 3));
    await world.pass(120);
    expect(await names(world)).toEqual([a, b, c]);
    const said = (await world.events()).filter((event) => event.reason === 'ScaleInPending');
    expect(said.map((event) => event.message)).toEqual([
      expect.stringContaining('was not reduced after the machine was marked'),
    ]);
    await world.change({ spec: { replicas: 2 } });
    await world.pass(30);
    expect(await names(world)).toEqual([a, c]);
  });

  test.each(['', ' '])('an empty list %j of machines has no effect, also on a marked machine', async (list) => {
    await using world = await start(3);
    const before = await names(world);
    const marks = { [Annotations.Priority]: '1', [Annotations.MarkedForDeletionTime]: '2026-01-01T12:00:00Z' };
    await world.patchMachine(before[1] ?? '', { metadata: { annotations: marks } });
    await world.pass(30);
    const written = world.totalWrites();
    await world.change({ metadata: { annotations: { [Annotations.TriggerDeletion]: list } } });
    await world.pass(120);
    expect([await names(world), world.totalWrites()]).toEqual([before, written]);
    const { annotations } = (await world.deployment()).metadata;
    expect(annotations?.[Annotations.TriggerDeletion]).toBe(list);
    expect(annotations).not.toHaveProperty([Annotations.LastReplicaChangeByScaler]);
  });

  test('a list of machines that are gone leaves the deployment and deletes no machine that is marked', async () => {
    await using world = await start(3);
    const before = await names(world);
    const marks = { [Annotations.Priority]: '1', [Annotations.MarkedForDeletionTime]: '2026-01-01T12:00:00Z' };
    await world.patchMachine(before[1] ?? '', { metadata: { annotations: marks } });
    await world.pass(30);
    await world.change({ metadata: { annotations: { [Annotations.TriggerDeletion]: 'gone' } } });
    await world.pass(120);
    expect(await names(world)).toEqual(before);
    const { annotations } = (await world.deployment()).metadata;
    expect(annotations).not.toHaveProperty([Annotations.TriggerDeletion]);
    expect(annotations).not.toHaveProperty([Annotations.LastReplicaChangeByScaler]);
  });

  test('priority 1 at equal count: nothing is deleted, one event reports it, and the next scale-down takes it [incident 7]', async () => {
    await using world = await start(3);
    const [a = '', b = '', c = ''] = await names(world);
    await world.patchMachine(b, priority('1'));
    await world.pass(120);
    expect(await names(world)).toEqual([a, b, c]);
    const said = (await world.events()).filter((event) => event.reason === 'ScaleInPending');
    expect(said.map((event) => [event.message?.includes(b), event.count ?? 1])).toEqual([[true, 1]]);
    await world.change({ spec: { replicas: 2 } });
    await world.pass(30);
    expect(await names(world)).toEqual([a, c]);
  });

  test('a machine that is named in the write of the scale-down is deleted, without an event that it stays', async () => {
    await using world = await start(3);
    const [, b = ''] = await names(world);
    const { metadata, spec } = scaler(world.clock.now(), [b], 2);
    const { [Annotations.TriggerDeletion]: list } = metadata.annotations;
    await world.change({ metadata: { annotations: { [Annotations.TriggerDeletion]: list } }, spec });
    await world.pass(60);
    expect(await names(world)).not.toContain(b);
    expect((await world.events()).filter((event) => event.reason === 'ScaleInPending')).toEqual([]);
  });

  test('a list of invalid entries is dropped with an event, and no machine is deleted', async () => {
    await using world = await start(2);
    const before = await names(world);
    await world.change({ metadata: { annotations: { [Annotations.TriggerDeletion]: `${before[0]}~soon,x~1~2` } } });
    await world.pass(30);
    expect(await names(world)).toEqual(before);
    expect((await world.events()).find((event) => event.reason === 'ScaleInRefused')?.message).toContain('RFC 3339');
  });
});

test.each(['', 'null', '7', '[]', '{"requestID":"a"}', '{"requestID":"a","machines":"m","from":1,"to":0}'])(
  'the text %j results in a sentence',
  (text) => {
    expect(parseScaleIn(text)).toMatchObject({ problem: expect.stringContaining('scale-in]: ') });
  },
);
