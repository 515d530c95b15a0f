import { describe, expect, test } from 'vitest';
import { cloudRig } from '../testing/cloud-rig.ts';

const tooLong = 'x'.repeat(65_537);
const base = { name: 'vm', image: 'linux' };

describe('the API', () => {
  test('the API requires the bearer token, except for the health check', async () => {
    const { call } = cloudRig({ token: 'secret' });
    expect((await call('GET', '/v1/instances', undefined, { token: 'wrong' })).body.error.code).toBe('Unauthenticated');
    expect((await call('GET', '/faults', undefined, { token: '' })).status).toBe(401);
    expect((await call('GET', '/v1/instances')).status).toBe(200);
    expect((await call('GET', '/healthz', undefined, { token: '' })).status).toBe(200);
  });

  test.each<[string, object, RegExp]>([
    ['no name', { image: 'linux' }, /^name: /],
    ['no image', { name: 'vm' }, /^image: /],
    ['an unknown field', { ...base, size: 3 }, /size/],
    ['an unknown zone', { ...base, zone: 'moon' }, /zone: "moon" is not one of local-a, local-b, local-c/],
    [
      'an unknown type',
      { ...base, machineType: 'tiny' },
      /machineType: "tiny" is not one of local, small, .* or custom-<cpus>-<GiB>/,
    ],
    ['a disk of no size', { ...base, volumes: [{ sizeGi: 0 }] }, /^volumes\.0\.sizeGi: /],
    ['no duration', { ...base, bootLatency: 'soon' }, /bootLatency: must be a duration/],
    [
      'user data twice',
      { ...base, userData: 'a', userDataBase64: 'YQ==' },
      /^userDataBase64: contradicts userData; send only one of the two fields/,
    ],
    ['user data that is not base64', { ...base, userDataBase64: '%' }, /^userDataBase64: /],
    ['long user data', { ...base, userData: tooLong }, /^userData: /],
  ])('%s is refused with the name of the field', async (_, body, message) => {
    const { call, cloud } = cloudRig();
    const answer = await call('POST', '/v1/instances', body);
    expect([answer.status, answer.body.error.code]).toEqual([400, 'InvalidParameter']);
    expect(answer.body.error.message).toMatch(message);
    expect([...cloud.instances.list()]).toEqual([]);
  });

  test('the API refuses a body that is not JSON, and unknown paths', async () => {
    const { call, cloud } = cloudRig();
    const broken = await cloud.fetch(new Request('http://cloud/v1/instances', { method: 'POST', body: '{' }));
    expect([broken.status, await broken.json()]).toMatchObject([400, { error: { code: 'MalformedRequest' } }]);
    expect((await call('GET', '/v1/nothing')).body.error.code).toBe('NotFound');
  });

  test('the API never returns user data', async () => {
    const { call, launch } = cloudRig();
    const { id } = await launch({ userData: 'token: 123456.0123456789abcdef' });
    for (const path of [`/v1/instances/${id}`, '/v1/instances', '/requests'])
      expect(JSON.stringify((await call('GET', path)).body)).not.toContain('0123456789abcdef');
  });

  test('the API lists in pages by tags, without gaps and repetitions', async () => {
    const { call, launch } = cloudRig();
    for (let n = 0; n < 7; n++) await launch({ name: `vm-${n}`, tags: { pool: n % 2 ? 'odd' : 'even', all: 'yes' } });
    const names: string[] = [];
    let token = '';
    let pages = 0;
    do {
      const { body } = await call('GET', `/v1/instances?limit=2&tag.pool=even&tag.all=&pageToken=${token}`);
      names.push(...body.items.map(({ name }) => name));
      token = body.nextPageToken ?? '';
      pages += 1;
    } while (token !== '');
    expect([names.sort(), pages]).toEqual([['vm-0', 'vm-2', 'vm-4', 'vm-6'], 2]);
    expect((await call('GET', '/v1/instances?limit=0')).status).toBe(400);
    expect((await call('GET', '/v1/instances?pageToken=rubbish')).body.error.message).toMatch(/^pageToken: /);
  });

  test('the API delays the answer to a deletion until the instance is terminated', async () => {
    const { call, callAndWait, clock, launch } = cloudRig({ latencies: { shutdownMs: 7_000 } });
    const { id } = await launch();
    const started = clock.now().getTime();
    const answer = await callAndWait('DELETE', `/v1/instances/${id}?wait=terminated&timeout=30s`);
    expect([answer.status, answer.body.state, clock.now().getTime() - started]).toEqual([200, 'terminated', 7_000]);
    const other = await launch();
    expect((await callAndWait('DELETE', `/v1/instances/${other.id}?wait=terminated&timeout=1s`)).status).toBe(202);
    expect((await call('GET', `/v1/instances/${other.id}?wait=asleep`)).body.error.message).toMatch(/^wait: /);
  });

  test('the API changes tags; null removes one', async () => {
    const { call, launch } = cloudRig();
    const { id } = await launch({ tags: { a: '1', b: '2' } });
    const { body } = await call('PUT', `/v1/instances/${id}/tags`, { tags: { b: null, c: '3' } });
    expect(body.tags).toEqual({ a: '1', c: '3' });
  });

  test('the API counts requests by operation', async () => {
    const { call, launch } = cloudRig();
    await launch();
    await call('GET', '/v1/instances/i-0');
    const { body } = await call('GET', '/requests');
    expect(body.counters).toEqual({
      'instances.create': { total: 1, failed: 0, byCode: { 201: 1 } },
      'instances.get': { total: 1, failed: 1, byCode: { 404: 1 } },
    });
    expect(body.items).toMatchObject([{ operation: 'instances.create', instance: 'vm' }, { error: 'NotFound' }]);
    expect((await call('GET', '/requests?limit=0')).body.items).toEqual([]);
    await call('DELETE', '/requests');
    expect((await call('GET', '/requests')).body.counters).toEqual({});
  });
});

describe('quotas', () => {
  test('quotas limit instances, processors and the capacity of a zone', async () => {
    const { call, callAndWait, launch } = cloudRig();
    await call('PUT', '/v1/quotas', { instances: 3, cpus: 6, zoneCapacity: { 'local-b': 0 } });
    await launch({ machineType: 'small' });
    const full = await call('POST', '/v1/instances', { ...base, zone: 'local-b' });
    expect([full.status, full.body.error.code]).toEqual([409, 'InsufficientCapacity']);
    const cpus = await call('POST', '/v1/instances', { ...base, machineType: 'large' });
    expect([cpus.status, cpus.body.error.message]).toEqual([403, 'Quota cpus is 6; this request would need 10.']);
    await launch({ machineType: 'small' });
    const { id } = await launch({ machineType: 'small' });
    expect((await call('POST', '/v1/instances', base)).body.error.message).toMatch(/^Quota instances is 3/);
    await callAndWait('DELETE', `/v1/instances/${id}?wait=terminated`);
    await launch({ machineType: 'small' });
    expect((await call('PUT', '/v1/quotas', { instances: -1 })).status).toBe(400);
  });
});

describe('images', () => {
  test('a new machine cannot boot from a deprecated image; it can boot from an unregistered one, unless configured otherwise', async () => {
    const { call } = cloudRig();
    const { body } = await call('POST', '/v1/images', { name: 'linux' });
    expect((await call('POST', '/v1/images', { name: 'linux' })).body.error.code).toBe('ResourceInUse');
    expect((await call('POST', '/v1/instances', base)).status).toBe(201);
    await call('POST', `/v1/images/${body.id}/deprecate`);
    expect((await call('POST', '/v1/instances', base)).body.error.message).toBe('image: "linux" is deprecated.');
    const strict = cloudRig({ imagePolicy: 'registered' });
    expect((await strict.call('POST', '/v1/instances', base)).body.error.message).toBe(
      'image: "linux" is not registered.',
    );
  });
});

describe('volumes', () => {
  test('volumes attach to one instance in their zone, and cannot be deleted while they are attached', async () => {
    const { call, clock, launch } = cloudRig({ latencies: { volumeMs: 1_000 } });
    const { id } = await launch({ zone: 'local-a' });
    const other = await launch({ zone: 'local-a' });
    const far = await launch({ zone: 'local-b' });
    const volume = (await call('POST', '/v1/volumes', { sizeGi: 5, zone: 'local-a' })).body;
    const path = `/v1/volumes/${volume.id}`;
    expect((await call('POST', `${path}/attach`, { instanceId: far.id })).body.error.code).toBe('InvalidParameter');
    expect((await call('POST', `${path}/attach`, { instanceId: id })).body.state).toBe('attaching');
    await clock.advance(1_000);
    expect((await call('POST', `${path}/attach`, { instanceId: id })).body.state).toBe('attached');
    expect((await call('POST', `${path}/attach`, { instanceId: other.id })).body.error.code).toBe('ResourceInUse');
    expect((await call('DELETE', path)).body.error.code).toBe('ResourceInUse');
    expect((await call('GET', `/v1/instances/${id}`)).body.volumes).toEqual([volume.id]);
    expect((await call('POST', `${path}/detach`)).body.state).toBe('detaching');
    await clock.advance(1_000);
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await call('GET', path)).status).toBe(404);
  });

  test('volumes are deleted with the instance that they were created with, and are kept otherwise', async () => {
    const { call, clock, launch } = cloudRig();
    const { id, volumes } = await launch({ volumes: [{ sizeGi: 10 }], zone: 'local-a' });
    const kept = (await call('POST', '/v1/volumes', { sizeGi: 5, zone: 'local-a' })).body;
    await call('POST', `/v1/volumes/${kept.id}/attach`, { instanceId: id });
    await clock.advance(1);
    expect((await call('GET', `/v1/volumes?instanceId=${id}`)).body.items).toHaveLength(2);
    expect(volumes).toHaveLength(1);
    await call('DELETE', `/v1/instances/${id}`);
    await clock.advance(1);
    const { items } = (await call('GET', '/v1/volumes')).body;
    expect(items).toEqual([{ ...kept, state: 'available' }]);
  });
});
