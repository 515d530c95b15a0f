import { startControlPlane } from '@mcm/control-plane';
import { leases, nodes, secrets } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { MemoryStore } from '../cloud/store/memory-store.ts';
import { condition, type JoinRigOptions, joinRig } from '../testing/join-rig.ts';

const times = { lastHeartbeatTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' };

describe('a booting kubelet', () => {
  test('a booting kubelet registers its node with two requests', async () => {
    await using rig = await joinRig(startControlPlane);
    const { id } = await rig.launch({ name: 'n-1', machineType: 'small', zone: 'local-b' });
    await rig.clock.advance(10);
    const node = await rig.node('n-1');
    expect(node).toMatchObject({
      metadata: {
        labels: {
          'kubernetes.io/hostname': 'n-1',
          'node.kubernetes.io/instance-type': 'small',
          'topology.kubernetes.io/zone': 'local-b',
        },
      },
      spec: { providerID: `local:///local-b/${id}` },
      status: { capacity: { cpu: '2', memory: '4Gi', pods: '110' }, nodeInfo: { operatingSystem: 'linux' } },
    });
    expect(condition(node, 'Ready')).toBe('True');
    expect(await rig.lease('n-1')).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'Node', uid: node?.metadata.uid }] },
      spec: { holderIdentity: 'n-1', leaseDurationSeconds: 40 },
    });
    const writes = rig.kubeletRequests().filter(({ method }) => method !== 'GET');
    expect(writes.map(({ verb, resource }) => `${verb} ${resource}`)).toEqual(['create nodes', 'create leases']);
  });

  test('a booting kubelet writes only its Lease while nothing changes', async () => {
    await using rig = await joinRig(startControlPlane);
    await rig.launch({ name: 'n-1' });
    await rig.clock.advance(10);
    const before = rig.kubeletRequests().length;
    await rig.clock.advance(120_000);
    const since = rig.kubeletRequests().slice(before);
    expect(new Set(since.map(({ verb, resource }) => `${verb} ${resource}`))).toEqual(new Set(['patch leases']));
    expect(since.length).toBeGreaterThanOrEqual(12);
    expect(since.length).toBeLessThanOrEqual(13);
    await rig.clock.advance(200_000);
    const beats = rig.kubeletRequests().filter(({ subresource }) => subresource === 'status');
    expect(beats).toHaveLength(1);
  });

  test('a booting kubelet can join and become ready slowly', async () => {
    await using rig = await joinRig(startControlPlane);
    await rig.launch({ name: 'n-1', userData: 'behaviour: {joinDelay: 30s, readyDelay: 20s}' });
    await rig.clock.advance(29_000);
    expect(await rig.node('n-1')).toBeUndefined();
    await rig.clock.advance(2_000);
    expect(condition(await rig.node('n-1'), 'Ready')).toBe('False');
    await rig.clock.advance(20_000);
    expect(condition(await rig.node('n-1'), 'Ready')).toBe('True');
  });

  test('a booting kubelet never joins if requested, until another request', async () => {
    await using rig = await joinRig(startControlPlane);
    await rig.call('POST', '/faults', { operation: 'instances.boot', instance: 'bad-*', kubelet: { join: 'never' } });
    const { id } = await rig.launch({ name: 'bad-1' });
    await rig.launch({ name: 'good-1' });
    await rig.clock.advance(600_000);
    expect([await rig.node('bad-1'), (await rig.node('good-1'))?.metadata.name]).toEqual([undefined, 'good-1']);
    const { body } = await rig.call('GET', `/v1/instances/${id}/console`);
    expect(body.output).toContain('this machine does not join');
    await rig.call('PUT', `/v1/instances/${id}/kubelet`, { join: 'normal' });
    await rig.clock.advance(1_000);
    expect(await rig.node('bad-1')).toBeDefined();
  });

  test('a booting kubelet reports on its console why the user data is invalid', async () => {
    await using rig = await joinRig(startControlPlane);
    const { id } = await rig.launch({ name: 'n-1', userData: 'taints: [{effect: NoSchedule}]' });
    await rig.clock.advance(60_000);
    expect(await rig.node('n-1')).toBeUndefined();
    const { body } = await rig.call('GET', `/v1/instances/${id}/console`);
    expect(body.output).toMatch(/user data: taints\.0\.key: /);
  });

  test('a booting kubelet registers with the labels and taints of its user data', async () => {
    await using rig = await joinRig(startControlPlane);
    const userData =
      '#cloud-config\nkubelet:\n  nodeLabels: {pool: a}\n  taints: [{key: dedicated, value: x, effect: NoSchedule}]\n';
    await rig.launch({ name: 'n-1', userData });
    await rig.clock.advance(10);
    const node = await rig.node('n-1');
    expect(node?.metadata.labels).toMatchObject({ pool: 'a' });
    // The API server in the test adds its own taint to every new node.
    expect(node?.spec.taints).toContainEqual({ key: 'dedicated', value: 'x', effect: 'NoSchedule' });
  });

  test('a booting kubelet joins when the API server becomes available', async () => {
    let down = true;
    await using rig = await joinRig(startControlPlane, {
      between: (fetch) => async (request) => {
        if (down) throw new Error('connect ECONNREFUSED');
        return fetch(request);
      },
    });
    const { id } = await rig.launch({ name: 'n-1' });
    await rig.clock.advance(60_000);
    const { body } = await rig.call('GET', `/v1/instances/${id}/console`);
    expect(body.output.match(/retrying/g)).toHaveLength(1);
    down = false;
    await rig.clock.advance(8_000);
    expect(condition(await rig.node('n-1'), 'Ready')).toBe('True');
  });

  test('a booting kubelet takes over an existing Node with its name', async () => {
    await using rig = await joinRig(startControlPlane);
    await rig.client.resource(nodes).create({ metadata: { name: 'n-1', labels: { old: 'yes' } }, spec: {} });
    const { id } = await rig.launch({ name: 'n-1', zone: 'local-a' });
    await rig.clock.advance(10);
    const node = await rig.node('n-1');
    expect(node).toMatchObject({
      spec: { providerID: `local:///local-a/${id}` },
      metadata: { labels: { old: 'yes' } },
    });
    expect(condition(node, 'Ready')).toBe('True');
  });
});

describe('a running kubelet', () => {
  test('a running kubelet reports the requested conditions, and keeps conditions of other writers', async () => {
    await using rig = await joinRig(startControlPlane);
    const { id } = await rig.launch({ name: 'n-1' });
    await rig.clock.advance(10);
    const foreign = { type: 'Terminating', status: 'True' as const, reason: 'x', message: 'y', ...times };
    await rig.client
      .resource(nodes)
      .patch('n-1', { type: 'strategic', body: { status: { conditions: [foreign] } } }, { subresource: 'status' });
    await rig.call('PUT', `/v1/instances/${id}/kubelet`, { ready: false, conditions: { KernelDeadlock: 'True' } });
    await rig.clock.advance(10);
    const node = await rig.node('n-1');
    expect(['Ready', 'KernelDeadlock', 'Terminating'].map((type) => condition(node, type))).toEqual([
      'False',
      'True',
      'True',
    ]);
    await rig.call('PUT', `/v1/instances/${id}/kubelet`, { ready: true });
    await rig.clock.advance(10);
    expect(condition(await rig.node('n-1'), 'Ready')).toBe('True');
  });

  test('a running kubelet becomes unreachable, and recovers with its Lease and status', async () => {
    await using rig = await joinRig(startControlPlane);
    const { id } = await rig.launch({ name: 'n-1' });
    await rig.clock.advance(10);
    await rig.call('PUT', `/v1/instances/${id}/kubelet`, { silent: true });
    const before = rig.kubeletRequests().length;
    await rig.clock.advance(600_000);
    expect(rig.kubeletRequests().length).toBe(before);
    const unknown = { type: 'Ready', status: 'Unknown' as const, reason: 'NodeStatusUnknown', message: '', ...times };
    await rig.client
      .resource(nodes)
      .patch('n-1', { type: 'strategic', body: { status: { conditions: [unknown] } } }, { subresource: 'status' });
    await rig.call('PUT', `/v1/instances/${id}/kubelet`, { silent: false });
    await rig.clock.advance(10);
    const back = await rig.node('n-1');
    expect(condition(back, 'Ready')).toBe('True');
    // A change of the condition from Unknown to True is a transition, even if the last report of the kubelet was True.
    const ready = back?.status?.conditions?.find(({ type }) => type === 'Ready');
    expect(Date.parse(ready?.lastTransitionTime ?? '')).toBeGreaterThanOrEqual(Date.parse('2026-01-01T00:10:00Z'));
    expect(Date.parse(String((await rig.lease('n-1'))?.spec?.renewTime))).toBeGreaterThan(
      Date.parse('2026-01-01T00:10:00Z'),
    );
  });

  test.each([
    ['longer than its Lease', 60_000],
    ['one renewal', 12_000],
  ])('a running kubelet reports its status again after it could not reach the server for %s', async (_title, ms) => {
    let down = false;
    await using rig = await joinRig(startControlPlane, {
      between: (fetch) => async (request) => {
        if (down) throw new Error('connect ECONNREFUSED');
        return fetch(request);
      },
    });
    await rig.launch({ name: 'n-1' });
    await rig.clock.advance(10);
    down = true;
    await rig.clock.advance(ms);
    down = false;
    await rig.clock.advance(3_000);
    expect(rig.kubeletRequests().filter(({ subresource }) => subresource === 'status')).toHaveLength(1);
    expect(rig.log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toContain(
      'connecting to the API server failed; retrying until success',
    );
  });

  test('a running kubelet does not register again when its Node is deleted while it runs', async () => {
    await using rig = await joinRig(startControlPlane);
    await rig.launch({ name: 'n-1' });
    await rig.clock.advance(10);
    await rig.client.resource(nodes).delete('n-1');
    // The garbage collector deletes the Lease of a deleted Node.
    await rig.client.resource(leases, 'kube-node-lease').delete('n-1');
    await rig.clock.advance(700_000);
    expect([await rig.node('n-1'), await rig.lease('n-1')]).toEqual([undefined, undefined]);
  });

  test('a running kubelet ends with its instance, and leaves its Node to the controllers', async () => {
    await using rig = await joinRig(startControlPlane);
    const { id } = await rig.launch({ name: 'n-1' });
    await rig.clock.advance(10);
    await rig.callAndWait('DELETE', `/v1/instances/${id}?wait=terminated`);
    const before = rig.kubeletRequests().length;
    await rig.clock.advance(600_000);
    expect(await rig.node('n-1')).toBeDefined();
    expect(rig.kubeletRequests().filter(({ verb }) => !['watch', 'list'].includes(verb)).length).toBeLessThanOrEqual(
      before,
    );
  });

  test('running requests are answered before a powered-off instance counts as terminated', async () => {
    const gate = Promise.withResolvers<void>();
    let held = false;
    await using rig = await joinRig(startControlPlane, {
      between: (fetch) => async (request) => {
        if (request.method === 'POST' && request.url.endsWith('/nodes')) {
          held = true;
          await gate.promise;
        }
        return fetch(request);
      },
    });
    const { id } = await rig.launch({ name: 'n-1' });
    await rig.clock.advance(10);
    expect(held).toBe(true);
    await rig.call('DELETE', `/v1/instances/${id}`);
    await rig.clock.advance(1_000);
    expect((await rig.call('GET', `/v1/instances/${id}`)).body.state).toBe('shutting-down');
    gate.resolve();
    await rig.clock.advance(10);
    expect((await rig.call('GET', `/v1/instances/${id}`)).body.state).toBe('terminated');
    expect(await rig.lease('n-1')).toBeUndefined();
  });
});

describe('a restart of the cloud’s process', () => {
  test('a restart of the cloud resumes kubelets without creating anything again', async () => {
    const store = new MemoryStore();
    await using first = await joinRig(startControlPlane, { store });
    await first.launch({ name: 'n-1' });
    await first.clock.advance(10);
    const uid = (await first.node('n-1'))?.metadata.uid;
    await first.cloud.close();
    await first.clock.advance(20_000);
    const seen = first.kubeletRequests().length;
    await using second = await joinRig(startControlPlane, { store, plane: first.plane, clock: first.clock });
    await second.clock.advance(1_000);
    const since = first.kubeletRequests().slice(seen);
    expect(since.map(({ verb, resource }) => `${verb} ${resource}`)).toEqual(['get nodes', 'patch leases']);
    expect((await second.node('n-1'))?.metadata.uid).toBe(uid);
  });

  test('a kubelet registers again after a restart if the Node was deleted in the meantime', async () => {
    const store = new MemoryStore();
    await using first = await joinRig(startControlPlane, { store });
    await first.launch({ name: 'n-1' });
    await first.clock.advance(10);
    await first.cloud.close();
    await first.client.resource(nodes).delete('n-1');
    await using second = await joinRig(startControlPlane, { store, plane: first.plane, clock: first.clock });
    await second.clock.advance(3_000);
    expect(condition(await second.node('n-1'), 'Ready')).toBe('True');
  });

  test('a kubelet joins after a restart although its bootstrap token was deleted, if the token was accepted before', async () => {
    const store = new MemoryStore();
    const noLeases: JoinRigOptions['between'] = (fetch) => async (request) =>
      request.url.includes('/leases') ? new Response(null, { status: 503 }) : fetch(request);
    await using first = await joinRig(startControlPlane, { store, between: noLeases });
    const data = { 'token-id': 'abcdef', 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true' };
    const tokens = first.client.resource(secrets, 'kube-system');
    await tokens.create({
      metadata: { name: 'bootstrap-token-abcdef' },
      type: 'bootstrap.kubernetes.io/token',
      stringData: data,
    });
    await first.launch({ name: 'n-1', userData: 'bootstrapToken: abcdef.0123456789abcdef' });
    await first.clock.advance(10);
    expect(await first.node('n-1')).toBeDefined();
    await first.cloud.close();
    await tokens.delete('bootstrap-token-abcdef');
    await using second = await joinRig(startControlPlane, { store, plane: first.plane, clock: first.clock });
    await second.clock.advance(10_000);
    expect(await second.lease('n-1')).toBeDefined();
  });
});
