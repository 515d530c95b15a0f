import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { caller } from '../../auth/testing.ts';
import { type ControlPlane, startControlPlane } from '../../plane.ts';

interface Owner {
  readonly manager: string;
  readonly fieldsV1: { readonly 'f:status'?: { readonly 'f:used'?: object } };
}

const CORE = '/api/v1/namespaces/default';
const QUOTA = `${CORE}/resourcequotas/q`;

let plane: ControlPlane;
let call: ReturnType<typeof caller>;

beforeEach(async () => {
  plane = await startControlPlane({ controllers: ['resourcequota', 'serviceaccount'] });
  call = caller(plane);
});
afterEach(() => plane.close());

async function until(done: (status: { hard?: object; used?: Record<string, string> }) => boolean): Promise<void> {
  const path = `http://plane${CORE}/resourcequotas?watch=true&fieldSelector=metadata.name%3Dq`;
  const response = await plane.fetch(new Request(path));
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    if (lines.some((line) => done(JSON.parse(line).object.status ?? {}))) return;
  }
}

async function limit(hard: Record<string, string>, more: object = {}): Promise<void> {
  const body = { metadata: { name: 'q' }, spec: { hard, ...more } };
  expect((await call('POST', `${CORE}/resourcequotas`, { body })).status).toBe(201);
  await until(({ used }) => used !== undefined);
}

const used = async (): Promise<unknown> => (await call('GET', QUOTA)).body.status?.used;
const create = (plural: string, body: object, query = '') => call('POST', `${CORE}/${plural}${query}`, { body });
const pod = (name: string, resources: object = {}, more: object = {}) => ({
  metadata: { name },
  spec: {
    automountServiceAccountToken: false,
    containers: [
      { name: 'c', image: 'i', resources },
      { name: 'd', image: 'i', resources },
    ],
    ...more,
  },
});

describe('counting', () => {
  test('objects, also those that exist already', async () => {
    await create('secrets', { metadata: { name: 'a' } });
    await limit({ 'count/secrets': '2', secrets: '5' });
    expect(await used()).toEqual({ 'count/secrets': '1', secrets: '1' });
    expect((await create('secrets', { metadata: { name: 'b' } })).status).toBe(201);
    const refused = await create('secrets', { metadata: { name: 'c' } });
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'secrets "c" is forbidden: exceeded quota: q, requested: count/secrets=1, used: count/secrets=2, limited: count/secrets=2',
    ]);
  });

  test('a delete frees quota', async () => {
    await limit({ secrets: '1' });
    await create('secrets', { metadata: { name: 'a' } });
    await call('DELETE', `${CORE}/secrets/a`);
    await until((status) => status.used?.secrets === '0');
    expect((await create('secrets', { metadata: { name: 'b' } })).status).toBe(201);
  });

  test('requests and limits of pods', async () => {
    await limit({ cpu: '1', 'requests.cpu': '1', 'limits.memory': '1Gi', pods: '5' });
    expect((await create('pods', pod('p'))).body.message).toBe(
      'pods "p" is forbidden: failed quota: q: must specify cpu for: c,d; limits.memory for: c,d; requests.cpu for: c,d',
    );
    const small = { requests: { cpu: '250m' }, limits: { memory: '1Mi' } };
    expect((await create('pods', pod('p', small))).status).toBe(201);
    expect(await used()).toEqual({ cpu: '500m', 'limits.memory': '2Mi', pods: '1', 'requests.cpu': '500m' });
    const big = { requests: { cpu: '300m' }, limits: { memory: '1Gi' } };
    expect((await create('pods', pod('p2', big))).body.message).toBe(
      'pods "p2" is forbidden: exceeded quota: q, requested: cpu=600m,limits.memory=2Gi,requests.cpu=600m, used: cpu=500m,limits.memory=2Mi,requests.cpu=500m, limited: cpu=1,limits.memory=1Gi,requests.cpu=1',
    );
  });

  test('ports of services and the storage of claims', async () => {
    await limit({ 'services.nodeports': '0', 'requests.storage': '1Gi' });
    const service = { metadata: { name: 's' }, spec: { type: 'NodePort', ports: [{ port: 1 }] } };
    expect((await create('services', service)).body.message).toContain('requested: services.nodeports=1');
    const requests = { storage: '2Gi' };
    const claim = { metadata: { name: 'c' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests } } };
    expect((await create('persistentvolumeclaims', claim)).body.message).toContain('requested: requests.storage=2Gi');
  });

  test('a quota counts only pods in its scope', async () => {
    await limit({ pods: '0' }, { scopes: ['BestEffort'] });
    const small = { requests: { cpu: '1m' } };
    expect((await create('pods', pod('p', small))).status).toBe(201);
    expect((await create('pods', pod('q'))).status).toBe(403);
  });
});

test('objects that are created before a new quota has a status are counted too', async () => {
  const quota = create('resourcequotas', { metadata: { name: 'q' }, spec: { hard: { 'count/secrets': '3' } } });
  await Promise.all([quota, ...['a', 'b', 'c'].map((name) => create('secrets', { metadata: { name } }))]);
  await until(({ used: now }) => now?.['count/secrets'] === '3');
  expect((await create('secrets', { metadata: { name: 'd' } })).status).toBe(403);
});

test('the server manages charged usage, and the controller counted usage', async () => {
  await limit({ 'count/secrets': '3', 'count/configmaps': '3' });
  await create('secrets', { metadata: { name: 'a' } });
  const { managedFields } = (await call('GET', QUOTA)).body.metadata as { managedFields?: Owner[] };
  const owners = (managedFields ?? []).map(({ manager, fieldsV1 }) => [
    manager,
    Object.keys(fieldsV1['f:status']?.['f:used'] ?? {}),
  ]);
  expect(Object.fromEntries(owners)).toMatchObject({
    'kube-apiserver': ['f:count/secrets'],
    'kube-controller-manager': expect.arrayContaining(['f:count/configmaps']),
  });
});

test('a dry run is checked and not charged', async () => {
  await limit({ secrets: '1' });
  expect((await create('secrets', { metadata: { name: 'a' } }, '?dryRun=All')).status).toBe(201);
  expect(await used()).toEqual({ secrets: '0' });
});

test('concurrent creates cannot exceed the quota', async () => {
  await limit({ configmaps: '3' });
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => create('configmaps', { metadata: { name: `c-${index}` } })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
});
