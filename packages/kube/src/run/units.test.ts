import { startControlPlane } from '@mcm/control-plane';
import { afterEach, describe, expect, test } from 'vitest';
import { KubeError } from '../contract/errors.ts';
import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';
import { serve } from '../testing/serve.ts';
import { nodes } from '../types/core.ts';
import { discoverResources } from './cluster/api-server.ts';
import { type Unit, UnitRunner } from './units.ts';

const things: ResourceDefinition<KubeObject> = {
  group: 'example.com',
  version: 'v1',
  plural: 'things',
  kind: 'Thing',
  namespaced: true,
};
const customResourceDefinitions: ResourceDefinition<KubeObject & { spec: object }> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
const thingsCrd = {
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function setUp() {
  const p = await serve(startControlPlane);
  closers.push(() => p.server.close());
  const running: string[] = [];
  const runs = { nodes: 0, things: 0 };
  const untilAbort = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  const informer = (name: 'nodes' | 'things') => ({
    synced: true,
    run: (signal: AbortSignal) => {
      runs[name]++;
      return untilAbort(signal);
    },
  });
  const shared = informer('nodes');
  const unit = (name: string, definitions: ResourceDefinition<KubeObject>[], change: Partial<Unit> = {}): Unit => ({
    name,
    needs: definitions.map((definition) => ({ client: p.client, definition })),
    informers: definitions.map((definition) => (definition === things ? informer('things') : shared)),
    run: async (signal) => {
      running.push(name);
      await untilAbort(signal);
    },
    ...change,
  });
  const start = (units: Unit[]) => {
    const stop = new AbortController();
    const runner = new UnitRunner({ units, clock: p.clock, random: p.random, log: p.log });
    return { runner, done: runner.run(stop.signal), stop: () => stop.abort(new Error('stop')) };
  };
  return { ...p, running, runs, unit, start };
}

describe('units', () => {
  test('a unit starts when its kinds exist; a missing kind is logged once, shown, and searched for', async () => {
    const t = await setUp();
    const { runner, done, stop } = t.start([t.unit('machines', [nodes]), t.unit('sets', [nodes, things])]);
    await t.clock.settle();
    expect(t.running).toEqual(['machines']);
    expect(runner.checks()).toEqual([
      { name: 'controller/machines', ok: true, detail: 'ok' },
      { name: 'controller/sets', ok: true, detail: 'waiting for things.example.com/v1 to be installed' },
    ]);
    await t.clock.advance(120_000);
    expect(t.log.lines.filter((line) => line.level === 'warn').length).toBe(1);
    await t.client.resource(customResourceDefinitions).create(thingsCrd);
    await t.clock.advance(20_000);
    expect(t.running).toEqual(['machines', 'sets']);
    expect(t.runs).toEqual({ nodes: 1, things: 1 });
    stop();
    await done;
    expect(t.clock.pending).toBe(0);
  });

  test('a binary without a started unit is not ready', async () => {
    const t = await setUp();
    const { runner, done, stop } = t.start([t.unit('sets', [things])]);
    await t.clock.settle();
    expect(runner.checks()).toEqual([
      { name: 'controller/sets', ok: false, detail: 'waiting for things.example.com/v1 to be installed' },
    ]);
    stop();
    await done;
  });

  test('a cache that is not synced is named, and other units continue', async () => {
    const t = await setUp();
    const slow = { synced: false, resource: 'pods', run: async () => undefined };
    const { runner, done, stop } = t.start([t.unit('machines', [nodes]), t.unit('drains', [], { informers: [slow] })]);
    await t.clock.settle();
    expect(runner.checks()).toEqual([
      { name: 'controller/machines', ok: true, detail: 'ok' },
      { name: 'controller/drains', ok: false, detail: 'filling its caches: pods' },
    ]);
    stop();
    await done;
  });

  test('a cache that no user needs does not delay the readiness of its unit', async () => {
    const t = await setUp();
    const closed = { synced: false, closed: true, resource: 'pods', run: () => Promise.resolve() };
    const { runner, done, stop } = t.start([t.unit('machines', [nodes], { informers: [closed] })]);
    await t.clock.settle();
    expect(runner.checks()).toEqual([{ name: 'controller/machines', ok: true, detail: 'ok' }]);
    stop();
    await done;
  });

  test('a refused kind is named: units for which it is optional are ready, others wait', async () => {
    const t = await setUp();
    const words = 'pods is forbidden: User "x" cannot list resource "pods" in API group "" at the cluster scope';
    const refused = new KubeError(words, { code: 403 });
    const informer = { synced: false, refused, resource: 'pods', run: async () => undefined };
    const missing = { ...informer, resource: 'gadgets', refused: new KubeError('not found', { code: 404 }) };
    const { runner, done, stop } = t.start([
      t.unit('machines', [], { informers: [informer, missing], spares: [informer, missing] }),
      t.unit('drains', [], { informers: [informer] }),
    ]);
    await t.clock.settle();
    expect(runner.checks()).toEqual([
      {
        name: 'controller/machines',
        ok: true,
        detail: 'running, but this process does not have the permission to list pods, the API server has no gadgets',
      },
      {
        name: 'controller/drains',
        ok: false,
        detail: 'waiting: this process does not have the permission to list pods',
      },
    ]);
    stop();
    await done;
  });

  test('a failed unit fails the run', async () => {
    const t = await setUp();
    const { done, stop } = t.start([t.unit('bad', [nodes], { run: () => Promise.reject(new Error('bug')) })]);
    await expect(done).rejects.toThrow('bug');
    stop();
  });
});

test('discovery distinguishes existing and missing groups', async () => {
  const t = await setUp();
  expect((await discoverResources(t.client, nodes)).has('pods')).toBe(true);
  expect(await discoverResources(t.client, things)).toEqual(new Set());
});
