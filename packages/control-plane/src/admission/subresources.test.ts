import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { startTestPlane } from '../testing.ts';

const NS = '/api/v1/namespaces/default';
const GUARDS = '/apis/admissionregistration.k8s.io/v1';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface Review {
  readonly operation: string;
  readonly kind: { readonly kind: string };
  readonly subResource?: string;
  readonly object: ApiObject | null;
  readonly oldObject: ApiObject | null;
  readonly options: unknown;
}

let setup: Awaited<ReturnType<typeof startTestPlane>>;
let seen: Review[];
let patch: readonly object[];

beforeEach(async () => {
  seen = [];
  patch = [];
  setup = await startTestPlane({
    webhookTransport: async ({ url, body }) => {
      const { request } = JSON.parse(body) as { request: Review & { uid: string } };
      seen.push(request);
      const changes = url.hostname === 'mutating' && patch.length > 0;
      const said = { patch: Buffer.from(JSON.stringify(patch)).toString('base64'), patchType: 'JSONPatch' };
      const response = { uid: request.uid, allowed: true, ...(changes ? said : {}) };
      const answer = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response };
      return { status: 200, body: JSON.stringify(answer) };
    },
  });
  const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: '500m' } } }];
  await must('POST', `${NS}/serviceaccounts`, { metadata: { name: 'robot' } });
  await must('POST', `${NS}/pods`, { metadata: { name: 'p' }, spec: { containers } });
  await must('POST', `${NS}/pods`, { metadata: { name: 'runs' }, spec: { containers, nodeName: 'gone' } });
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers } };
  const spec = { replicas: 1, selector: { matchLabels: { a: 'b' } }, template };
  await must('POST', '/apis/apps/v1/namespaces/default/deployments', { metadata: { name: 'd' }, spec });
});
afterEach(() => setup.plane.close());

async function must(method: string, path: string, body: object): Promise<ApiObject> {
  const answer = await setup.client.send(method, path, body);
  expect([answer.status < 300, answer.body.message]).toEqual([true, undefined]);
  return answer.body;
}

async function watchOver(resource: string): Promise<void> {
  for (const sort of ['mutating', 'validating']) {
    const rules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: [resource] }];
    const webhook = { sideEffects: 'None', admissionReviewVersions: ['v1'], clientConfig: { url: `https://${sort}/` } };
    const webhooks = [{ name: 'a.example.dev', ...webhook, rules }];
    await must('POST', `${GUARDS}/${sort}webhookconfigurations`, { metadata: { name: 'w' }, webhooks });
  }
}

async function mutate(resource: string, mutation: object): Promise<void> {
  const rules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: [resource] }];
  const spec = { matchConstraints: { resourceRules: rules }, reinvocationPolicy: 'Never', mutations: [mutation] };
  await must('POST', `${GUARDS}/mutatingadmissionpolicies`, { metadata: { name: 'm' }, spec });
  const binding = { metadata: { name: 'm' }, spec: { policyName: 'm' } };
  await must('POST', `${GUARDS}/mutatingadmissionpolicybindings`, binding);
  await setup.clock.advance(1_000);
}

const patching = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } });
const applying = (expression: string) => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } });

const BINDING = { metadata: { name: 'p', labels: { x: 'y' } }, target: { kind: 'Node', name: 'n1' } };
const EVICTION = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } };
const SCALE = '/apis/apps/v1/namespaces/default/deployments/d/scale';
const three = { metadata: { name: 'd' }, spec: { replicas: 3 } };
const pod = () => setup.client.send('GET', `${NS}/pods/p`).then(({ body }) => body);

describe('a webhook sees and changes', () => {
  test('a webhook changes a Binding: the pod gets the node from the webhook, and the labels of the Binding', async () => {
    await watchOver('pods/binding');
    patch = [{ op: 'replace', path: '/target/name', value: 'n2' }];
    await must('POST', `${NS}/pods/p/binding`, BINDING);
    const { spec, metadata } = await pod();
    expect([spec, metadata.labels]).toMatchObject([{ nodeName: 'n2' }, { x: 'y' }]);
    expect(metadata.managedFields?.some(({ subresource }) => subresource === 'binding')).toBe(false);
    const [first, second] = seen;
    expect(first).toMatchObject({
      operation: 'CREATE',
      subResource: 'binding',
      kind: { kind: 'Binding' },
      object: { target: { name: 'n1' }, metadata: { managedFields: [{ subresource: 'binding' }] } },
      oldObject: null,
    });
    expect(second?.object?.target).toMatchObject({ name: 'n2' });
  });

  test('a webhook changes a Binding before its validation', async () => {
    await watchOver('pods/binding');
    patch = [{ op: 'add', path: '/target/name', value: 'n2' }];
    await must('POST', `${NS}/pods/p/binding`, { metadata: { name: 'p' }, target: { kind: 'Node' } });
    expect(await pod()).toMatchObject({ spec: { nodeName: 'n2' } });
  });

  test.each<[what: string, patch: object, status: number, message: string]>([
    ['without a node', { op: 'remove', path: '/target/name' }, 500, 'target.name: Required value'],
    ['of another pod', { op: 'replace', path: '/metadata/name', value: 'q' }, 400, 'name in URL does not match'],
    [
      'that is none any more',
      { op: 'replace', path: '/kind', value: 'Pod' },
      500,
      'converting (v1.Pod) to (core.Binding)',
    ],
  ])('a Binding %s is refused', async (_what, change, status, message) => {
    await watchOver('pods/binding');
    patch = [change];
    const answer = await setup.client.send('POST', `${NS}/pods/p/binding`, BINDING);
    expect([answer.status, answer.body.message]).toEqual([status, expect.stringContaining(message)]);
  });

  test('a webhook changes an Eviction, and its delete options apply', async () => {
    await watchOver('pods/eviction');
    patch = [{ op: 'add', path: '/deleteOptions', value: { dryRun: ['All'] } }];
    await must('POST', `${NS}/pods/p/eviction`, EVICTION);
    expect((await pod()).metadata.name).toBe('p');
    patch = [{ op: 'add', path: '/deleteOptions', value: { preconditions: { uid: 'other' } } }];
    expect((await setup.client.send('POST', `${NS}/pods/p/eviction`, EVICTION)).status).toBe(409);
  });

  test('a webhook changes a Scale, and the manager of its replicas stays', async () => {
    await watchOver('deployments/scale');
    patch = [{ op: 'replace', path: '/spec/replicas', value: 7 }];
    expect((await must('PUT', SCALE, three)).spec).toEqual({ replicas: 7 });
    const [first, second] = seen;
    expect(first).toMatchObject({
      operation: 'UPDATE',
      object: { spec: { replicas: 3 }, metadata: { namespace: 'default', managedFields: [{ subresource: 'scale' }] } },
      oldObject: { spec: { replicas: 1 }, metadata: { managedFields: [{ apiVersion: 'autoscaling/v1' }] } },
    });
    expect(second?.object).toMatchObject({ spec: { replicas: 7 }, status: { selector: 'a=b' } });
    expect(second?.object?.metadata.managedFields).toBeUndefined();
  });

  test.each<[value: unknown, status: number, message: string]>([
    [-7, 422, 'Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -7'],
    ['x', 500, 'Internal error occurred: json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas'],
  ])('a Scale of %j is refused', async (value, status, message) => {
    await watchOver('deployments/scale');
    patch = [{ op: 'replace', path: '/spec/replicas', value }];
    const answer = await setup.client.send('PUT', SCALE, three);
    expect([answer.status, answer.body.message]).toEqual([status, expect.stringContaining(message)]);
  });

  test('a webhook gets a TokenRequest with its defaults', async () => {
    await watchOver('serviceaccounts/token');
    patch = [
      { op: 'replace', path: '/spec/audiences', value: ['changed'] },
      { op: 'replace', path: '/spec/expirationSeconds', value: 800 },
    ];
    const made = await must('POST', `${NS}/serviceaccounts/robot/token`, { spec: {} });
    expect(made.spec).toMatchObject({ audiences: ['changed'], expirationSeconds: 800 });
    expect(seen[0]).toMatchObject({
      object: { spec: { expirationSeconds: 3600, audiences: null }, status: { token: '', expirationTimestamp: null } },
    });
    expect(seen[1]).toMatchObject({ object: { metadata: { name: 'robot' }, spec: { audiences: ['changed'] } } });
    patch = [{ op: 'replace', path: '/spec/expirationSeconds', value: 8 }];
    expect((await setup.client.send('POST', `${NS}/serviceaccounts/robot/token`, { spec: {} })).status).toBe(422);
  });

  test('a webhook gets the options of a connection', async () => {
    await watchOver('pods/exec');
    patch = [{ op: 'add', path: '/container', value: 'zzz' }];
    const answer = await setup.client.send('POST', `${NS}/pods/runs/exec?command=ls&command=-l&stdin=true&container=c`);
    expect(answer.body.message).toBe('container zzz is not valid for pod runs');
    expect(seen[0]).toMatchObject({ operation: 'CONNECT', kind: { kind: 'PodExecOptions' }, options: null });
    const options = { apiVersion: 'v1', kind: 'PodExecOptions', command: ['ls', '-l'], container: 'c', stdin: true };
    expect(seen[0]?.object).toEqual(options);
  });

  test('a webhook gets the path of a proxy, also for an unknown target', async () => {
    await watchOver('services/proxy');
    await setup.client.send('GET', `${NS}/services/none/proxy/a/b`);
    expect(seen[0]?.object).toEqual({ apiVersion: 'v1', kind: 'ServiceProxyOptions', path: '/a/b' });
  });

  test('a webhook changes an access review', async () => {
    await watchOver('localsubjectaccessreviews');
    patch = [{ op: 'add', path: '/spec/groups', value: ['system:masters'] }];
    const path = '/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews';
    const spec = { user: 'u', resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } };
    expect((await must('POST', path, { spec })).status).toMatchObject({ allowed: true });
  });

  test.each(['ephemeralcontainers', 'resize'])('pods/%s', async (part) => {
    await watchOver(`pods/${part}`);
    const spec =
      part === 'resize'
        ? { containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }] }
        : { ephemeralContainers: [{ name: 'e', image: 'i' }] };
    patch = part === 'resize' ? [] : [{ op: 'replace', path: '/spec/ephemeralContainers/0/image', value: 'changed' }];
    const type = { 'content-type': 'application/strategic-merge-patch+json' };
    const { status, body } = await setup.client.send('PATCH', `${NS}/pods/p/${part}`, { spec }, type);
    expect([status, seen.length, seen[0]?.subResource]).toEqual([200, 2, part]);
    if (part !== 'resize') expect(body.spec).toMatchObject({ ephemeralContainers: [{ image: 'changed' }] });
  });
});

describe('a policy', () => {
  test.each<[resource: string, expression: string, method: string, path: string, body: object, made: object]>([
    [
      'deployments/scale',
      '[JSONPatch{op: "replace", path: "/spec/replicas", value: 6}]',
      'PUT',
      SCALE,
      three,
      { spec: { replicas: 6 } },
    ],
    [
      'serviceaccounts/token',
      '[JSONPatch{op: "replace", path: "/spec/expirationSeconds", value: 900}]',
      'POST',
      `${NS}/serviceaccounts/robot/token`,
      { spec: {} },
      { spec: { expirationSeconds: 900 } },
    ],
  ])('a policy changes %s with operations', async (resource, expression, method, path, body, made) => {
    await mutate(resource, patching(expression));
    expect(await must(method, path, body)).toMatchObject(made);
  });

  test('a policy changes a Binding with operations', async () => {
    await mutate('pods/binding', patching('[JSONPatch{op: "replace", path: "/target/name", value: "n8"}]'));
    await must('POST', `${NS}/pods/p/binding`, BINDING);
    expect(await pod()).toMatchObject({ spec: { nodeName: 'n8' } });
  });

  test.each<[string, string, string, object, string]>([
    ['pods/binding', '{target: Object.target{name: "n7"}}', `${NS}/pods/p/binding`, BINDING, 'may not mutate atomic'],
    [
      'pods/eviction',
      '{deleteOptions: Object.deleteOptions{gracePeriodSeconds: 0}}',
      `${NS}/pods/p/eviction`,
      EVICTION,
      'no corresponding type for policy/v1, Kind=Eviction',
    ],
    [
      'pods/exec',
      '{container: "x"}',
      `${NS}/pods/runs/exec?command=ls`,
      {},
      'no corresponding type for /v1, Kind=PodExecOptions',
    ],
  ])('a policy cannot apply a configuration to the body of %s', async (resource, fields, path, body, message) => {
    await mutate(resource, applying(`Object${fields}`));
    const answer = await setup.client.send('POST', path, body);
    expect([answer.status, answer.body.message]).toEqual([403, expect.stringContaining(message)]);
  });

  test('a policy does not apply to reviews', async () => {
    await mutate('*', patching('[JSONPatch{op: "replace", path: "/spec/user", value: "changed"}]'));
    const spec = { user: 'u', resourceAttributes: { verb: 'get', resource: 'pods' } };
    expect(await must('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec })).toMatchObject({ spec });
  });
});

describe('a Binding', () => {
  test('a Binding by `bindings` binds the named pod, and is not stored', async () => {
    const { kind } = await must('POST', `${NS}/bindings`, { metadata: { name: 'p' }, target: { name: 'n1' } });
    expect([kind, await pod()]).toMatchObject(['Status', { spec: { nodeName: 'n1' } }]);
    const nameless = await setup.client.send('POST', `${NS}/bindings`, { target: { name: 'n1' } });
    expect([nameless.status, nameless.body.message]).toEqual([400, 'Name parameter required.']);
    const none = await setup.client.send('POST', `${NS}/bindings`, { metadata: { name: 'x' }, target: { name: 'n' } });
    expect(none.status).toBe(404);
  });

  test('a Binding reports all errors of its target, and checks its preconditions', async () => {
    const bind = async (body: object) => {
      const answer = await setup.client.send('POST', `${NS}/pods/p/binding`, { ...BINDING, ...body });
      return [answer.status, answer.body.message];
    };
    expect(await bind({ target: { kind: 'Pod' } })).toEqual([
      500,
      '[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]',
    ]);
    expect(await bind({ metadata: {} })).toEqual([400, 'name in URL does not match name in Binding object']);
    for (const metadata of [{ uid: 'x' }, { resourceVersion: '1' }]) {
      expect(await bind({ metadata: { name: 'p', ...metadata } })).toEqual([
        409,
        expect.stringContaining(
          '/registry/pods/default/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed',
        ),
      ]);
    }
  });

  test('a Binding adds the topology labels of the node, as for a pod that is created there', async () => {
    const labels = { 'topology.kubernetes.io/zone': 'z1', 'topology.kubernetes.io/region': 'r1' };
    await must('POST', '/api/v1/nodes', { metadata: { name: 'n1', labels: { ...labels, other: 'x' } } });
    await must('POST', `${NS}/pods/p/binding`, BINDING);
    expect((await pod()).metadata.labels).toEqual({ ...labels, x: 'y' });
    const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] };
    const made = await must('POST', `${NS}/pods`, { metadata: { name: 'q' }, spec });
    expect(made.metadata.labels).toEqual(labels);
  });
});

describe('the scale of a custom kind', () => {
  beforeEach(async () => {
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const scale = { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n', labelSelectorPath: '.status.sel' };
    const versions = [{ name: 'v1', served: true, storage: true, schema, subresources: { status: {}, scale } }];
    const names = { plural: 'scalers', kind: 'Scaler' };
    const spec = { group: 's.dev', scope: 'Namespaced', names, versions };
    await must('POST', CRDS, { metadata: { name: 'scalers.s.dev' }, spec });
  });
  const PATH = '/apis/s.dev/v1/namespaces/default/scalers';
  const scaler = (spec: unknown) => ({ apiVersion: 's.dev/v1', kind: 'Scaler', metadata: { name: 'k' }, spec });

  test.each<[value: unknown, why: string]>([
    [-1, '.spec.n: Invalid value: -1: should be a non-negative integer'],
    [2 ** 31, '.spec.n: Invalid value: 2147483648: should be less than or equal to 2147483647'],
    [1.5, '.spec.n: Invalid value: 0: .spec.n accessor error: 1.5 is of the type float64, expected int64'],
    ['3', '.spec.n: Invalid value: 0: .spec.n accessor error: 3 is of the type string, expected int64'],
    [null, '.spec.n: Invalid value: 0: .spec.n accessor error: <nil> is of the type <nil>, expected int64'],
    [
      [1, { b: [] }],
      '.spec.n: Invalid value: 0: .spec.n accessor error: [1 map[b:[]]] is of the type []interface {}, expected int64',
    ],
  ])('the scale of a custom kind refuses %j replicas', async (n, why) => {
    const { status, body } = await setup.client.send('POST', PATH, scaler({ n }));
    expect([status, body.message]).toEqual([422, `Scaler.s.dev "k" is invalid: ${why}`]);
  });

  test('the status of a custom kind is validated when the status is written', async () => {
    await must('POST', PATH, scaler({ n: 1 }));
    const type = { 'content-type': 'application/merge-patch+json' };
    const write = async (status: object) =>
      (await setup.client.send('PATCH', `${PATH}/k/status`, { status }, type)).body.message;
    expect(await write({ n: -1 })).toContain('.status.n: Invalid value: -1: should be a non-negative integer');
    expect(await write({ sel: 1 })).toContain('.status.sel accessor error: 1 is of the type int64, expected string');
    expect(await write({ n: 1, sel: 'a=b' })).toBeUndefined();
  });

  test('the scale of a custom kind is validated after the fields and before lists and rules', async () => {
    const rules = [{ rule: 'self.n > 0', message: 'few' }];
    const list = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } };
    const properties = { n: { type: 'integer' }, e: { type: 'string', maxLength: 1 }, l: list };
    const spec = { type: 'object', properties, 'x-kubernetes-validations': rules };
    const { body: crd } = await setup.client.send('GET', `${CRDS}/scalers.s.dev`);
    const [version] = (crd.spec as { versions: { schema: object }[] }).versions;
    const versions = [{ ...version, schema: { openAPIV3Schema: { type: 'object', properties: { spec } } } }];
    await must('PUT', `${CRDS}/scalers.s.dev`, { ...crd, spec: { ...(crd.spec as object), versions } });
    const fieldsOf = async (given: object) => {
      const { body } = await setup.client.send('POST', PATH, scaler(given));
      return body.details?.causes?.map(({ field }) => field);
    };
    expect(await fieldsOf({ n: -1 })).toEqual(['.spec.n', 'spec']);
    expect(await fieldsOf({ n: -1, l: ['a', 'a'] })).toEqual(['.spec.n', 'spec.l[1]', 'spec']);
    expect(await fieldsOf({ n: -1, e: 'long' })).toEqual(['spec.e', '.spec.n', '<nil>']);
  });

  test('the scale of a custom kind does not exist until replicas are set', async () => {
    await must('POST', PATH, scaler({}));
    const { status, body } = await setup.client.send('GET', `${PATH}/k/scale`);
    expect([status, body.message]).toEqual([
      500,
      'Internal error occurred: the spec replicas field ".spec.n" does not exist',
    ]);
    const three = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'k' }, spec: { replicas: 3 } };
    expect(await must('PUT', `${PATH}/k/scale`, three)).toMatchObject({ spec: { replicas: 3 } });
  });
});
