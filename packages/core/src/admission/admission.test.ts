import { readFileSync } from 'node:fs';
import { Annotations, crds, type MachineDeployment, machineDeployments } from '@mcm/api';
import { badManifests, crdsWithoutRules, deploymentManifest, goodManifests, type Manifest } from '@mcm/api/testing';
import { startControlPlane } from '@mcm/control-plane';
import { type AdmissionRequest, answerReview, createClient, VirtualClock } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { admitDefaults, admitValid } from './handlers.ts';

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1';
const WEBHOOKS = new URL('../../../../deploy/kustomize/base/webhooks.yaml', import.meta.url);
const NAMESPACE = 'default';
const MERGE = 'application/merge-patch+json';

const configurations = () =>
  parseAllDocuments(readFileSync(WEBHOOKS, 'utf8')).flatMap((document) => {
    const { webhooks, ...rest } = document.toJS();
    if (webhooks === undefined) return [];
    const reached = webhooks.map((hook: { clientConfig: { service: { path: string } } }) => ({
      ...hook,
      clientConfig: { url: `https://manager${hook.clientConfig.service.path}` },
    }));
    return [{ ...rest, webhooks: reached }];
  });

interface Answer {
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly field: string }[] };
  readonly spec?: MachineDeployment['spec'];
}

const WITH_HINT = ['RollingUpdate without its block'];

async function start({ bare = false } = {}) {
  const clock = new VirtualClock();
  const manager = { up: true };
  const plane = await startControlPlane({
    clock,
    crds: bare ? crdsWithoutRules() : crds,
    controllers: false,
    webhookTransport: async ({ url, body }) => {
      if (!manager.up) throw new Error('connection refused');
      return answerReview(body, url.pathname === '/default' ? admitDefaults : admitValid(list));
    },
  });
  const client = createClient({
    transport: plane.transport,
    userAgent: 't',
    clock,
  });
  const list = async (namespace: string) => (await client.resource(machineDeployments, namespace).list()).items;
  const send = async (method: string, path: string, body: object, type = 'application/json') => {
    const headers = { 'content-type': type };
    const request = new Request(`http://plane${path}`, { method, headers, body: JSON.stringify(body) });
    const response = await plane.fetch(request);
    return {
      status: response.status,
      warning: response.headers.get('warning'),
      body: (await response.json()) as Answer,
    };
  };
  for (const configuration of configurations()) {
    const answer = await send('POST', `${CONFIGURATIONS}/${configuration.kind.toLowerCase()}s`, configuration);
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  }
  const at = (kind: string) =>
    `/apis/machine.sapcloud.io/v1alpha1/namespaces/${NAMESPACE}/${{ MachineClass: 'machineclasse' }[kind] ?? kind.toLowerCase()}s`;
  const create = async (manifest: Manifest, query = '') => {
    const metadata = { ...(manifest.metadata as object), namespace: NAMESPACE };
    const collection = at(String(manifest.kind));
    const answer = await send('POST', `${collection}${query}`, { ...manifest, metadata });
    return { ...answer, path: `${collection}/${(manifest.metadata as { readonly name?: string }).name}` };
  };
  const patch = (name: string, body: object) => send('PATCH', `${at('MachineDeployment')}/${name}`, body, MERGE);
  return { plane, manager, create, patch, send, client, [Symbol.asyncDispose]: () => plane.close() };
}

const pool = (name: string, labels: Record<string, string>, spec: object = {}): Manifest => ({
  ...deploymentManifest(),
  metadata: { name },
  spec: {
    replicas: 3,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
    ...spec,
  },
});

describe('webhooks over a server', () => {
  test('every invalid manifest is refused with the field and a hint, also without rules in the CRDs', async () => {
    await using world = await start({ bare: true });
    const wrong = badManifests.filter(({ title }) => !WITH_HINT.includes(title));
    expect(wrong).toHaveLength(badManifests.length - WITH_HINT.length);
    for (const { title, object, path } of wrong) {
      const { status, body } = await world.create(object);
      const fields = (body.details?.causes ?? []).map(({ field }) => field);
      expect({ title, status, named: fields.some((name) => name.startsWith(path)) }, JSON.stringify(body)).toEqual({
        title,
        status: 422,
        named: true,
      });
    }
  });

  test('every valid manifest is accepted', async () => {
    await using world = await start();
    for (const { title, object } of goodManifests) {
      const { status, body } = await world.create(object, '?dryRun=All');
      expect([title, status, body.message]).toEqual([title, 201, undefined]);
    }
  });

  test('defaults include the block that a strategy needs, which no CRD can add', async () => {
    await using world = await start();
    const { body } = await world.create(pool('a', { app: 'a' }, { strategy: { type: 'RollingUpdate' } }));
    expect(body.spec?.strategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
    });
  });

  test.each<[string, string, string, string]>([
    ['MachineDeployment', Annotations.RolloutWindows, '0 25 * * * UTC 3h', '0 2 * * * UTC 3h'],
    ['MachineDeployment', Annotations.RolloutFreezes, 'tomorrow', '2026-12-24T00:00:00Z/2027-01-02T00:00:00Z holidays'],
    ['MachineDeployment', Annotations.RolloutCanary, '0', '1'],
    ['MachineDeployment', Annotations.RolloutMinSurge, 'few', '10%'],
    ['MachineDeployment', Annotations.EffectiveCreationTimeout, '20', '20m'],
    ['MachineDeployment', Annotations.CapacityAlternatives, '{}', '[{"zone": "b"}]'],
    ['MachineClass', Annotations.CapacityAlternatives, '[{"market": "used"}]', '[{"market": "spot"}]'],
    ['MachineClass', Annotations.Hooks, 'before-drain x', 'before-drain x team 5m Block'],
    ['MachineClass', Annotations.RolloutWindows, 'night', '0 2 * * * UTC 3h'],
    ['MachineClass', Annotations.UndrainablePolicy, 'Wait', 'Hold'],
    ['Machine', Annotations.UndrainablePolicy, 'Wait', 'Hold'],
    ['MachineClass', Annotations.RepairDrainTimeout, '15', '15m'],
    ['Machine', Annotations.RepairDrainTimeout, 'soon', '15m'],
    ['Machine', Annotations.Priority, 'high', '1'],
    ['Machine', Annotations.Hooks, 'after-lunch x team 5m Block', 'after-ready x team 5m Block'],
  ])(
    'a %s with an invalid annotation %s: one warning with the annotation, at the write that adds it',
    async (kind, key, wrong, right) => {
      await using world = await start();
      const good = goodManifests.find(({ object }) => object.kind === kind)?.object;
      const metadata = { ...(good?.metadata as { name: string }), name: 'noted' };
      const path = (await world.create({ ...good, kind, metadata })).path;
      const write = (annotations: Record<string, string>) =>
        world.send('PATCH', path, { metadata: { annotations } }, MERGE);
      expect(await write({ [key]: wrong })).toMatchObject({ status: 200, warning: expect.stringContaining(key) });
      expect(await write({ other: 'one' })).toMatchObject({ status: 200, warning: null });
      expect(await write({ [key]: right })).toMatchObject({ status: 200, warning: null });
    },
  );

  test('two deployments with overlapping selectors: a warning that names both', async () => {
    await using world = await start();
    await world.create(pool('a', { app: 'a' }));
    const { status, warning } = await world.create(pool('b', { app: 'a', zone: 'z' }));
    expect([status, warning]).toEqual([201, expect.stringContaining('overlaps with MachineDeployment a')]);
    expect((await world.create(pool('c', { app: 'c' }))).warning).toBeNull();
  });

  test('without the manager objects are accepted, and the CRDs still refuse invalid ones', async () => {
    await using world = await start();
    world.manager.up = false;
    expect((await world.create(pool('a', { app: 'a' }))).status).toBe(201);
    const bad = await world.create(pool('b', { app: 'b' }, { replicas: -1 }));
    expect([bad.status, bad.body.message]).toEqual([422, expect.stringContaining('spec.replicas')]);
  });

  test('a stored invalid object can lose its finalizers and be deleted', async () => {
    await using world = await start({ bare: true });
    world.manager.up = false;
    const bad = pool('a', { app: 'a' }, { replicas: -1 });
    await world.create({ ...bad, metadata: { name: 'a', finalizers: ['x.example/y'] } });
    world.manager.up = true;
    expect((await world.patch('a', { metadata: { labels: { seen: 'true' } } })).status).toBe(200);
    expect((await world.patch('a', { spec: { paused: true } })).status).toBe(422);
    await world.client.resource(machineDeployments, NAMESPACE).delete('a');
    expect((await world.patch('a', { metadata: { finalizers: null } })).status).toBe(200);
  });
});

describe('a percentage over 100 that was stored before the rule existed', () => {
  const CRDS_PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const surge = (maxSurge: string, more: object = {}) => ({
    spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable: 0 } }, ...more },
  });

  test.each([
    ['webhook', true],
    ['CRD', false],
  ] as const)('the %s accepts the stored one, and refuses a new one', async (_who, webhook) => {
    await using world = await start({ bare: true });
    world.manager.up = false;
    expect((await world.create(pool('a', { app: 'a' }, surge('150%').spec))).status).toBe(201);
    world.manager.up = webhook;
    const strict = crds.find(({ spec }) => spec.names.kind === 'MachineDeployment');
    if (!webhook) {
      const body = { spec: { versions: strict?.spec.versions } };
      const changed = await world.send('PATCH', `${CRDS_PATH}/${strict?.metadata.name}`, body, MERGE);
      expect(changed.status, JSON.stringify(changed.body)).toBe(200);
    }
    const statuses: number[] = [];
    for (const body of [
      { metadata: { labels: { seen: 'true' } } },
      { spec: { replicas: 5 } },
      surge('150%', { paused: true }),
      surge('151%'),
      { spec: { strategy: { rollingUpdate: { maxUnavailable: 1 } } } },
      surge('100%'),
      surge('150%'),
    ]) {
      statuses.push((await world.patch('a', body)).status);
    }
    expect(statuses).toEqual([200, 200, 200, 422, 422, 200, 422]);
  });
});

describe('an invalid scale-in is refused when it is written', () => {
  const write = (requestID: string, from: number, to: number, replicas = to) => ({
    metadata: { annotations: { [Annotations.ScaleIn]: JSON.stringify({ requestID, machines: ['m'], from, to }) } },
    spec: { replicas },
  });

  test.each<[title: string, body: object, why: string]>([
    ['a count that differs from the stored one', write('r', 5, 4), 'spec.replicas was 3'],
    [
      'a count that the write does not contain',
      write('r', 3, 2, 3),
      'set the annotation and spec.replicas in one write',
    ],
    ['counts that do not add up', write('r', 3, 1), 'must be "from" minus'],
  ])('%s', async (_title, body, why) => {
    await using world = await start();
    await world.create(pool('a', { app: 'a' }));
    const answer = await world.patch('a', body);
    expect([answer.status, answer.body.message]).toEqual([422, expect.stringContaining(why)]);
    const stored: MachineDeployment = await world.client.resource(machineDeployments, NAMESPACE).get('a');
    expect([stored.spec.replicas, stored.metadata.annotations]).toEqual([3, undefined]);
  });

  test('a scale-in is accepted once; a second one waits for the first', async () => {
    await using world = await start();
    await world.create(pool('a', { app: 'a' }));
    expect((await world.patch('a', write('r', 3, 2))).status).toBe(200);
    expect((await world.patch('a', write('r', 3, 2))).status).toBe(200);
    expect((await world.patch('a', write('s', 2, 1))).body.message).toContain('another scale-in is in progress');
  });
});

const KIND = { group: 'machine.sapcloud.io', version: 'v1alpha1', kind: 'MachineDeployment' };
test.each([null, 7, [], {}, { spec: 7 }, { spec: { strategy: 7 } }, { spec: { strategy: { rollingUpdate: [] } } }])(
  'an object %j gets an answer',
  async (object) => {
    const request: AdmissionRequest = { uid: 'u', kind: KIND, operation: 'CREATE', object, oldObject: null };
    const answers = await Promise.all(
      [admitDefaults, admitValid()].map((handler) => answerReview(JSON.stringify({ request }), handler)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(JSON.parse(answers[1]?.body ?? '').response.allowed).toBe(false);
  },
);

test.each(['', '{', '{"request":7}'])('a body %j is not a review, so the answer is 400', async (body) => {
  expect((await answerReview(body, admitDefaults)).status).toBe(400);
});
