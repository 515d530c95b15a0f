import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Clock, realClock } from '../../apimachinery/objects/clock.ts';
import { caller } from '../../auth/testing.ts';
import { type ControlPlane, startControlPlane } from '../../plane.ts';
import type { WebhookCall, WebhookReply } from './transport.ts';

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1';
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

interface Review {
  readonly uid: string;
  readonly operation: string;
  readonly object: { readonly data: Readonly<Record<string, string>>; readonly metadata: object } | null;
}
type Responder = (review: Review, call: WebhookCall) => object | Promise<WebhookReply>;

let plane: ControlPlane;
let call: ReturnType<typeof caller>;
let asked: { name: string; review: Review }[] = [];
let responders: Record<string, Responder> = {};
let timers: { fn: () => void; ms: number }[] = [];
const clock: Clock = {
  now: realClock.now,
  setTimeout(fn, ms) {
    const timer = { fn, ms };
    timers.push(timer);
    return { cancel: () => (timers = timers.filter((other) => other !== timer)) };
  },
};

/** Replaces the webhook at `https://NAME/`. */
const transport = async (outgoing: WebhookCall): Promise<WebhookReply> => {
  const name = outgoing.url.hostname;
  const review: { request: Review } = JSON.parse(outgoing.body);
  asked.push({ name, review: review.request });
  const response = await (responders[name]?.(review.request, outgoing) ?? {});
  if ('status' in response && 'body' in response) return response as WebhookReply;
  const body = {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid: review.request.uid, allowed: true, ...response },
  };
  return { status: 200, body: JSON.stringify(body) };
};

beforeEach(async () => {
  asked = [];
  responders = {};
  timers = [];
  plane = await startControlPlane({ controllers: false, clock, webhookTransport: transport });
  call = caller(plane);
});
afterEach(() => plane.close());

const hook = (name: string, more: object = {}) => ({
  name: `${name}.example.dev`,
  clientConfig: { url: `https://${name}/` },
  rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  ...more,
});

async function configure(kind: 'Mutating' | 'Validating', ...webhooks: object[]): Promise<void> {
  const path = `${CONFIGURATIONS}/${kind.toLowerCase()}webhookconfigurations`;
  const answer = await call('POST', path, { body: { metadata: { name: 'h' }, webhooks } });
  expect([answer.status, answer.body.message]).toEqual([201, undefined]);
}

const create = (name: string, more: object = {}, query = '') =>
  call('POST', `${CONFIG_MAPS}${query}`, { body: { metadata: { name }, data: { a: '1' }, ...more } });

const patchOf = (...operations: object[]): object => ({
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});
const addData = (key: string, value: string) => ({ op: 'add', path: `/data/${key}`, value });

describe('the called webhooks', () => {
  test('no webhook is called for webhook configurations', async () => {
    responders = { a: () => ({ allowed: false }) };
    await configure(
      'Validating',
      hook('a', { rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }] }),
    );
    expect((await call('DELETE', `${CONFIGURATIONS}/validatingwebhookconfigurations/h`)).status).toBe(200);
    expect((await create('x')).status).toBe(201);
    expect(asked).toEqual([]);
  });

  test.each([
    [
      'another operation',
      { rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['configmaps'] }] },
    ],
    ['another group', { rules: [{ apiGroups: ['apps'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }] }],
    [
      'a subresource',
      { rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps/status'] }] },
    ],
    [
      'cluster-scoped kinds',
      { rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['*'], scope: 'Cluster' }] },
    ],
    ['another namespace', { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'other' } } }],
    ['other objects', { objectSelector: { matchLabels: { x: 'y' } } }],
    ['other data', { matchConditions: [{ name: 'c', expression: "object.data.a == '2'" }] }],
    ['other users', { matchConditions: [{ name: 'c', expression: "request.userInfo.username == 'bob'" }] }],
  ])('a webhook for %s is not called', async (_what, more) => {
    await configure('Validating', hook('a', more));
    expect((await create('x')).status).toBe(201);
    expect(asked).toEqual([]);
  });

  test('an object that loses its label still matches the selector', async () => {
    await create('x', { metadata: { name: 'x', labels: { x: 'y' } } });
    await configure('Validating', hook('a', { objectSelector: { matchLabels: { x: 'y' } } }));
    await call('PATCH', `${CONFIG_MAPS}/x`, { body: { metadata: { labels: { x: null } } } });
    expect(asked.map(({ review }) => review.operation)).toEqual(['UPDATE']);
  });

  test('a failed condition refuses the request, or skips the webhook under Ignore', async () => {
    const matchConditions = [{ name: 'c', expression: "object.data.missing == '2'" }];
    await configure('Validating', hook('a', { matchConditions }));
    const refused = await create('x');
    expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining('no such key: missing')]);
    await call('DELETE', `${CONFIGURATIONS}/validatingwebhookconfigurations/h`);
    await configure('Validating', hook('a', { matchConditions, failurePolicy: 'Ignore' }));
    expect((await create('x')).status).toBe(201);
    expect(asked).toEqual([]);
  });

  test('a condition may use the namespace, which is empty', async () => {
    const expression = "namespaceObject.metadata.name == 'default'";
    await configure('Validating', hook('a', { matchConditions: [{ name: 'c', expression }] }));
    expect((await create('x')).body.message).toContain('resulted in error: no such key: metadata');
  });

  test('a webhook with rules for another version gets the review in that version', async () => {
    const names = { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' };
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const version = (name: string, storage: boolean) => ({ name, served: true, storage, schema });
    const crd = await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      body: {
        metadata: { name: 'things.example.dev' },
        spec: {
          group: 'example.dev',
          scope: 'Namespaced',
          names,
          versions: [version('v1', true), version('v2', false)],
        },
      },
    });
    expect(crd.status).toBe(201);
    const rules = [{ apiGroups: ['example.dev'], apiVersions: ['v1'], operations: ['*'], resources: ['things'] }];
    await configure('Validating', hook('a', { rules }), hook('b', { rules, matchPolicy: 'Exact' }));
    const body = { apiVersion: 'example.dev/v2', kind: 'Thing', metadata: { name: 'x' } };
    expect((await call('POST', '/apis/example.dev/v2/namespaces/default/things', { body })).status).toBe(201);
    expect(asked.map(({ name }) => name)).toEqual(['a']);
    expect(asked[0]?.review).toMatchObject({
      kind: { version: 'v1' },
      requestKind: { version: 'v2' },
      object: { apiVersion: 'example.dev/v1' },
    });
  });
});

describe('a mutating webhook', () => {
  test('a mutating webhook is called again when it allows reinvocation and a later one changed the object', async () => {
    responders = {
      a: ({ object }) => (object?.data.b === undefined ? {} : patchOf(addData('seen', object.data.b))),
      b: () => patchOf(addData('b', '1')),
    };
    await configure(
      'Mutating',
      hook('a', { reinvocationPolicy: 'IfNeeded' }),
      hook('b', { reinvocationPolicy: 'IfNeeded' }),
    );
    expect((await create('x')).body.data).toEqual({ a: '1', b: '1', seen: '1' });
    expect(asked.map(({ name }) => name)).toEqual(['a', 'b', 'a', 'b']);
  });

  test('a mutating webhook gets an object without the fields that the server sets later', async () => {
    await configure('Mutating', hook('a'));
    await configure('Validating', hook('v'));
    await create('x');
    const [mutating, validating] = asked.map(({ review }) => review.object?.metadata);
    expect(mutating).not.toHaveProperty('uid');
    expect(mutating).not.toHaveProperty('creationTimestamp');
    expect(validating).toHaveProperty('uid');
  });

  test('a selector matches the object after the patches of earlier webhooks', async () => {
    const labelled = { objectSelector: { matchLabels: { k: 'v' } } };
    const condition = { matchConditions: [{ name: 'c', expression: '!has(object.metadata.labels)' }] };
    responders = { a: () => patchOf({ op: 'add', path: '/metadata/labels', value: { k: 'v' } }) };
    await configure('Mutating', hook('a'), hook('b', labelled), hook('c', condition));
    await create('x');
    expect(asked.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test('a mutating webhook is called before the check of the version, and cannot patch a delete', async () => {
    await create('x');
    responders = { a: ({ object }) => (object === null ? patchOf(addData('z', '1')) : {}) };
    await configure('Mutating', hook('a'));
    const stale = { body: { metadata: { name: 'x', resourceVersion: '1' } } };
    expect((await call('PUT', `${CONFIG_MAPS}/x`, stale)).status).toBe(409);
    expect(asked.map(({ name }) => name)).toEqual(['a']);
    expect((await call('DELETE', `${CONFIG_MAPS}/x`)).status).toBe(500);
  });

  test('a mutating webhook is not called again without reinvocation', async () => {
    responders = { b: () => patchOf(addData('b', '1')) };
    await configure('Mutating', hook('a'), hook('b'));
    await create('x');
    expect(asked.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test('a mutating webhook that makes the object invalid causes the error of an invalid request', async () => {
    responders = { a: () => patchOf({ op: 'add', path: '/metadata/labels', value: { 'no good': 'x' } }) };
    await configure('Mutating', hook('a'));
    expect((await create('x')).status).toBe(422);
  });

  test.each([
    [
      'a patch of another type',
      { ...patchOf(addData('b', '1')), patchType: 'MergePatch' },
      'unsupported patch type "MergePatch"',
    ],
    ['a patch without a type', { patch: 'W10=' }, 'webhook returned response.patch but not response.patchType'],
    [
      'a patch that is none',
      { patchType: 'JSONPatch', patch: 'e30=' },
      'received undecodable patch in webhook response',
    ],
    [
      'a patch that cannot be done',
      patchOf({ op: 'remove', path: '/data/zzz' }),
      "error in remove for path: '/data/zzz': Unable to remove nonexistent key: zzz: missing value",
    ],
    [
      'a patch of the version of what is created',
      patchOf({ op: 'add', path: '/metadata/resourceVersion', value: '5' }),
      'resourceVersion should not be set on objects to be created',
    ],
    [
      'a patch that makes another kind of it',
      patchOf({ op: 'replace', path: '/apiVersion', value: 'v2' }),
      'no kind "ConfigMap" is registered for version "v2"',
    ],
    ['another review’s answer', { uid: 'x' }, 'expected response.uid='],
  ])('an answer with %s fails the request', async (_what, response, message) => {
    responders = { a: () => response };
    await configure('Mutating', hook('a'));
    const answer = await create('x');
    expect([answer.status, answer.body.message]).toEqual([500, expect.stringContaining(message)]);
  });

  test('a mutating webhook can change a scale', async () => {
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const spec = { replicas: 1, selector: { matchLabels: { a: 'b' } }, template };
    const deployments = '/apis/apps/v1/namespaces/default/deployments';
    expect((await call('POST', deployments, { body: { metadata: { name: 'd' }, spec } })).status).toBe(201);
    responders = { a: () => patchOf({ op: 'replace', path: '/spec/replicas', value: 2 }) };
    const rules = [
      { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['deployments/scale'] },
    ];
    await configure('Mutating', hook('a', { rules }));
    const scaled = await call('PATCH', `${deployments}/d/scale`, { body: { spec: { replicas: 7 } } });
    expect(scaled.body.spec?.replicas).toBe(2);
    expect(asked[0]?.review).toMatchObject({
      subResource: 'scale',
      kind: { kind: 'Scale' },
      object: { spec: { replicas: 7 } },
    });
  });
});

describe('failure', () => {
  test.each([
    [
      'an error of the server',
      () => Promise.resolve({ status: 500, body: 'oops', contentType: 'text/plain' }),
      'an error on the server ("oops") has prevented the request from succeeding',
    ],
    [
      'an error that is no text',
      () => Promise.resolve({ status: 500, body: 'oops' }),
      'an error on the server ("unknown") has prevented the request from succeeding',
    ],
    [
      'an answer that is no JSON',
      () => Promise.resolve({ status: 200, body: 'oops' }),
      "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct",
    ],
    [
      'an answer that is null',
      () => Promise.resolve({ status: 200, body: 'null' }),
      'received invalid webhook response: webhook response was absent',
    ],
    ['an empty answer', () => Promise.resolve({ status: 200, body: '' }), '0-length response with status code: 200'],
    [
      'an answer of another kind',
      () => Promise.resolve({ status: 200, body: '{"apiVersion":"admission.k8s.io/v1","kind":"Pod"}' }),
      'no kind "Pod" is registered for version "admission.k8s.io/v1"',
    ],
    [
      'an answer of another version',
      () =>
        Promise.resolve({ status: 200, body: '{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}' }),
      'converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion',
    ],
    ['a patch by one that validates', () => patchOf(), 'validating webhook may not return response.patch'],
    [
      'a field of another type',
      () => ({ allowed: 'yes' }),
      'cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool',
    ],
    [
      'no connection',
      () => Promise.reject(new Error('dial tcp 10.0.0.1:443: connect: connection refused')),
      'failed to call webhook: Post "https://a/?timeout=10s": dial tcp',
    ],
  ])('%s causes a server error, unless failures are ignored', async (_what, respond, message) => {
    responders = { a: respond as Responder };
    await configure('Validating', hook('a'));
    const answer = await create('x');
    expect([answer.status, answer.body.message]).toEqual([500, expect.stringContaining(message)]);
    await call('DELETE', `${CONFIGURATIONS}/validatingwebhookconfigurations/h`);
    await configure('Validating', hook('a', { failurePolicy: 'Ignore' }));
    expect((await create('x')).status).toBe(201);
  });

  test('a call without an answer ends at the timeout', async () => {
    responders = {
      a: (_review, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
          timers.find(({ ms }) => ms === 3000)?.fn();
        }),
    };
    await configure('Validating', hook('a', { timeoutSeconds: 3 }));
    expect((await create('x')).body.message).toContain('Post "https://a/?timeout=3s": context deadline exceeded');
  });

  test('the error for a missing service names the service', async () => {
    const service = { namespace: 'default', name: 's', path: '/hook' };
    await configure('Validating', hook('a', { clientConfig: { service } }));
    expect((await create('x')).body.message).toContain(
      'Post "https://s.default.svc:443/hook?timeout=10s": service "s" not found',
    );
  });

  test.each([
    ['//b///c/', '/b/c'],
    ['/b%2Fc', '/b/c'],
    ['/%7Eb/./c%20d', '/~b/c%20d'],
    ['/%C3%A4;(x)', '/%C3%A4;%28x%29'],
  ])('the path %s is joined as by Go', async (given, expected) => {
    let path = '';
    responders = {
      a: (_review, { url }) => {
        path = url.pathname;
        return {};
      },
    };
    await configure('Validating', hook('a', { clientConfig: { url: `https://a${given}` } }));
    expect((await create('x')).status).toBe(201);
    expect(path).toBe(expected);
  });

  test('a service is called at its address, with its name', async () => {
    const ports = [{ port: 443 }];
    const service = await call('POST', '/api/v1/namespaces/default/services', {
      body: { metadata: { name: 's' }, spec: { ports, clusterIP: '10.96.0.77' } },
    });
    expect(service.status).toBe(201);
    let connectTo: unknown;
    responders = {
      's.default.svc': (_review, outgoing) => {
        connectTo = outgoing.connectTo;
        return {};
      },
    };
    await configure(
      'Validating',
      hook('a', { clientConfig: { service: { namespace: 'default', name: 's', port: 443 } } }),
    );
    expect((await create('x')).status).toBe(201);
    expect(connectTo).toEqual({ host: '10.96.0.77', port: 443 });
  });
});

test('a dry run calls only webhooks without side effects', async () => {
  const path = `${CONFIGURATIONS}/validatingwebhookconfigurations`;
  const webhooks = [hook('a', { sideEffects: 'NoneOnDryRun' })];
  await call('POST', path, { body: { metadata: { name: 'h' }, webhooks } });
  expect((await create('x', {}, '?dryRun=All')).status).toBe(201);
  expect(asked[0]?.review).toMatchObject({ dryRun: true, options: { dryRun: ['All'] } });
});

test('all validating webhooks are called, and the first refusal is returned', async () => {
  responders = {
    a: () => ({}),
    b: () => ({
      allowed: false,
      status: { message: 'b says no', code: 409, reason: 'Conflict' },
      warnings: ['careful'],
    }),
    c: () => ({ allowed: false, status: { message: 'c says no' } }),
  };
  await configure('Validating', hook('a'), hook('b'), hook('c'));
  const answer = await create('x');
  expect(answer).toMatchObject({
    status: 409,
    body: { reason: 'Conflict', message: 'admission webhook "b.example.dev" denied the request: b says no' },
    warnings: ['299 - "careful"'],
  });
  expect(asked).toHaveLength(3);
});

test('the review of a delete has only the old object', async () => {
  await create('x');
  await configure('Validating', hook('a'));
  await call('DELETE', `${CONFIG_MAPS}/x`, { body: { gracePeriodSeconds: 0 } });
  expect(asked[0]?.review).toMatchObject({
    operation: 'DELETE',
    object: null,
    oldObject: { data: { a: '1' } },
    options: { kind: 'DeleteOptions', gracePeriodSeconds: 0 },
  });
});

test('an eviction is reviewed as an Eviction, not as a delete', async () => {
  const pods = '/api/v1/namespaces/default/pods';
  const spec = { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] };
  await call('POST', '/api/v1/namespaces/default/serviceaccounts', { body: { metadata: { name: 'default' } } });
  expect((await call('POST', pods, { body: { metadata: { name: 'p' }, spec } })).status).toBe(201);
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['pods', 'pods/eviction'] }];
  await configure('Validating', hook('a', { rules }));
  responders = { a: () => ({ allowed: false, status: { message: 'stay' } }) };
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } };
  expect((await call('POST', `${pods}/p/eviction`, { body })).body.message).toContain('denied the request: stay');
  responders = {};
  expect((await call('POST', `${pods}/p/eviction`, { body })).status).toBe(201);
  expect(asked.map(({ review }) => review)).toMatchObject([
    { operation: 'CREATE', subResource: 'eviction', kind: { group: 'policy', kind: 'Eviction' }, object: body },
    { operation: 'CREATE', subResource: 'eviction' },
  ]);
});

test('a binding is reviewed as the creation of a Binding', async () => {
  const pods = '/api/v1/namespaces/default/pods';
  const spec = { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] };
  await call('POST', '/api/v1/namespaces/default/serviceaccounts', { body: { metadata: { name: 'default' } } });
  expect((await call('POST', pods, { body: { metadata: { name: 'p' }, spec } })).status).toBe(201);
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['pods', 'pods/binding'] }];
  await configure('Validating', hook('a', { rules }));
  responders = { a: () => ({ allowed: false, status: { message: 'not there' } }) };
  const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } };
  expect((await call('POST', `${pods}/p/binding`, { body })).body.message).toContain('denied the request: not there');
  responders = {};
  expect((await call('POST', `${pods}/p/binding`, { body })).status).toBe(201);
  expect(asked.map(({ review }) => review)).toMatchObject([
    { operation: 'CREATE', subResource: 'binding', kind: { group: '', kind: 'Binding' }, object: body },
    { operation: 'CREATE', subResource: 'binding' },
  ]);
});
