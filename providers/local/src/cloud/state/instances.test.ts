import { describe, expect, test } from 'vitest';
import type { Instance } from '../../machine/model.ts';
import { cloudRig } from '../../testing/cloud-rig.ts';
import { MemoryStore } from '../store/memory-store.ts';

describe('the life of an instance', () => {
  test('an instance goes from pending to running after its boot latency', async () => {
    const { call, clock, launch } = cloudRig({ latencies: { bootMs: 5_000 } });
    const { id, state } = await launch();
    expect(state).toBe('pending');
    await clock.advance(4_999);
    expect((await call('GET', `/v1/instances/${id}`)).body.state).toBe('pending');
    await clock.advance(1);
    expect((await call('GET', `/v1/instances/${id}`)).body.state).toBe('running');
  });

  test('an instance is terminated although the time of day is set back in the meantime', async () => {
    const { call, clock, launch } = cloudRig({ latencies: { bootMs: 5_000, shutdownMs: 5_000 } });
    const { id } = await launch();
    clock.jump(-1_000);
    await clock.advance(5_000);
    expect((await call('GET', `/v1/instances/${id}`)).body.state).toBe('pending');
    await clock.advance(1_000);
    expect((await call('GET', `/v1/instances/${id}`)).body.state).toBe('running');
    await call('DELETE', `/v1/instances/${id}`);
    clock.jump(-1_000);
    await clock.advance(6_000);
    expect((await call('GET', `/v1/instances/${id}`)).body.state).toBe('terminated');
  });

  test('an instance can have its own boot latency', async () => {
    const { call, clock, launch } = cloudRig();
    const { id } = await launch({ bootLatency: '2s' });
    await clock.advance(1_999);
    expect((await call('GET', `/v1/instances/${id}`)).body.state).toBe('pending');
    await clock.advance(1);
    expect((await call('GET', `/v1/instances/${id}`)).body.state).toBe('running');
  });

  test('an instance is terminated asynchronously, stays visible for a while, and is then removed', async () => {
    const { call, clock, launch } = cloudRig({ latencies: { shutdownMs: 3_000 } });
    const { id } = await launch();
    const deleted = await call('DELETE', `/v1/instances/${id}`);
    expect([deleted.status, deleted.body.state]).toEqual([202, 'shutting-down']);
    expect((await call('GET', '/v1/instances')).body.items).toHaveLength(1);
    await clock.advance(3_000);
    expect((await call('GET', `/v1/instances/${id}`)).body).toMatchObject({ state: 'terminated' });
    expect((await call('GET', '/v1/instances')).body.items).toEqual([]);
    expect((await call('GET', '/v1/instances?state=terminated')).body.items).toHaveLength(1);
    await clock.advance(600_000);
    expect((await call('GET', `/v1/instances/${id}`)).status).toBe(404);
  });

  test('a second deletion has no effect', async () => {
    const { call, clock, launch } = cloudRig({ latencies: { shutdownMs: 3_000 } });
    const { id } = await launch();
    await call('DELETE', `/v1/instances/${id}`);
    await clock.advance(2_000);
    await call('DELETE', `/v1/instances/${id}`);
    await clock.advance(1_000);
    expect((await call('GET', `/v1/instances/${id}`)).body.state).toBe('terminated');
    expect((await call('DELETE', `/v1/instances/${id}`)).status).toBe(200);
  });

  test('an instance deleted while pending never boots', async () => {
    const booted: string[] = [];
    const host = { boot: (i: Instance) => booted.push(i.id), halt: async () => undefined, forget: () => undefined };
    const { call, clock, launch } = cloudRig({ host, latencies: { bootMs: 1_000, shutdownMs: 5_000 } });
    const { id } = await launch();
    await call('DELETE', `/v1/instances/${id}`);
    await clock.advance(10_000);
    expect(booted).toEqual([]);
    expect((await call('GET', `/v1/instances/${id}`)).body.state).toBe('terminated');
  });

  test('in the state terminated, all work of the machine has ended', async () => {
    let halted = (): void => undefined;
    const host = {
      boot: () => undefined,
      halt: () =>
        new Promise<void>((resolve) => {
          halted = resolve;
        }),
      forget: () => undefined,
    };
    const { call, clock, launch } = cloudRig({ host });
    const { id } = await launch();
    await clock.advance(1);
    await call('DELETE', `/v1/instances/${id}`);
    await clock.advance(60_000);
    expect((await call('GET', `/v1/instances/${id}`)).body.state).toBe('shutting-down');
    halted();
    await clock.settle();
    expect((await call('GET', `/v1/instances/${id}`)).body.state).toBe('terminated');
  });
});

describe('the client token', () => {
  test('the client token returns the same instance for every repetition', async () => {
    const { call, launch } = cloudRig();
    const first = await launch({ clientToken: 'uid-1' });
    const again = await call('POST', '/v1/instances', { name: 'other', image: 'other', clientToken: 'uid-1' });
    expect([again.status, again.body.id, again.body.name]).toEqual([200, first.id, 'vm']);
    expect((await launch({ clientToken: 'uid-2' })).id).not.toBe(first.id);
  });

  test('a client token can be used again after its instance is terminated', async () => {
    const { call, clock, launch } = cloudRig();
    const first = await launch({ clientToken: 'uid-1' });
    await call('DELETE', `/v1/instances/${first.id}`);
    await clock.advance(1);
    expect((await launch({ clientToken: 'uid-1' })).id).not.toBe(first.id);
  });
});

describe('a restart of the process', () => {
  test('the cloud continues all transitions after a restart of its process', async () => {
    const store = new MemoryStore();
    const before = cloudRig({ store, latencies: { bootMs: 10_000, shutdownMs: 10_000 } });
    const running = await before.launch({ name: 'running', bootLatency: 0, clientToken: 'a', tags: { pool: 'x' } });
    const pending = await before.launch({ name: 'pending' });
    const ending = await before.launch({ name: 'ending', bootLatency: 0 });
    await before.clock.advance(4_000);
    await before.call('DELETE', `/v1/instances/${ending.id}`);
    before.cloud.close();
    await before.clock.advance(60_000);

    const booted: [string, boolean][] = [];
    const host = {
      boot: (instance: Instance, _: unknown, { resumed }: { resumed: boolean }) =>
        booted.push([instance.name, resumed]),
      halt: async () => undefined,
      forget: () => undefined,
    };
    const after = cloudRig({ store, host, clock: before.clock, latencies: { bootMs: 10_000, shutdownMs: 10_000 } });
    await after.clock.advance(1);
    const state = async (id: string) => (await after.call('GET', `/v1/instances/${id}`)).body.state;
    expect([await state(running.id), await state(pending.id), await state(ending.id)]).toEqual([
      'running',
      'running',
      'terminated',
    ]);
    expect(booted).toEqual([
      ['running', true],
      ['pending', false],
    ]);
    expect((await after.launch({ clientToken: 'a' })).id).toBe(running.id);
  });
});

describe('the console', () => {
  test('the console returns the lines that the machine wrote, with their times', async () => {
    const { call, cloud, clock, launch } = cloudRig();
    const { id } = await launch();
    await clock.advance(1_000);
    cloud.instances.appendConsole(id, 'login:');
    const { body } = await call('GET', `/v1/instances/${id}/console`);
    expect(body.output).toBe('[2026-01-01T00:00:01.000Z] login:\n');
  });
});
