import { createInformer, type KubeClient, type Node, nodes, seededRandom, silentLogger } from '@mcm/kube';
import { expect, test } from 'vitest';
import { isUnavailable, NEW_NODE_MS } from '../conditions/predicates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { machineConfigPools, machineConfigs } from '../kinds/resources.ts';
import { evaluateStrategy } from '../machines/replace.ts';
import { configOf, fillWorld, startWorld, WORKER_ROLE } from '../testing.ts';
import { decide } from './decide.ts';
import { PlayedFleet } from './fleet.testing.ts';

const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;
const LABELS = { 'node-role.kubernetes.io/worker': '' };

const target = async (client: KubeClient) =>
  (await client.resource(machineConfigPools).get('worker')).spec?.configuration?.name ?? '';

test('nodes that are older than their daemons get their first config in turn, at most maxUnavailable at once', async () => {
  const world = await startWorld();
  const { client, clock } = world;
  const stop = new AbortController();
  for (let index = 0; index < 5; index += 1) {
    await client.resource(nodes).create({ metadata: { name: `n${index}`, labels: LABELS }, spec: {} });
  }
  await clock.advance(NEW_NODE_MS);
  const fleet = new PlayedFleet(client, clock);
  try {
    await clock.advance(30_000);
    const states = (await client.resource(nodes).list()).items.map(({ metadata }) => metadata.annotations?.[State]);
    expect(states).toEqual(Array(5).fill('Waiting'));
    const worst = { unavailable: 0, targeted: 0 };
    const seen = createInformer(client, nodes, { clock, random: seededRandom(3), log: silentLogger });
    seen.onChange(() => {
      const all: readonly Node[] = seen.store.list();
      const targeted = all.filter(({ metadata: { annotations = {} } }) => annotations[DesiredConfig] !== undefined);
      const away = targeted.filter((node) => isUnavailable(node)).length;
      worst.unavailable = Math.max(worst.unavailable, away);
      worst.targeted = Math.max(worst.targeted, targeted.length);
    });
    void seen.run(stop.signal);
    const spec = { config: configOf('one'), kernelArguments: ['a'] };
    await client.resource(machineConfigs).create({ metadata: { name: '50-user', labels: WORKER_ROLE }, spec });
    await fillWorld(client, { count: 0, maxUnavailable: 2 });
    await clock.advance(15 * 60_000);
    const { items } = await client.resource(nodes).list();
    const wanted = await target(client);
    expect(items.map(({ metadata: { annotations = {} } }) => [annotations[CurrentConfig], annotations[State]])).toEqual(
      Array(5).fill([wanted, 'Done']),
    );
    expect([...fleet.hosts.values()].map(({ boots }) => boots)).toEqual(Array(5).fill(1));
    expect(worst).toEqual({ unavailable: 2, targeted: 5 });
  } finally {
    stop.abort();
    fleet.stop();
    await world.end();
  }
});

test('a node that has just joined applies its first config immediately', () => {
  const view = { nodeName: 'n', annotations: {}, forced: false, now: 0 };
  expect(decide({ ...view, settled: false })).toEqual({ kind: 'first' });
  expect(decide({ ...view, settled: true })).toMatchObject({ kind: 'write', annotations: { [State]: 'Waiting' } });
  expect(decide({ ...view, annotations: { [State]: 'Waiting' }, settled: true })).toEqual({ kind: 'idle' });
});

test('a pool with Replace replaces machines that are older than it, and waits for those that join', () => {
  const pool = { metadata: { name: 'worker' }, spec: { updateStrategy: 'Replace', configuration: { name: 'wanted' } } };
  const node = (annotations: object) => ({ metadata: { name: 'n', annotations } }) as Node;
  const due = (annotations: object) =>
    evaluateStrategy(pool as never, [node(annotations)], () => undefined).condition?.status === 'True';
  expect(due({})).toBe(false);
  expect(due({ [State]: 'Waiting' })).toBe(true);
  expect(due({ [DesiredConfig]: 'wanted', [State]: 'Waiting' })).toBe(false);
  expect(due({ [CurrentConfig]: 'other' })).toBe(true);
});
