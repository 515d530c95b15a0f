import { startControlPlane } from '@mcm/control-plane';
import { afterEach, describe, expect, test } from 'vitest';
import { createClient } from '../client/create-client.ts';
import type { KubeObject } from '../contract/objects.ts';
import type { Transport } from '../contract/transport.ts';
import { serve } from '../testing/serve.ts';
import { events } from '../types/core.ts';
import { createRecorder } from './create-recorder.ts';

const set = (name: string, namespace: string | undefined = 'default'): KubeObject => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineSet',
  metadata: {
    name,
    ...(namespace === '' ? {} : { namespace }),
    uid: `uid-${name}`,
    resourceVersion: '7',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
});

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function setUp(wrap: (transport: Transport) => Transport = (transport) => transport) {
  const p = await serve(startControlPlane);
  closers.push(() => p.server.close());
  const client = createClient({ transport: wrap(p.transport), userAgent: 'test', clock: p.clock });
  const recorder = createRecorder({ client, component: 'demo', clock: p.clock, log: p.log, random: p.random });
  const stored = async () => {
    const { items } = await p.client.resource(events).list();
    return items.map(({ reason, message, count }) => `${count} ${reason}: ${message}`).sort();
  };
  p.writes.length = 0;
  return { ...p, recorder, stored };
}

describe('recorder', () => {
  test('the annotations of an event are annotations of the Event', async () => {
    const t = await setUp();
    t.recorder.event(set('a'), 'Normal', 'Traced', 'with a trace', { annotations: { 'example.org/trace': 'abc' } });
    t.recorder.event(set('a'), 'Normal', 'Plain', 'without a trace');
    await t.clock.advance(2_000);
    const { items } = await t.client.resource(events).list();
    expect(items.map(({ reason, metadata }) => [reason, metadata.annotations]).sort()).toEqual([
      ['Plain', undefined],
      ['Traced', { 'example.org/trace': 'abc' }],
    ]);
  });

  test('an event with `once` is not recorded again by the next process while the Event is stored', async () => {
    const t = await setUp();
    const record = async (message: string) => {
      const recorder = createRecorder({ client: t.client, component: 'demo', clock: t.clock, log: t.log });
      for (let i = 0; i < 2; i += 1) {
        recorder.event(set('a'), 'Warning', 'InvalidInput', message, { once: true });
        await t.clock.advance(2_000);
      }
    };
    await record('odd');
    await record('odd');
    expect(await t.stored()).toEqual(['1 InvalidInput: odd']);
    await record('strange');
    expect(await t.stored()).toEqual(['1 InvalidInput: odd', '1 InvalidInput: strange']);
    expect(t.log.lines).toEqual([]);
  });

  test('a create request without an answer does not create a second Event', async () => {
    let lost = 0;
    const t = await setUp((transport) => async (request) => {
      const answer = await transport(request);
      if (request.method === 'POST' && lost++ === 0) throw new Error('read ECONNRESET');
      return answer;
    });
    t.recorder.event(set('a'), 'Warning', 'FailedCreate', 'no quota');
    await t.clock.advance(60_000);
    expect([lost, await t.stored()]).toEqual([2, ['1 FailedCreate: no quota']]);
    t.recorder.event(set('a'), 'Warning', 'FailedCreate', 'no quota');
    await t.clock.advance(60_000);
    expect(await t.stored()).toEqual(['2 FailedCreate: no quota']);
  });

  test('writes an Event in the form that kubectl describe expects, after a short delay', async () => {
    const t = await setUp();
    t.recorder.event(set('a'), 'Warning', 'FailedCreate', 'no quota');
    await t.clock.settle();
    expect(t.writes).toEqual([]);
    await t.clock.advance(1000);
    const { items } = await t.client.resource(events, 'default').list();
    expect(items[0]).toMatchObject({
      involvedObject: {
        apiVersion: 'machine.sapcloud.io/v1alpha1',
        kind: 'MachineSet',
        name: 'a',
        namespace: 'default',
        uid: 'uid-a',
        resourceVersion: '7',
      },
      type: 'Warning',
      reason: 'FailedCreate',
      message: 'no quota',
      count: 1,
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      source: { component: 'demo' },
      reportingComponent: 'demo',
    });
    expect(items[0]?.metadata.name).toMatch(/^a\.[0-9a-f]+$/);
  });

  test('repeated events are counted with one write', async () => {
    const t = await setUp();
    for (let i = 0; i < 50; i++) t.recorder.event(set('a'), 'Normal', 'Synced', 'ok');
    await t.clock.advance(1000);
    for (let i = 0; i < 50; i++) t.recorder.event(set('a'), 'Normal', 'Synced', 'ok');
    await t.clock.advance(1000);
    expect(await t.stored()).toEqual(['100 Synced: ok']);
    expect(t.writes.map((write) => write.split(' ')[0])).toEqual(['POST', 'PATCH']);
  });

  test('many different messages cost a few writes, and all are counted', async () => {
    const t = await setUp();
    for (let i = 0; i < 100; i++) {
      t.recorder.event(set('a'), 'Normal', 'SuccessfulCreate', `Created machine m-${i}`);
      await t.clock.advance(30);
    }
    await t.clock.advance(2000);
    expect(t.writes.length).toBeLessThanOrEqual(5);
    expect(await t.stored()).toEqual(['100 SuccessfulCreate: (combined from similar events): Created machine m-99']);
  });

  test('ten similar messages keep their texts', async () => {
    const t = await setUp();
    for (let i = 0; i < 10; i++) t.recorder.event(set('a'), 'Normal', 'Created', `m-${i}`);
    await t.clock.advance(1000);
    t.recorder.event(set('a'), 'Normal', 'Created', 'm-10');
    await t.clock.advance(1000);
    expect(await t.stored()).toEqual([
      '1 Created: (combined from similar events): m-10',
      ...Array.from({ length: 10 }, (_, i) => `1 Created: m-${i}`),
    ]);
  });

  test('a reason starts a new count after ten minutes without events', async () => {
    const t = await setUp();
    for (let i = 0; i < 20; i++) t.recorder.event(set('a'), 'Normal', 'Created', `m-${i}`);
    await t.clock.advance(601_000);
    t.recorder.event(set('a'), 'Normal', 'Created', 'm-20');
    await t.clock.advance(1000);
    expect(await t.stored()).toContain('1 Created: m-20');
  });

  test('objects, types and reasons have separate events', async () => {
    const t = await setUp();
    t.recorder.event(set('a'), 'Normal', 'R', 'm');
    t.recorder.event(set('b'), 'Normal', 'R', 'm');
    t.recorder.event(set('a'), 'Warning', 'R', 'm');
    t.recorder.event(set('a'), 'Normal', 'Q', 'm');
    await t.clock.advance(1000);
    expect(await t.stored()).toEqual(['1 Q: m', '1 R: m', '1 R: m', '1 R: m']);
  });

  test('events of cluster-scoped objects go to the namespace default', async () => {
    const t = await setUp();
    t.recorder.event(set('node', ''), 'Normal', 'R', 'm');
    await t.clock.advance(1000);
    expect(t.writes).toEqual(['POST /api/v1/namespaces/default/events']);
  });

  test('long messages are truncated', async () => {
    const t = await setUp();
    t.recorder.event(set('a'), 'Normal', 'R', 'x'.repeat(5000));
    await t.clock.advance(1000);
    const { items } = await t.client.resource(events).list();
    expect(items[0]?.message).toHaveLength(1024);
    expect(items[0]?.message).toMatch(/x\.\.\.$/);
  });

  test('flush writes pending events immediately', async () => {
    const t = await setUp();
    t.recorder.event(set('a'), 'Normal', 'R', 'm');
    await t.recorder.flush();
    expect(await t.stored()).toEqual(['1 R: m']);
    await t.clock.advance(5000);
    expect(t.writes.length).toBe(1);
  });

  test('an Event that expired on the server is created again', async () => {
    const t = await setUp();
    t.recorder.event(set('a'), 'Normal', 'R', 'm');
    await t.clock.advance(1000);
    await t.client.resource(events, 'default').deleteCollection();
    t.recorder.event(set('a'), 'Normal', 'R', 'm');
    await t.clock.advance(1000);
    expect(await t.stored()).toEqual(['2 R: m']);
  });

  test('events wait while the server is unreachable, which is logged once', async () => {
    let down = true;
    const t = await setUp(
      (transport) => (request) => (down ? Promise.reject(new Error('ECONNREFUSED')) : transport(request)),
    );
    for (let i = 0; i < 5; i++) t.recorder.event(set(`s${i}`), 'Normal', 'R', 'm');
    await t.clock.advance(20_000);
    down = false;
    await t.clock.advance(60_000);
    expect((await t.stored()).length).toBe(5);
    expect(t.log.lines.filter((line) => line.level === 'warn').length).toBe(1);
  });

  test('a refused event is dropped and never throws', async () => {
    const t = await setUp();
    t.recorder.event(set('a', 'no-such-namespace'), 'Normal', 'R', 'm');
    await t.clock.advance(120_000);
    expect(t.log.lines.map((line) => line.message)).toEqual(['API server refused an event; the event is dropped']);
    expect(await t.stored()).toEqual([]);
  });
});
