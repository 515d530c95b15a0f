import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startTestPlane } from '../../testing.ts';

interface Manager {
  readonly manager: string;
  readonly subresource?: string;
}

const NS = '/api/v1/namespaces/default';
const PODS = `${NS}/pods`;
const JOBS = '/apis/batch/v1/namespaces/default/jobs';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const STRATEGIC = { 'content-type': 'application/strategic-merge-patch+json' };

let setup: Awaited<ReturnType<typeof startTestPlane>>;
const send = (method: string, path: string, body?: unknown) =>
  setup.client.send(method, path, body, method === 'PATCH' ? STRATEGIC : {});
const container = (resources: object, more: object = {}) => ({
  spec: { containers: [{ name: 'c', resources, ...more }] },
});

beforeEach(async () => {
  setup = await startTestPlane();
  const pods: readonly [name: string, resources: object][] = [
    ['none', {}],
    ['some', { requests: { cpu: '1' } }],
    ['all', { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } }],
  ];
  for (const [name, resources] of pods) {
    await send('POST', PODS, { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i', resources }] } });
  }
});
afterEach(() => setup.plane.close());

describe('a resize', () => {
  const QOS = 'Pod QOS Class may not change as a result of resizing';

  test.each<[pod: string, resources: object, why: string]>([
    ['none', { requests: { cpu: '1' } }, `spec: Invalid value: "BestEffort": ${QOS}`],
    ['all', { requests: { cpu: '500m' } }, `spec: Invalid value: "Guaranteed": ${QOS}`],
    [
      'some',
      { requests: { 'ephemeral-storage': '1Gi' } },
      'spec: Forbidden: only cpu and memory resources are mutable',
    ],
    [
      'all',
      { limits: { cpu: null } },
      `[spec: Invalid value: "Guaranteed": ${QOS}, spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed]`,
    ],
    [
      'all',
      { requests: { cpu: '3' } },
      `[spec.containers[0].resources.requests: Invalid value: "3": must be less than or equal to cpu limit of 1, spec: Invalid value: "Guaranteed": ${QOS}]`,
    ],
  ])('a resize of %s to %j is refused', async (pod, resources, why) => {
    const { status, body } = await send('PATCH', `${PODS}/${pod}/resize`, container(resources));
    expect([status, body.message]).toEqual([422, `Pod "${pod}" is invalid: ${why}`]);
  });

  test('a resize keeps containers in their order, and compares the claims of the old ones only', async () => {
    const of = (name: string, resources: object) => ({ name, image: 'i', resources });
    const pair = [of('c', { requests: { cpu: '1' } }), of('d', {})];
    await send('POST', PODS, { metadata: { name: 'pair' }, spec: { containers: pair } });
    const put = async (containers: readonly object[], more: object = {}) => {
      const { body } = await send('PUT', `${PODS}/pair/resize`, {
        metadata: { name: 'pair' },
        spec: { containers, ...more },
      });
      return body.message;
    };
    const rename = (index: number) =>
      `spec.containers[${index}].name: Forbidden: containers may not be renamed or reordered on resize`;
    expect(await put([...pair].reverse())).toContain(`${rename(0)}, ${rename(1)}`);
    expect(await put([of('c', { requests: { cpu: '1' }, claims: [{ name: 'x' }] }), of('d', {})])).toBe(
      'Pod "pair" is invalid: spec.containers[0].resources.claims[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims which is empty',
    );
    expect(await put(pair, { resources: { requests: { cpu: '2' } } })).toBeUndefined();
    expect(await put(pair)).toBe(
      'Pod "pair" is invalid: spec.resources: Forbidden: pod-level resources cannot be removed',
    );
  });

  test('a resize changes only amounts', async () => {
    const resources = { requests: { cpu: '2', memory: '1Gi' }, limits: { cpu: '2', memory: '1Gi' } };
    const wanted = { metadata: { labels: { a: 'b' } }, ...container(resources, { image: 'other' }) };
    const { status, body } = await send('PATCH', `${PODS}/all/resize`, wanted);
    expect(status).toBe(200);
    expect(body).toMatchObject({ metadata: { generation: 2 }, spec: { containers: [{ image: 'i', resources }] } });
    expect(body).not.toHaveProperty('metadata.labels');
  });
});

test('ephemeral containers can be added, are validated, and are immutable', async () => {
  const add = (fields: object) =>
    send('PATCH', `${PODS}/none/ephemeralcontainers`, {
      metadata: { labels: { a: 'b' } },
      spec: { ephemeralContainers: [{ name: 'e', image: 'i', ...fields }] },
    });
  const wrong = await add({ securityContext: { runAsUser: -1 } });
  expect([wrong.status, wrong.body.message]).toEqual([
    422,
    'Pod "none" is invalid: spec.ephemeralContainers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive',
  ]);
  const added = await add({});
  expect([added.status, added.body.metadata?.labels]).toEqual([200, undefined]);
  const changed = await add({ image: 'other' });
  expect(changed.status).toBe(422);
  expect(changed.body.message).toMatch(/existing ephemeral containers "e" may not be changed/);
});

describe('missing objects', () => {
  test.each([
    [`${PODS}/gone/resize`, { kind: 'Pod', apiVersion: 'v1' }],
    [`${PODS}/gone/ephemeralcontainers`, { kind: 'Pod', apiVersion: 'v1' }],
    [`${NS}/replicationcontrollers/gone/scale`, { kind: 'Scale', apiVersion: 'autoscaling/v1' }],
    ['/api/v1/namespaces/gone/finalize', { kind: 'Namespace', apiVersion: 'v1' }],
  ])('PUT %s: the name in the body is validated before the object is not found', async (path, type) => {
    const put = async (metadata: object) => {
      const { status, body } = await send('PUT', path, { ...type, metadata });
      return [status, body.reason];
    };
    expect(await put({ name: 'other' })).toEqual([400, 'BadRequest']);
    expect(await put({})).toEqual([400, 'BadRequest']);
    expect(await put({ name: 'gone' })).toEqual([404, 'NotFound']);
  });

  test('a lease is created by an update with any version, but not with a uid', async () => {
    const { status, body } = await send('PUT', `${LEASES}/l`, { metadata: { name: 'l', uid: 'x' } });
    expect([status, body.message]).toEqual([
      409,
      'Operation cannot be fulfilled on leases.coordination.k8s.io "l": StorageError: invalid object, Code: 4, Key: /registry/leases/default/l, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in object meta: ',
    ]);
    const made = await send('PUT', `${LEASES}/l`, { metadata: { name: 'l', resourceVersion: '5' } });
    expect(made.status).toBe(201);
  });
});

const managers = async (path: string): Promise<unknown> => {
  const { managedFields = [] } = (await send('GET', path)).body.metadata as { managedFields?: Manager[] };
  return managedFields.map(({ manager, subresource }) => [manager, subresource]);
};

test('the fields of a binding have no manager; an eviction writes the budget as the server', async () => {
  const before = await managers(`${PODS}/none`);
  const target = { apiVersion: 'v1', kind: 'Node', name: 'n' };
  const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'none' }, target };
  expect((await send('POST', `${PODS}/none/binding`, binding)).status).toBe(201);
  expect(await managers(`${PODS}/none`)).toEqual(before);

  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
  await send('POST', budgets, { metadata: { name: 'b' }, spec: { maxUnavailable: 1, selector: {} } });
  const status = {
    observedGeneration: 1,
    disruptionsAllowed: 2,
    currentHealthy: 3,
    desiredHealthy: 1,
    expectedPods: 3,
  };
  const ready = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
  await send('PATCH', `${budgets}/b/status`, { status });
  await send('PATCH', `${PODS}/none/status`, ready);
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'none' } };
  expect((await send('POST', `${PODS}/none/eviction`, eviction)).status).toBe(201);
  expect(await managers(`${budgets}/b`)).toContainEqual(['kube-apiserver', 'status']);
});

describe('options of an eviction', () => {
  const evict = async (deleteOptions: object, query = '') => {
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'none' }, deleteOptions };
    const { status, body } = await send('POST', `${PODS}/none/eviction${query}`, eviction);
    return [status, body.message];
  };
  const mark = async () =>
    ((await send('GET', `${PODS}/none`)).body.status as { conditions?: { type: string }[] }).conditions?.map(
      ({ type }) => type,
    );

  test('the options of an eviction that a delete refuses are refused after the write of the condition', async () => {
    expect(await evict({ propagationPolicy: 'Nope' })).toEqual([
      422,
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Nope": supported values: "Foreground", "Background", "Orphan", "nil"',
    ]);
    expect(await mark()).toEqual(['DisruptionTarget']);
  });

  test.each([
    [{ dryRun: ['x'] }, '', 422, 'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]'],
    [
      { gracePeriodSeconds: 'x' },
      '',
      400,
      'Eviction in version "v1" cannot be handled as a Eviction: json: cannot unmarshal string into Go struct field DeleteOptions.deleteOptions.gracePeriodSeconds of type int64',
    ],
    [
      { ignoreStoreReadErrorWithClusterBreakingPotential: true },
      '',
      422,
      'Eviction.policy "none" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: can not be set for pod eviction',
    ],
    [{ dryRun: ['x'] }, '?dryRun=All', 500, 'Non-matching dry-run options in request and content: [All] and [x]'],
  ])('%j%s do not change the pod', async (options, query, code, why) => {
    const [status, message] = await evict(options, query);
    expect(status).toBe(code);
    expect(message).toContain(why);
    expect(await mark()).toBeUndefined();
  });
});

test('leases accept finalizers without a domain, config maps do not', async () => {
  const metadata = { name: 'f', finalizers: ['plain'] };
  expect((await send('POST', LEASES, { metadata })).status).toBe(201);
  const { status, body } = await send('POST', `${NS}/configmaps`, { metadata });
  expect([status, body.message]).toEqual([
    422,
    'ConfigMap "f" is invalid: metadata.finalizers[0]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified',
  ]);
});

test('a limit range without a name gets a random one', async () => {
  const { status, body } = await send('POST', `${NS}/limitranges`, { metadata: {}, spec: { limits: [] } });
  expect(status).toBe(201);
  expect(String(body.metadata?.name)).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(body.metadata?.name).not.toBe(body.metadata?.uid);
});

describe('a job', () => {
  const spec = { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] };
  const make = (more: object) => send('POST', JOBS, { metadata: { name: 'j' }, spec: { ...more, template: { spec } } });
  const fields = (body: Awaited<ReturnType<typeof make>>['body']) => body.details?.causes?.map(({ field }) => field);

  test('a job is refused for a missing selector and missing labels', async () => {
    await make({});
    const { status, body } = await send('PUT', `${JOBS}/j`, { metadata: { name: 'j' }, spec: { template: { spec } } });
    expect(status).toBe(422);
    const selector = ['spec.selector', 'spec.template.metadata.labels'];
    expect(fields(body)).toEqual([...selector, ...selector, 'spec.selector', 'spec.template']);
  });

  test('selects its pods by its generated name', async () => {
    const { status, body } = await send('POST', JOBS, {
      metadata: { generateName: 'g-' },
      spec: { template: { spec } },
    });
    expect(status).toBe(201);
    expect(body.metadata?.labels).toMatchObject({ 'job-name': body.metadata?.name });
  });

  test('a job may change its placement until it starts', async () => {
    await make({ suspend: true });
    const place = (a: string) => send('PATCH', `${JOBS}/j`, { spec: { template: { spec: { nodeSelector: { a } } } } });
    expect((await place('1')).status).toBe(200);
    await send('PATCH', `${JOBS}/j`, { spec: { suspend: false } });
    const { status, body } = await place('2');
    expect([status, fields(body)]).toEqual([422, ['spec.template']]);
  });
});
