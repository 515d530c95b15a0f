import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { caller } from '../../auth/testing.ts';
import { type ControlPlane, startControlPlane } from '../../plane.ts';
import { forbiddenLabels } from './labels.ts';
import { apiReference } from './references.ts';

const PODS = '/api/v1/namespaces/default/pods';
const NODE = { 'impersonate-user': 'system:node:n-1', 'impersonate-group': 'system:nodes' };
const MIRROR = { 'kubernetes.io/config.mirror': 'x' };

let plane: ControlPlane;
let call: ReturnType<typeof caller>;

beforeEach(async () => {
  plane = await startControlPlane({ controllers: false });
  call = caller(plane);
});
afterEach(() => plane.close());

const asNode = (method: string, path: string, body?: object) =>
  call(method, path, { headers: NODE, ...(body === undefined ? {} : { body }) });

describe('its node', () => {
  const register = (metadata: object, spec: object = {}) =>
    asNode('POST', '/api/v1/nodes', { metadata: { name: 'n-1', ...metadata }, spec });

  test('a node is registered without labels that steer workloads', async () => {
    const { status, body } = await register({
      labels: { 'node-role.kubernetes.io/x': '', 'a.node-restriction.kubernetes.io/y': '', 'example.dev/z': '' },
    });
    expect([status, body.message]).toEqual([
      403,
      'nodes "n-1" is forbidden: node "n-1" is not allowed to set the following labels: a.node-restriction.kubernetes.io/y, node-role.kubernetes.io/x',
    ]);
    const labels = { 'kubernetes.io/os': 'linux', 'node.kubernetes.io/x': '', 'x.kubelet.kubernetes.io/y': '' };
    expect((await register({ labels }, { taints: [{ key: 'a', effect: 'NoExecute' }] })).status).toBe(201);
  });

  test('cannot change another node', async () => {
    const { body } = await asNode('POST', '/api/v1/nodes', { metadata: { name: 'n-2' } });
    expect(body.message).toBe('nodes "n-2" is forbidden: node "n-1" is not allowed to modify node "n-2"');
  });

  test.each([
    [{ spec: { taints: null } }, 'node "n-1" is not allowed to modify taints'],
    [{ metadata: { labels: { 'k8s.io/a': 'b' } } }, 'is not allowed to modify labels: k8s.io/a'],
    [
      { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u' }] } },
      'node "n-1" is not allowed to modify ownerReferences',
    ],
    [{ metadata: { labels: { 'kubernetes.io/arch': 'arm64' } } }, undefined],
  ])('patched with %j: %s', async (patch, why) => {
    await register({});
    const { body } = await asNode('PATCH', '/api/v1/nodes/n-1', patch);
    expect(body.message).toBe(why === undefined ? undefined : `nodes "n-1" is forbidden: ${why}`);
  });
});

describe('pods', () => {
  const run = (name: string, nodeName: string) =>
    call('POST', PODS, {
      body: {
        metadata: { name },
        spec: { nodeName, automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] },
      },
    });

  test('a node cannot delete, evict or update pods of another node', async () => {
    await run('mine', 'n-1');
    await run('other', 'n-2');
    expect((await asNode('DELETE', `${PODS}/other`)).body.message).toBe(
      'pods "other" is forbidden: node "n-1" can only delete pods with spec.nodeName set to itself',
    );
    expect((await asNode('PATCH', `${PODS}/other/status`, { status: { phase: 'Running' } })).body.message).toBe(
      'pods "other" is forbidden: node "n-1" can only update pod status for pods with spec.nodeName set to itself',
    );
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'other' } };
    expect((await asNode('POST', `${PODS}/other/eviction`, eviction)).body.message).toBe(
      'pods "other" is forbidden: node n-1 can only evict pods with spec.nodeName set to itself',
    );
    const labelled = { metadata: { labels: { a: 'b' } }, status: { phase: 'Running' } };
    expect((await asNode('PATCH', `${PODS}/mine/status`, labelled)).body.message).toBe(
      'pods "mine" is forbidden: node "n-1" cannot update labels through pod status',
    );
    expect((await asNode('PATCH', `${PODS}/mine/status`, { status: { phase: 'Running' } })).status).toBe(200);
    expect((await asNode('DELETE', `${PODS}/mine?gracePeriodSeconds=0`)).status).toBe(200);
  });

  test('a node creates only mirror pods that it owns', async () => {
    const made = await asNode('POST', '/api/v1/nodes', { metadata: { name: 'n-1' } });
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'n-1', uid: made.body.metadata?.uid, controller: true };
    const mirror = (metadata: object, spec: object = {}) =>
      asNode('POST', PODS, {
        metadata: { name: 'm', ...metadata },
        spec: { nodeName: 'n-1', containers: [{ name: 'c', image: 'i' }], ...spec },
      });
    const why = async (metadata: object, spec?: object) => (await mirror(metadata, spec)).body.message;
    const annotations = MIRROR;
    expect(await why({})).toContain('pod does not have "kubernetes.io/config.mirror" annotation');
    expect(await why({ annotations }, { nodeName: 'n-2' })).toContain('spec.nodeName set to itself');
    expect(await why({ annotations })).toContain('with an owner reference set to itself');
    expect(await why({ annotations, ownerReferences: [{ ...owner, controller: false }] })).toContain('a controller');
    expect(await why({ annotations, ownerReferences: [{ ...owner, uid: 'x' }] })).toContain('UID mismatch');
    const volumes = [{ name: 'v', configMap: { name: 's' } }];
    expect(await why({ annotations, ownerReferences: [owner] }, { volumes })).toBe(
      'pods "m" is forbidden: node "n-1" can not create pods that reference configmaps',
    );
    expect((await mirror({ annotations, ownerReferences: [owner] })).status).toBe(201);
  });

  test.each([
    [{ containers: [{ env: [{ valueFrom: { configMapKeyRef: { name: 'x' } } }] }] }, 'configmaps'],
    [{ initContainers: [{ envFrom: [{ secretRef: { name: 'x' } }] }] }, 'secrets'],
    [{ volumes: [{ persistentVolumeClaim: {} }] }, 'persistentvolumeclaims'],
    [
      { volumes: [{ projected: { sources: [{ serviceAccountToken: {} }] } }] },
      'serviceaccounts (via projected volumes)',
    ],
    [{ volumes: [{ hostPath: {} }, { emptyDir: {} }] }, undefined],
  ])('pods that need %j reference %s', (spec, what) => {
    expect(apiReference({ apiVersion: 'v1', kind: 'Pod', metadata: {}, spec })).toBe(what);
  });
});

describe('tokens', () => {
  const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
  const DRIVERS = '/apis/storage.k8s.io/v1/csidrivers';
  const run = async (name: string, volumes: object[] = [], nodeName = 'n-1'): Promise<string> => {
    const containers = [{ name: 'c', image: 'i' }];
    const spec = { nodeName, serviceAccountName: 'bot', automountServiceAccountToken: false, containers, volumes };
    const { body } = await call('POST', PODS, { body: { metadata: { name }, spec } });
    return String(body.metadata?.uid);
  };
  const ask = async (name: string, uid: string, audiences?: string[], more: object = {}) => {
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name, uid, ...more };
    const spec = { boundObjectRef, ...(audiences === undefined ? {} : { audiences }) };
    const { status, body } = await asNode('POST', `${ACCOUNTS}/bot/token`, { spec });
    return status === 201 ? undefined : String(body.message).replace('serviceaccounts "bot" is forbidden: ', '');
  };
  const projected = (audience?: string) => ({
    name: 'v',
    projected: { sources: [{ serviceAccountToken: { path: 't', ...(audience === undefined ? {} : { audience }) } }] },
  });

  beforeEach(async () => {
    await call('POST', ACCOUNTS, { body: { metadata: { name: 'bot' } } });
  });

  test('a node can request tokens for its own pods', async () => {
    const mine = await run('mine', [projected()]);
    const other = await run('other', [projected()], 'n-2');
    expect(await ask('mine', mine)).toBeUndefined();
    expect(await ask('mine', mine, [], { kind: 'Secret' })).toBe('node requested token not bound to a pod');
    expect(await ask('mine', mine, [], { apiVersion: 'v2' })).toBe('node requested token not bound to a pod');
    expect(await ask('', mine)).toBe('node requested token not bound to a pod');
    expect(await ask('mine', '')).toBe('node requested token with a pod binding without a uid');
    expect(await ask('mine', 'x')).toContain('(x) does not match the UID in record');
    expect(await ask('other', other)).toBe('node requested token bound to a pod scheduled on a different node');
    expect(await ask('none', 'x')).toBe('pod "none" not found');
  });

  test('tokens may have the audiences of the volumes, of their drivers, and those that RBAC allows', async () => {
    await call('POST', DRIVERS, { body: { metadata: { name: 'd' }, spec: { tokenRequests: [{ audience: 'csi' }] } } });
    const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    const volume = {
      csi: { driver: 'd', volumeHandle: 'h' },
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1' },
    };
    await call('POST', '/api/v1/persistentvolumes', { body: { metadata: { name: 'pv' }, spec: volume } });
    for (const name of ['c', 'e-v']) {
      const body = { metadata: { name }, spec: { ...claim, volumeName: 'pv' } };
      await call('POST', '/api/v1/namespaces/default/persistentvolumeclaims', { body });
    }
    const plain = await run('plain', [projected('a')]);
    expect(await ask('plain', plain, ['a'])).toBeUndefined();
    expect(await ask('plain', plain, ['a', 'b'])).toBe('node may only request 0 or 1 audiences');
    const unnamed =
      'audience "b" not found in pod spec volume, system:node:n-1 is not authorized to request tokens for this audience';
    expect(await ask('plain', plain, ['b'])).toBe(unnamed);
    const mounts = {
      i: { csi: { driver: 'd' } },
      p: { persistentVolumeClaim: { claimName: 'c' } },
      e: { ephemeral: { volumeClaimTemplate: { spec: claim } } },
    };
    for (const [name, mount] of Object.entries(mounts)) {
      expect(await ask(name, await run(name, [{ name: 'v', ...mount }]), ['csi']), name).toBeUndefined();
    }
    const lost = await run('lost', [{ name: 'v', persistentVolumeClaim: { claimName: 'gone' } }]);
    expect(await ask('lost', lost, ['csi'])).toBe(
      'error validating audience "csi": persistentvolumeclaim "gone" not found',
    );
    const rules = [{ apiGroups: [''], resources: ['b'], verbs: ['request-serviceaccounts-token-audience'] }];
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    await call('POST', `${rbac}/clusterroles`, { body: { metadata: { name: 'r' }, rules } });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' };
    const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'system:node:n-1' }];
    await call('POST', `${rbac}/clusterrolebindings`, { body: { metadata: { name: 'r' }, roleRef, subjects } });
    expect(await ask('plain', plain, ['b'])).toBeUndefined();
  });
});

test('a node can only write its own lease', async () => {
  await call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'kube-node-lease' } } });
  const lease = (namespace: string, name: string) =>
    asNode('POST', `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, { metadata: { name } });
  expect((await lease('kube-node-lease', 'n-2')).body.message).toBe(
    'leases.coordination.k8s.io "n-2" is forbidden: can only access node lease with the same name as the requesting node',
  );
  expect((await lease('kube-node-lease', 'n-1')).status).toBe(201);
});

test('existing labels are not checked', () => {
  expect(forbiddenLabels({ 'k8s.io/a': '1', b: '2' }, { 'k8s.io/a': '1', 'k8s.io/c': '3' })).toEqual(['k8s.io/c']);
});
