import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Clock, realClock } from '../apimachinery/objects/clock.ts';
import { type ControlPlane, startControlPlane } from '../plane.ts';
import { caller } from './testing.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

let plane: ControlPlane;
let call: ReturnType<typeof caller>;
let ahead = 0;
const clock: Clock = { ...realClock, now: () => new Date(realClock.now().getTime() + ahead) };

beforeEach(async () => {
  ahead = 0;
  plane = await startControlPlane({ controllers: false, clock });
  call = caller(plane);
});
afterEach(() => plane.close());

const as = (user: string, ...groups: string[]): Record<string, string> => ({
  'impersonate-user': user,
  ...(groups.length === 0 ? {} : { 'impersonate-group': groups.join(', ') }),
});

async function create(path: string, body: unknown): Promise<void> {
  const answer = await call('POST', path, { body });
  expect([answer.status, answer.body.message]).toEqual([201, undefined]);
}

const bind = (name: string, role: string, subject: object, kind = 'ClusterRole', namespace?: string): Promise<void> =>
  create(namespace === undefined ? `${RBAC}/clusterrolebindings` : `${RBAC}/namespaces/${namespace}/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
    subjects: [subject],
  });

const user = (name: string) => ({ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name });

async function accountToken(spec: object = {}): Promise<string> {
  const account = await call('POST', '/api/v1/namespaces/default/serviceaccounts', {
    body: { metadata: { name: 'bot' } },
  });
  expect([201, 409]).toContain(account.status);
  const answer = await call('POST', '/api/v1/namespaces/default/serviceaccounts/bot/token', { body: { spec } });
  expect(answer.status).toBe(201);
  const token: unknown = answer.body.status?.token;
  if (typeof token !== 'string') throw new Error('the answer holds no token');
  return token;
}

describe('roles and bindings', () => {
  test('a cluster role applies only in the namespace of its role binding', async () => {
    await bind('v', 'view', user('alice'), 'ClusterRole', 'default');
    expect((await call('GET', CONFIG_MAPS, { headers: as('alice') })).status).toBe(200);
    expect((await call('GET', '/api/v1/configmaps', { headers: as('alice') })).status).toBe(403);
    expect((await call('GET', '/api/v1/namespaces/default/secrets', { headers: as('alice') })).status).toBe(403);
  });

  test('edit includes view, and admin includes edit', async () => {
    await bind('a', 'admin', user('alice'), 'ClusterRole', 'default');
    const body = { metadata: { name: 'x' } };
    expect((await call('POST', CONFIG_MAPS, { headers: as('alice'), body })).status).toBe(201);
    expect((await call('GET', '/api/v1/namespaces/default/pods', { headers: as('alice') })).status).toBe(200);
    expect((await call('GET', `${RBAC}/namespaces/default/roles`, { headers: as('alice') })).status).toBe(200);
  });

  test('a deleted binding or role no longer allows anything', async () => {
    await create(`${RBAC}/clusterroles`, {
      metadata: { name: 'r' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }],
    });
    await bind('b', 'r', { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'devs' });
    const list = () => call('GET', CONFIG_MAPS, { headers: as('alice', 'devs') });
    expect((await list()).status).toBe(200);
    await call('DELETE', `${RBAC}/clusterroles/r`);
    expect((await list()).body.message).toBe(
      'configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" in the namespace "default": RBAC: clusterrole.rbac.authorization.k8s.io "r" not found',
    );
    await call('DELETE', `${RBAC}/clusterrolebindings/b`);
    expect((await list()).body.message).not.toContain('RBAC');
  });

  test('an update or an apply that creates an object also needs the verb create', async () => {
    const rules = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'update', 'patch'] }];
    await create(`${RBAC}/clusterroles`, { metadata: { name: 'r' }, rules });
    await bind('b', 'r', user('alice'));
    const lease = '/apis/coordination.k8s.io/v1/namespaces/default/leases/l';
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l' } };
    const apply = { ...as('alice'), 'content-type': 'application/apply-patch+yaml' };
    const updated = () => call('PUT', lease, { body, headers: as('alice') });
    const applied = () => call('PATCH', `${lease}?fieldManager=m`, { body, headers: apply });
    const message =
      'leases.coordination.k8s.io "l" is forbidden: User "alice" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "default"';
    expect((await updated()).body).toMatchObject({ code: 403, message });
    expect((await applied()).body).toMatchObject({ code: 403, message });
    await create(`${RBAC}/clusterroles`, {
      metadata: { name: 'c' },
      rules: rules.map((rule) => ({ ...rule, verbs: ['create'] })),
    });
    await bind('bc', 'c', user('alice'));
    expect((await updated()).status).toBe(201);
    expect((await applied()).status).toBe(200);
  });

  test('names, subresources and paths', async () => {
    await create(`${RBAC}/clusterroles`, {
      metadata: { name: 'r' },
      rules: [
        { apiGroups: [''], resources: ['configmaps'], resourceNames: ['mine'], verbs: ['get'] },
        { apiGroups: ['apps'], resources: ['*/scale'], verbs: ['get'] },
        { nonResourceURLs: ['/logs/*'], verbs: ['get'] },
      ],
    });
    await bind('b', 'r', user('alice'));
    const status = async (path: string) => (await call('GET', path, { headers: as('alice') })).status;
    expect(await status(`${CONFIG_MAPS}/mine`)).toBe(404);
    expect(await status(`${CONFIG_MAPS}/other`)).toBe(403);
    expect(await status('/apis/apps/v1/namespaces/default/deployments/x/scale')).toBe(404);
    expect(await status('/apis/apps/v1/namespaces/default/deployments/x')).toBe(403);
    expect(await status('/logs/x')).toBe(404);
    expect(await status('/metrics')).toBe(403);
  });
});

describe('a user cannot grant permissions without having them', () => {
  beforeEach(async () => {
    await create(`${RBAC}/clusterroles`, {
      metadata: { name: 'writer' },
      rules: [
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['*'], verbs: ['create', 'get', 'update', 'patch'] },
        { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
      ],
    });
    await bind('writer', 'writer', user('mallory'));
  });
  const post = (path: string, body: object) => call('POST', `${RBAC}/${path}`, { body, headers: as('mallory') });

  test('a user cannot grant permissions in a role without having them', async () => {
    const rules = [
      { verbs: ['get', 'list'], apiGroups: ['', 'apps'], resources: ['pods', 'secrets'] },
      { verbs: ['post', 'get'], nonResourceURLs: ['/metrics'] },
      { verbs: ['get'], apiGroups: [''], resources: ['a'], resourceNames: ['b'] },
    ];
    const refused = await post('clusterroles', { metadata: { name: 'e' }, rules });
    expect(refused.status).toBe(403);
    expect(refused.body.message).toBe(
      [
        'clusterroles.rbac.authorization.k8s.io "e" is forbidden: user "mallory" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:',
        '{APIGroups:[""], Resources:["a"], ResourceNames:["b"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
        '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}',
        '{APIGroups:["apps"], Resources:["secrets"], Verbs:["get" "list"]}',
        '{NonResourceURLs:["/metrics"], Verbs:["get"]}',
        '{NonResourceURLs:["/metrics"], Verbs:["post"]}',
      ].join('\n'),
    );
    const own = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }];
    expect((await post('clusterroles', { metadata: { name: 'e' }, rules: own })).status).toBe(201);
  });

  test('a user cannot grant permissions in a binding without having them', async () => {
    const binding = (name: string) => ({
      metadata: { name: 'e' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [user('mallory')],
    });
    const refused = await post('clusterrolebindings', binding('cluster-admin'));
    expect(refused.body.message).toContain(
      '\n{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}',
    );
    expect((await post('clusterrolebindings', binding('none'))).status).toBe(404);
    expect((await post('clusterrolebindings', binding('writer'))).status).toBe(201);
  });

  test('the server checks the permissions of the user before it validates the fields', async () => {
    const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'], nonResourceURLs: ['/x'] }];
    expect((await post('clusterroles', { metadata: { name: 'e' }, rules })).status).toBe(403);
    await create(`${RBAC}/clusterroles`, { metadata: { name: 'e' } });
    const headers = { ...as('mallory'), 'content-type': 'application/merge-patch+json' };
    expect((await call('PATCH', `${RBAC}/clusterroles/e`, { body: { rules }, headers })).status).toBe(403);
    expect((await post('clusterroles', { metadata: { name: 'f' }, rules: [{ resources: ['pods'] }] })).status).toBe(
      422,
    );
    const binding = { metadata: { name: 'e' }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', name: 'writer' } };
    const refused = await post('clusterrolebindings', binding);
    expect(refused.body).toMatchObject({ code: 500, message: 'unsupported role reference kind: ""' });
  });

  test('a user cannot grant permissions by aggregation without having them', async () => {
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { x: 'y' } }] };
    const refused = await post('clusterroles', { metadata: { name: 'e' }, aggregationRule });
    expect(refused.body.message).toContain('must have cluster-admin privileges to use the aggregationRule');
  });

  test('a user with the verb escalate can grant permissions without having them', async () => {
    await create(`${RBAC}/clusterroles`, {
      metadata: { name: 'escalator' },
      rules: [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['escalate'] }],
    });
    await bind('escalator', 'escalator', user('mallory'));
    const rules = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
    expect((await post('clusterroles', { metadata: { name: 'e' }, rules })).status).toBe(201);
  });

  test('the verb escalate for a named role permits its update, but no creation', async () => {
    const about = { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'] };
    const named = { ...about, verbs: ['escalate'], resourceNames: ['e'] };
    await create(`${RBAC}/clusterroles`, { metadata: { name: 'escalator' }, rules: [named] });
    await bind('escalator', 'escalator', user('mallory'));
    const rules = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
    expect((await post('clusterroles', { metadata: { name: 'e' }, rules })).status).toBe(403);
    expect((await post('clusterroles', { metadata: { name: 'e' } })).status).toBe(201);
    const put = call('PUT', `${RBAC}/clusterroles/e`, {
      body: { metadata: { name: 'e' }, rules },
      headers: as('mallory'),
    });
    expect((await put).status).toBe(200);
  });

  test('each change of a role needs its permissions, except changes of finalizers and owners', async () => {
    const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'] }];
    await create(`${RBAC}/clusterroles`, { metadata: { name: 'e' }, rules });
    const patch = async (metadata: object) => {
      const headers = { ...as('mallory'), 'content-type': 'application/merge-patch+json' };
      return (await call('PATCH', `${RBAC}/clusterroles/e`, { body: { metadata }, headers })).status;
    };
    expect(await patch({ labels: { a: 'b' } })).toBe(403);
    expect(await patch({ finalizers: ['example.org/f'] })).toBe(200);
    expect(await patch({ finalizers: null })).toBe(200);
  });

  test('a user with the verb bind can bind a role that does not exist', async () => {
    await create(`${RBAC}/clusterroles`, {
      metadata: { name: 'binder' },
      rules: [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['bind'] }],
    });
    await bind('binder', 'binder', user('mallory'));
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'none' };
    const binding = { metadata: { name: 'e' }, roleRef, subjects: [user('mallory')] };
    expect((await post('clusterrolebindings', binding)).status).toBe(201);
    const unknown = await post('clusterrolebindings', { ...binding, roleRef: { ...roleRef, kind: 'Rule' } });
    expect([unknown.status, unknown.body.message]).toEqual([500, 'unsupported role reference kind: "Rule"']);
    const other = await post('clusterrolebindings', { ...binding, roleRef: { ...roleRef, apiGroup: 'other.dev' } });
    expect(other.status).toBe(404);
    const refused = await post('clusterroles', {
      metadata: { name: 'f' },
      rules: [{ verbs: ['get'], nonResourceURLs: ['/a'] }],
    });
    expect(refused.body.message).toMatch(
      /Verbs:\["get"\]\}; resolution errors: \[clusterrole\.rbac\.authorization\.k8s\.io "none" not found\]$/,
    );
  });
});

describe('impersonation', () => {
  test.each([
    [{ 'impersonate-uid': '5' }, 400, 'UID:"5"'],
    [as('alice'), 403, 'cannot impersonate-on:user-info:list resource "configmaps"'],
    [as('system:serviceaccount:default:x'), 403, 'cannot impersonate-on:serviceaccount:list resource "configmaps"'],
    [as('system:node:n-1'), 403, 'cannot impersonate-on:arbitrary-node:list resource "configmaps"'],
    [as('system:node:n-1', 'system:nodes'), 403, 'users "system:node:n-1" is forbidden'],
  ])('%j without permission', async (headers, status, message) => {
    const answer = await call('GET', CONFIG_MAPS, { token: await accountToken(), headers });
    expect(answer.status).toBe(status);
    expect(answer.body.message).toContain(message);
  });

  test.each([
    [
      as('alice', 'g'),
      'groups "g" is forbidden: User "system:serviceaccount:default:bot" cannot impersonate resource "groups"',
    ],
    [{ ...as('alice'), 'impersonate-uid': '5' }, 'uids.authentication.k8s.io "5" is forbidden'],
    [{ ...as('alice'), 'impersonate-extra-scopes': '5' }, 'cannot impersonate resource "userextras/scopes"'],
    [as('alice'), 'User "alice" cannot list resource'],
  ])('%j with permission to impersonate users', async (headers, message) => {
    await create(`${RBAC}/clusterroles`, {
      metadata: { name: 'imp' },
      rules: [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'] }],
    });
    await bind('imp', 'imp', { kind: 'ServiceAccount', name: 'bot', namespace: 'default' });
    const token = await accountToken();
    await call('GET', CONFIG_MAPS, { token, headers: as('alice') });
    const answer = await call('GET', CONFIG_MAPS, { token, headers });
    expect([answer.status, answer.body.message]).toEqual([403, expect.stringContaining(message)]);
  });
});

describe('tokens of service accounts', () => {
  const self = (token: string) =>
    call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { token, body: {} });

  const reviewed = async (token: string): Promise<unknown> => {
    const { body } = await call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body: { spec: { token } } });
    return (body.status as { error?: string } | undefined)?.error;
  };

  test('tokens of service accounts expire, with a tolerance of a minute', async () => {
    const token = await accountToken({ expirationSeconds: 600 });
    ahead = 659_000;
    expect((await self(token)).body.status?.userInfo?.username).toBe('system:serviceaccount:default:bot');
    ahead = 661_000;
    expect((await self(token)).status).toBe(401);
    expect(await reviewed(token)).toBe('[invalid bearer token, service account token has expired]');
  });

  test('tokens of service accounts end a minute after the deletion of an account with finalizers', async () => {
    const token = await accountToken();
    const path = '/api/v1/namespaces/default/serviceaccounts/bot';
    const { body } = await call('GET', path);
    const held = {
      ...body,
      metadata: { ...(body as { metadata: object }).metadata, finalizers: ['example.dev/hold'] },
    };
    await call('PUT', path, { body: held });
    await call('DELETE', path);
    ahead = 59_000;
    expect(await reviewed(token)).toBeUndefined();
    ahead = 62_000;
    expect(await reviewed(token)).toBe('[invalid bearer token, service account default/bot has been deleted]');
  });

  test('tokens of service accounts end with their bound object', async () => {
    await create('/api/v1/namespaces/default/secrets', { metadata: { name: 's' } });
    const token = await accountToken({ boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 's' } });
    expect((await self(token)).status).toBe(201);
    await call('DELETE', '/api/v1/namespaces/default/secrets/s');
    expect((await self(token)).status).toBe(401);
    expect(await reviewed(token)).toBe('[invalid bearer token, service account token has been invalidated]');
  });

  test('tokens of service accounts end with their account, also if it is created again', async () => {
    const token = await accountToken();
    await call('DELETE', '/api/v1/namespaces/default/serviceaccounts/bot');
    expect(await reviewed(token)).toBe('[invalid bearer token, serviceaccounts "bot" not found]');
    await accountToken();
    expect((await self(token)).status).toBe(401);
    expect(await reviewed(token)).toMatch(/service account UID \(\S+\) does not match claim \(\S+\)\]$/);
  });

  test('tokens of service accounts can only be bound to pods of their account, with any version', async () => {
    await create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'bot' } });
    await create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'other' } });
    const spec = { serviceAccountName: 'bot', containers: [{ name: 'c', image: 'i' }] };
    await create('/api/v1/namespaces/default/pods', { metadata: { name: 'p' }, spec });
    const ask = (account: string, boundObjectRef: object, more: object = {}) =>
      call('POST', `/api/v1/namespaces/default/serviceaccounts/${account}/token`, {
        body: { spec: { boundObjectRef }, ...more },
      });
    expect((await ask('bot', { kind: 'Pod', name: 'p' })).status).toBe(201);
    const stolen = await ask('other', { kind: 'Pod', apiVersion: 'v1', name: 'p' });
    expect([stolen.status, stolen.body.message]).toEqual([
      400,
      'cannot bind token for serviceaccount "other" to pod running with different serviceaccount name.',
    ]);
    expect((await ask('bot', { kind: 'Pod', apiVersion: 'v1' })).body.message).toBe('Name parameter required.');
    expect((await ask('bot', { kind: 'Pod', name: 'p' }, { kind: 'Pod', apiVersion: 'v1' })).status).toBe(400);
    expect((await ask('bot', { kind: 'Pod', name: 'p' }, { zzz: 1 })).warnings).toEqual([
      '299 - "unknown field \\"zzz\\""',
    ]);
  });

  test('a changed token is invalid', async () => {
    const [head, body = '', signature] = (await accountToken()).split('.');
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
    const forged = Buffer.from(JSON.stringify({ ...claims, sub: 'admin' })).toString('base64url');
    expect((await self(`${head}.${forged}.${signature}`)).status).toBe(401);
  });

  test.each([
    [{ expirationSeconds: 5 }, 422, 'may not specify a duration less than 10 minutes'],
    [
      { boundObjectRef: { kind: 'ConfigMap', apiVersion: 'v1', name: 's' } },
      400,
      'cannot bind token to object of type /v1, Kind=ConfigMap',
    ],
    [{ boundObjectRef: { kind: 'Node', apiVersion: 'v1', name: 's' } }, 404, 'nodes "s" not found'],
    [
      { boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 's', uid: 'x' } },
      409,
      'the UID in the bound object reference (x) does not match the UID in record',
    ],
  ])('%j is refused', async (spec, status, message) => {
    await accountToken();
    await create('/api/v1/namespaces/default/secrets', { metadata: { name: 's' } });
    const answer = await call('POST', '/api/v1/namespaces/default/serviceaccounts/bot/token', { body: { spec } });
    expect([answer.status, answer.body.message]).toEqual([status, expect.stringContaining(message)]);
  });

  test('a review returns the user of a token and its audiences', async () => {
    const review = (token: string, audiences?: string[]) =>
      call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body: { spec: { token, audiences } } });
    const token = await accountToken({ audiences: ['a', 'b'] });
    const status = async (...wanted: string[]) => (await review(token, wanted)).body.status;
    expect(await status('b', 'c')).toMatchObject({ authenticated: true, audiences: ['b'] });
    expect(await status('c')).toEqual({
      user: {},
      error: '[invalid bearer token, token audiences ["a" "b"] is invalid for the target audiences ["c"]]',
    });
    expect((await review('x')).body.status).toEqual({ user: {}, error: 'invalid bearer token' });
    expect((await review(plane.adminToken)).body.status).toMatchObject({
      audiences: ['https://kubernetes.default.svc'],
    });
    expect((await review(plane.adminToken, ['a'])).body.status?.error).toBe('invalid bearer token');
    expect((await review('')).status).toBe(400);
  });
});

test('a user with a name similar to a service account has no group of service accounts', async () => {
  const headers = as('system:serviceaccount:Bad_:sa');
  const { body } = await call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { body: {}, headers });
  expect(body.status?.userInfo?.groups).toEqual(['system:authenticated']);
});

describe('access reviews', () => {
  test('access reviews report every cause: an empty selector, and fields that a local review may not have', async () => {
    const review = (resource: string, spec: object) =>
      call('POST', `/apis/authorization.k8s.io/v1/${resource}`, { body: { spec: { user: 'u', ...spec } } });
    const empty = await review('subjectaccessreviews', { resourceAttributes: { fieldSelector: {} } });
    expect(empty.body.message).toContain('spec.resourceAttributes.fieldSelector.requirements: Required value');
    const both = await review('namespaces/default/localsubjectaccessreviews', {
      resourceAttributes: { namespace: 'x' },
      nonResourceAttributes: { path: '/' },
    });
    expect(both.body.details?.causes).toHaveLength(3);
  });

  const post = (kind: string, spec: object, namespace = '') =>
    call('POST', `/apis/authorization.k8s.io/v1${namespace}/${kind}`, { body: { spec } });
  const resourceAttributes = { verb: 'get', resource: 'pods' };

  test('a SubjectAccessReview reports the access of a user, of groups and to a path', async () => {
    const masters = await post('subjectaccessreviews', { user: 'x', groups: ['system:masters'], resourceAttributes });
    expect(masters.body.status).toEqual({ allowed: true });
    const path = await post('subjectaccessreviews', {
      groups: ['system:authenticated'],
      nonResourceAttributes: { verb: 'get', path: '/api' },
    });
    expect(path.body.status?.reason).toBe(
      'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"',
    );
    expect((await post('subjectaccessreviews', { user: 'x', resourceAttributes })).body.status).toEqual({
      allowed: false,
    });
  });

  test.each([
    [
      'selfsubjectaccessreviews',
      {},
      '',
      'exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ],
    ['subjectaccessreviews', { resourceAttributes }, '', 'at least one of user or group must be specified'],
    [
      'localsubjectaccessreviews',
      { user: 'x', resourceAttributes },
      '/namespaces/default',
      'must match metadata.namespace',
    ],
    [
      'localsubjectaccessreviews',
      { user: 'x', nonResourceAttributes: { path: '/x', verb: 'get' } },
      '/namespaces/default',
      'Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request',
    ],
    ['selfsubjectrulesreviews', {}, '', 'no namespace on request'],
  ])('%s %j is refused', async (kind, spec, namespace, message) => {
    const answer = await post(kind, spec, namespace);
    expect([400, 422]).toContain(answer.status);
    expect(answer.body.message).toContain(message);
  });
});

describe('nodes', () => {
  const node = as('system:node:n-1', 'system:nodes');

  test('nodes can only write their own node and lease', async () => {
    const lease = (name: string) => ({ metadata: { name }, spec: { holderIdentity: name } });
    const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
    expect((await call('POST', '/api/v1/nodes', { headers: node, body: { metadata: { name: 'n-1' } } })).status).toBe(
      201,
    );
    await create('/api/v1/nodes', { metadata: { name: 'n-2' } });
    const patch = (name: string) =>
      call('PATCH', `/api/v1/nodes/${name}/status`, { headers: node, body: { status: { phase: 'Running' } } });
    expect((await patch('n-1')).status).toBe(200);
    expect((await patch('n-2')).status).toBe(403);
    expect((await call('POST', leases, { headers: node, body: lease('n-1') })).status).toBe(201);
    await create(leases, lease('n-2'));
    expect((await call('GET', `${leases}/n-1`, { headers: node })).status).toBe(200);
    expect((await call('GET', `${leases}/n-2`, { headers: node })).status).toBe(403);
  });

  test('nodes can only read the secrets of their pods', async () => {
    await create('/api/v1/namespaces/default/secrets', { metadata: { name: 's' } });
    await create('/api/v1/namespaces/default/secrets', { metadata: { name: 'other' } });
    await accountToken();
    await create('/api/v1/namespaces/default/pods', {
      metadata: { name: 'p' },
      spec: {
        nodeName: 'n-1',
        serviceAccountName: 'bot',
        automountServiceAccountToken: false,
        containers: [{ name: 'c', image: 'i' }],
        volumes: [{ name: 'v', secret: { secretName: 's' } }],
      },
    });
    const status = async (name: string) =>
      (await call('GET', `/api/v1/namespaces/default/secrets/${name}`, { headers: node })).status;
    expect([await status('s'), await status('other')]).toEqual([200, 403]);
  });
});

describe('bootstrap tokens', () => {
  const secret = (data: object, type = 'bootstrap.kubernetes.io/token') => ({
    metadata: { name: 'bootstrap-token-abc123' },
    type,
    stringData: {
      'token-id': 'abc123',
      'token-secret': '0123456789abcdef',
      'usage-bootstrap-authentication': 'true',
      ...data,
    },
  });

  test.each([
    ['a good one', secret({}), 201],
    [
      'a list of groups with a space',
      secret({ 'auth-extra-groups': 'system:bootstrappers:a, system:bootstrappers:b' }),
      401,
    ],
    ['one for signing alone', secret({ 'usage-bootstrap-authentication': 'false' }), 401],
    ['one of another id', secret({ 'token-id': 'abc124' }), 401],
    ['one of another secret', secret({ 'token-secret': '0123456789abcdee' }), 401],
    ['one of another type', secret({}, 'Opaque'), 401],
    ['one with a group that is none of theirs', secret({ 'auth-extra-groups': 'system:masters' }), 401],
    ['an expired one', secret({ expiration: '2001-01-01T00:00:00Z' }), 401],
    ['one with a time that is none', secret({ expiration: 'soon' }), 401],
  ])('%s', async (_name, body, status) => {
    await create('/api/v1/namespaces/kube-system/secrets', body);
    const review = await call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      token: 'abc123.0123456789abcdef',
      body: {},
    });
    expect(review.status).toBe(status);
  });
});
