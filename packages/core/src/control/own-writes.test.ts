import { crds, type MachineSet, machineSets } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  createInformer,
  createMemoryLogger,
  type Informer,
  isConflict,
  keyOf,
  type ResourceClient,
  seededRandom,
  VirtualClock,
} from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import { orderedClient } from './own-writes.ts';

interface Stage {
  readonly set: MachineSet;
  readonly cache: Informer<MachineSet>;
  readonly sets: ResourceClient<MachineSet>;
  readonly other: ResourceClient<MachineSet>;
  readonly conflicts: () => number;
  readonly stored: () => Promise<MachineSet>;
}

async function start(): Promise<Stage> {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds, controllers: false });
  onTestFinished(() => plane.close());
  let conflicts = 0;
  const counted: typeof plane.transport = async (request) => {
    const answer = await plane.transport(request);
    if (answer.status === 409) conflicts++;
    return answer;
  };
  const parts = { userAgent: 't', clock, random: seededRandom(1) };
  const client = createClient({ transport: counted, ...parts });
  const other = createClient({ transport: plane.transport, ...parts }).resource<MachineSet>(machineSets, 'default');
  const runtime = { clock, random: seededRandom(1), log: createMemoryLogger(), namespace: 'default' };
  const cache = createInformer<MachineSet>(client, machineSets, runtime);
  const set = await other.create({
    metadata: { name: 'set', namespace: 'default' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
    },
  } as never);
  await cache.readOnce(new AbortController().signal);
  const sets = orderedClient(client, [cache]).resource<MachineSet>(machineSets, 'default');
  return { set, cache, sets, other, conflicts: () => conflicts, stored: () => other.get('set') };
}

const resized = (set: MachineSet, replicas: number): MachineSet => ({ ...set, spec: { ...set.spec, replicas } });
const counted = (set: MachineSet, replicas: number): MachineSet => ({ ...set, status: { replicas } });
const STATUS = { subresource: 'status' } as const;

test('writes of the status and of the size at the same time cause no conflict', async () => {
  const { set, sets, conflicts, stored } = await start();
  const label = { type: 'merge', body: { metadata: { labels: { freeze: 'True' } } } } as const;
  await Promise.all([
    sets.update(counted(set, 1), STATUS),
    sets.update(resized(set, 5), {}),
    sets.patch('set', label),
    sets.update(counted(counted(set, 1), 1), STATUS).catch(() => undefined),
  ]);
  expect(conflicts()).toBe(0);
  expect(await stored()).toMatchObject({
    metadata: { labels: { freeze: 'True' } },
    spec: { replicas: 5 },
    status: { replicas: 1 },
  });
});

test('a patch with a version follows the writes of this process', async () => {
  const { set, sets, conflicts, stored } = await start();
  const { resourceVersion } = set.metadata;
  await sets.update(counted(set, 1), STATUS);
  await sets.patch('set', { type: 'merge', body: { metadata: { resourceVersion, annotations: { a: 'b' } } } });
  expect([conflicts(), (await stored()).metadata.annotations]).toEqual([0, { a: 'b' }]);
});

test.each<[what: string, first: (stage: Stage) => Promise<unknown>]>([
  ['an earlier size', ({ set, sets }) => sets.update(resized(set, 5))],
  ['an earlier label', ({ sets }) => sets.patch('set', { type: 'merge', body: { metadata: { labels: { a: 'b' } } } })],
])('a write that would undo %s of this process is not sent', async (_what, first) => {
  const stage = await start();
  const { set, sets, conflicts, stored } = stage;
  await first(stage);
  const before = await stored();
  await expect(sets.update(resized(set, 9))).rejects.toSatisfy(isConflict);
  expect([conflicts(), await stored()]).toEqual([0, before]);
});

test('a status does not replace a status that another controller of this process wrote', async () => {
  const { set, sets, conflicts, stored } = await start();
  await sets.update(counted(set, 1), STATUS);
  await expect(sets.update(counted(set, 2), STATUS)).rejects.toSatisfy(isConflict);
  expect([conflicts(), (await stored()).status?.replicas]).toEqual([0, 1]);
});

test('a write of another program is never replaced', async () => {
  const { set, sets, other, cache, conflicts, stored } = await start();
  await sets.update(counted(set, 1), STATUS);
  const foreign = await other.update(resized(await stored(), 3));
  await expect(sets.update(resized(set, 5))).rejects.toSatisfy(isConflict);
  cache.recordWrite(foreign);
  await expect(sets.update(resized(set, 5))).rejects.toSatisfy(isConflict);
  await sets.update(counted(foreign, 2), STATUS);
  await expect(sets.update(resized(set, 5))).rejects.toSatisfy(isConflict);
  expect([conflicts(), (await stored()).spec.replicas]).toEqual([3, 3]);
});

test('a new object with the name of a deleted object has no history', async () => {
  const { set, sets, other, cache, stored } = await start();
  await sets.update(counted(set, 1), STATUS);
  await other.delete('set');
  const { name, namespace } = set.metadata;
  const next = await other.create({ metadata: { name, namespace }, spec: set.spec } as never);
  cache.recordWrite(next);
  await expect(sets.update(resized(set, 5))).rejects.toSatisfy(isConflict);
  expect([(await stored()).spec.replicas, cache.store.get(keyOf(set))?.metadata.uid]).toEqual([1, next.metadata.uid]);
});

test('a write that is stopped before its turn is not sent', async () => {
  const { set, sets, stored } = await start();
  const stop = new AbortController();
  const first = sets.update(counted(set, 1), STATUS);
  const second = sets.update(resized(set, 5), { signal: stop.signal });
  stop.abort(new Error('stopped'));
  await expect(second).rejects.toThrow('stopped');
  await first;
  expect((await stored()).spec.replicas).toBe(1);
});
