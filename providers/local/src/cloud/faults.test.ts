import { describe, expect, test } from 'vitest';
import { cloudRig } from '../testing/cloud-rig.ts';

const base = { name: 'vm', image: 'linux' };

describe('ordered faults', () => {
  test('an error occurs as often as requested, and then the operation works again', async () => {
    const { call, cloud } = cloudRig();
    await call('POST', '/faults', { operation: 'instances.create', error: { code: 'InternalError' }, count: 2 });
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await call('POST', '/v1/instances', base)).status);
    expect(statuses).toEqual([500, 500, 201]);
    expect([...cloud.instances.list()]).toHaveLength(1);
    expect((await call('GET', '/faults')).body.items).toEqual([]);
  });

  test('throttling contains the delay of the next attempt', async () => {
    const { call } = cloudRig();
    const error = { code: 'RequestLimitExceeded', retryAfterSeconds: 7 };
    await call('POST', '/faults', { operation: 'instances.*', error });
    const answer = await call('GET', '/v1/instances');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '7']);
    expect((await call('GET', '/v1/volumes')).status).toBe(200);
  });

  test('a lost answer has its effect, if this is requested', async () => {
    const { call, callAndWait, cloud, clock } = cloudRig();
    const timeout = { after: '20s' };
    await call('POST', '/faults', { operation: 'instances.create', timeout, count: 1 });
    await call('POST', '/faults', { operation: 'instances.create', timeout, effect: true, count: 1 });
    const started = clock.now().getTime();
    expect((await callAndWait('POST', '/v1/instances', base)).body.error.code).toBe('RequestTimeout');
    expect([...cloud.instances.list()]).toHaveLength(0);
    expect((await callAndWait('POST', '/v1/instances', base)).status).toBe(504);
    expect([...cloud.instances.list()]).toHaveLength(1);
    expect(clock.now().getTime() - started).toBe(40_000);
  });

  test('a client that disconnects ends the wait', async () => {
    const { call, clock, cloud } = cloudRig();
    await call('POST', '/faults', { operation: 'instances.list', timeout: {} });
    const abort = new AbortController();
    const answer = call('GET', '/v1/instances', undefined, { signal: abort.signal });
    await clock.advance(1_000);
    abort.abort();
    await answer;
    expect(cloud.requests.recent()).toMatchObject([{ operation: 'instances.list', code: 0, ms: 1_000 }]);
  });

  test('a zone without capacity does not affect other zones', async () => {
    const { call } = cloudRig();
    await call('POST', '/faults', {
      operation: 'instances.create',
      zone: 'local-a',
      error: { code: 'InsufficientCapacity' },
    });
    expect((await call('POST', '/v1/instances', { ...base, zone: 'local-a' })).status).toBe(409);
    expect((await call('POST', '/v1/instances', { ...base, zone: 'local-b' })).status).toBe(201);
  });

  test('delayed listings do not contain new instances and still contain terminated ones', async () => {
    const { call, clock, launch } = cloudRig();
    await call('POST', '/faults', { operation: 'instances.list', stale: '10s' });
    const names = async () => (await call('GET', '/v1/instances')).body.items.map(({ name }) => name);
    const { id } = await launch({ name: 'new' });
    await clock.advance(9_999);
    expect(await names()).toEqual([]);
    expect((await call('GET', `/v1/instances/${id}`)).status).toBe(200);
    await clock.advance(1);
    expect(await names()).toEqual(['new']);
    await call('DELETE', `/v1/instances/${id}`);
    await clock.advance(9_999);
    expect((await call('GET', `/v1/instances/${id}`)).body.state).toBe('terminated');
    expect(await names()).toEqual(['new']);
    await clock.advance(2);
    expect(await names()).toEqual([]);
  });

  test('a fault can have a latency and a probability', async () => {
    const { call, callAndWait, clock } = cloudRig();
    await call('POST', '/faults', { operation: 'volumes.list', latency: { min: '1s', max: '2s' } });
    const started = clock.now().getTime();
    await callAndWait('GET', '/v1/volumes');
    expect(clock.now().getTime() - started).toBeGreaterThanOrEqual(1_000);
    expect(clock.now().getTime() - started).toBeLessThan(2_000);
    await call('POST', '/faults', { operation: 'zones.list', error: { code: 'Flaky', status: 500 }, probability: 0.3 });
    let failed = 0;
    for (let n = 0; n < 200; n++) if ((await call('GET', '/v1/zones')).status === 500) failed += 1;
    expect(failed).toBeGreaterThan(30);
    expect(failed).toBeLessThan(90);
  });

  test.each<[object, RegExp]>([
    [{ operation: 'instances.create' }, /at least one of error, timeout, latency/],
    [{ operation: 'create', error: { code: 'X' } }, /^operation: must be an operation/],
    [{ operation: '*', error: { code: 'X', status: 200 } }, /^error\.status: /],
    [{ operation: '*', error: { code: 'X' }, probability: 2 }, /^probability: /],
    [{ operation: 'instances.boot', kubelet: { join: 'maybe' } }, /^kubelet\.join: /],
  ])('the cloud refuses the fault rule %j', async (rule, message) => {
    const { call } = cloudRig();
    const answer = await call('POST', '/faults', rule);
    expect(answer.status).toBe(400);
    expect(answer.body.error.message).toMatch(message);
  });

  test('one fault rule or all fault rules can be deleted', async () => {
    const { call } = cloudRig();
    const { body } = await call('POST', '/faults', { operation: '*', error: { code: 'InternalError' } });
    expect((await call('GET', '/v1/zones')).status).toBe(500);
    expect((await call('DELETE', `/faults/${body.id}`)).status).toBe(204);
    expect((await call('GET', '/v1/zones')).status).toBe(200);
    expect((await call('DELETE', `/faults/${body.id}`)).status).toBe(404);
    await call('POST', '/faults', { operation: '*', error: { code: 'InternalError' } });
    await call('DELETE', '/faults');
    expect((await call('GET', '/v1/zones')).status).toBe(200);
  });
});
