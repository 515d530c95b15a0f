import { startControlPlane } from '@mcm/control-plane';
import { nodes, persistentVolumeClaims, persistentVolumes, pods } from '@mcm/kube';
import { expect, test } from 'vitest';
import { condition, type JoinRig, joinRig } from '../../testing/join-rig.ts';

async function withNode(options: Parameters<typeof joinRig>[1] = {}): Promise<JoinRig> {
  const rig = await joinRig(startControlPlane, options);
  await rig.launch({ name: 'n-1' });
  await rig.clock.advance(10);
  return rig;
}

const remove = (rig: JoinRig, name: string, gracePeriodSeconds?: number) =>
  rig.client.resource(pods, 'default').delete(name, gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds });

const podRequests = (rig: JoinRig) =>
  rig
    .kubeletRequests()
    .filter(({ resource }) => resource === 'pods')
    .map(({ verb }) => verb);

test('a pod bound to the node runs, with one write', async () => {
  await using rig = await withNode();
  await rig.run('n-1', 'web', { spec: { initContainers: [{ name: 'init', image: 'i:1' }] } });
  await rig.clock.advance(10);
  const pod = await rig.pod('web');
  expect(pod?.status).toMatchObject({
    phase: 'Running',
    hostIP: '10.180.0.10',
    podIP: '10.181.10.2',
    initContainerStatuses: [{ name: 'init', state: { terminated: { exitCode: 0, reason: 'Completed' } } }],
    containerStatuses: [{ name: 'main', ready: true, started: true, restartCount: 0, image: 'app:1' }],
  });
  expect(['Ready', 'ContainersReady', 'Initialized'].map((type) => condition(pod, type))).toEqual([
    'True',
    'True',
    'True',
  ]);
  expect(podRequests(rig)).toEqual(['patch']);
});

test('pods get their own addresses, which are free again after their deletion', async () => {
  await using rig = await withNode();
  for (const name of ['a', 'b', 'c']) await rig.run('n-1', name);
  await rig.clock.advance(10);
  await remove(rig, 'b', 0);
  await rig.clock.advance(10);
  await rig.run('n-1', 'd');
  await rig.clock.advance(10);
  const ips = await Promise.all(['a', 'c', 'd'].map(async (name) => (await rig.pod(name))?.status?.podIP));
  expect(ips).toEqual(['10.181.10.2', '10.181.10.4', '10.181.10.3']);
});

test('pods of other nodes are ignored, and pods that were bound before the node joined are run', async () => {
  await using rig = await joinRig(startControlPlane);
  await rig.run('n-1', 'early');
  await rig.run('elsewhere', 'other');
  await rig.launch({ name: 'n-1' });
  await rig.clock.advance(100);
  expect([(await rig.pod('early'))?.status?.phase, (await rig.pod('other'))?.status?.phase]).toEqual([
    'Running',
    'Pending',
  ]);
});

test('a pod becomes ready at the time in its annotation', async () => {
  await using rig = await withNode();
  await rig.run('n-1', 'slow', { metadata: { annotations: { 'kubelet.local.mcm/ready-after': '20s' } } });
  await rig.clock.advance(19_000);
  expect([condition(await rig.pod('slow'), 'Ready'), (await rig.pod('slow'))?.status?.phase]).toEqual([
    'False',
    'Running',
  ]);
  await rig.clock.advance(1_100);
  expect(condition(await rig.pod('slow'), 'Ready')).toBe('True');
});

test.each([
  ['Never', '0', 'Succeeded'],
  ['Never', '3', 'Failed'],
  ['OnFailure', '3', 'Succeeded'],
  ['Always', '0', 'Running'],
])(
  'containers that end without a deletion: restartPolicy %s, exit code %s → %s',
  async (restartPolicy, exitCode, phase) => {
    await using rig = await withNode();
    const annotations = { 'kubelet.local.mcm/run-for': '5s', 'kubelet.local.mcm/exit-code': exitCode };
    await rig.run('n-1', 'task', { metadata: { annotations }, spec: { restartPolicy } });
    await rig.clock.advance(4_000);
    expect((await rig.pod('task'))?.status?.phase).toBe('Running');
    await rig.clock.advance(2_000);
    expect((await rig.pod('task'))?.status?.phase).toBe(phase);
  },
);

test('the pod of a Job ends without a deletion', async () => {
  await using rig = await withNode();
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'u', controller: true };
  await rig.run('n-1', 'j-1', { metadata: { ownerReferences: [owner] }, spec: { restartPolicy: 'Never' } });
  await rig.clock.advance(3_000);
  expect((await rig.pod('j-1'))?.status).toMatchObject({
    phase: 'Succeeded',
    containerStatuses: [{ state: { terminated: { exitCode: 0 } } }],
  });
});

test('a deleted pod uses its grace period, and is then removed with one more request', async () => {
  await using rig = await withNode();
  await rig.run('n-1', 'web', { spec: { terminationGracePeriodSeconds: 25 } });
  await rig.clock.advance(1_000);
  await remove(rig, 'web');
  await rig.clock.advance(23_500);
  expect((await rig.pod('web'))?.metadata.deletionGracePeriodSeconds).toBe(25);
  await rig.clock.advance(2_000);
  expect(await rig.pod('web')).toBeUndefined();
  expect(podRequests(rig)).toEqual(['patch', 'delete']);
});

test.each([
  ['immediate', 1_000],
  ['4s', 5_000],
  ['10m', 26_000],
])('containers that need %s to end', async (wish, gone) => {
  await using rig = await withNode();
  const metadata = { annotations: { 'kubelet.local.mcm/shutdown-after': wish } };
  await rig.run('n-1', 'web', { metadata, spec: { terminationGracePeriodSeconds: 25 } });
  await rig.clock.advance(1_000);
  await remove(rig, 'web');
  await rig.clock.advance(gone - 1_500);
  if (wish !== 'immediate') expect(await rig.pod('web')).toBeDefined();
  await rig.clock.advance(1_500);
  expect(await rig.pod('web')).toBeUndefined();
});

test('a second deletion with a shorter grace period counts', async () => {
  await using rig = await withNode();
  await rig.run('n-1', 'web', { spec: { terminationGracePeriodSeconds: 600 } });
  await rig.clock.advance(1_000);
  await remove(rig, 'web');
  await rig.clock.advance(1_000);
  await remove(rig, 'web', 5);
  await rig.clock.advance(3_000);
  expect(await rig.pod('web')).toBeDefined();
  await rig.clock.advance(4_000);
  expect(await rig.pod('web')).toBeUndefined();
});

test('a finalizer keeps a pod that has ended, and the kubelet does not repeat its request', async () => {
  await using rig = await withNode();
  await rig.run('n-1', 'held', {
    metadata: { finalizers: ['example.com/hold'] },
    spec: { terminationGracePeriodSeconds: 2 },
  });
  await rig.clock.advance(1_000);
  await remove(rig, 'held');
  await rig.clock.advance(60_000);
  const pod = await rig.pod('held');
  expect([pod?.status?.phase, pod?.metadata.deletionGracePeriodSeconds]).toEqual(['Failed', 0]);
  expect(podRequests(rig)).toEqual(['patch', 'patch', 'delete']);
  await rig.client.resource(pods, 'default').patch('held', { type: 'merge', body: { metadata: { finalizers: null } } });
  await rig.clock.advance(10);
  expect(await rig.pod('held')).toBeUndefined();
});

test('a pod of the same name is another pod', async () => {
  await using rig = await withNode();
  await rig.run('n-1', 'web');
  await rig.clock.advance(10);
  await remove(rig, 'web', 0);
  await rig.run('n-1', 'web');
  await rig.clock.advance(10);
  expect((await rig.pod('web'))?.status?.phase).toBe('Running');
});

test('an unreachable kubelet starts and ends no pods; after its recovery it does both', async () => {
  await using rig = await withNode();
  await rig.run('n-1', 'old', { spec: { terminationGracePeriodSeconds: 1 } });
  await rig.clock.advance(10);
  const [instance] = [...rig.cloud.instances.list()];
  await rig.call('PUT', `/v1/instances/${instance?.id}/kubelet`, { silent: true });
  await remove(rig, 'old');
  await rig.run('n-1', 'new');
  await rig.clock.advance(60_000);
  expect([await rig.pod('old'), (await rig.pod('new'))?.status?.phase]).toMatchObject([{}, 'Pending']);
  await rig.call('PUT', `/v1/instances/${instance?.id}/kubelet`, { silent: false });
  await rig.clock.advance(100);
  expect([await rig.pod('old'), (await rig.pod('new'))?.status?.phase]).toEqual([undefined, 'Running']);
});

test('pods are kept after the end of their machine, because no kubelet ends them', async () => {
  await using rig = await withNode();
  await rig.run('n-1', 'web', { spec: { terminationGracePeriodSeconds: 1 } });
  await rig.clock.advance(10);
  const [instance] = [...rig.cloud.instances.list()];
  await rig.callAndWait('DELETE', `/v1/instances/${instance?.id}?wait=terminated`);
  await remove(rig, 'web');
  await rig.clock.advance(60_000);
  expect((await rig.pod('web'))?.metadata.deletionTimestamp).toBeDefined();
});

test('a failed request to an unreliable server is repeated', async () => {
  let failures = 3;
  await using rig = await withNode({
    between: (fetch) => async (request) => {
      if (request.method === 'PATCH' && request.url.includes('/pods/') && failures-- > 0)
        return new Response('{}', { status: 500 });
      return fetch(request);
    },
  });
  await rig.run('n-1', 'web');
  await rig.clock.advance(10_000);
  expect((await rig.pod('web'))?.status?.phase).toBe('Running');
  expect(rig.log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
});

test('a static pod has a mirror pod, which is created again after its deletion', async () => {
  await using rig = await joinRig(startControlPlane);
  await rig.launch({ name: 'n-1', userData: 'staticPods: [{name: proxy}]' });
  await rig.clock.advance(100);
  const mirrors = rig.client.resource(pods, 'kube-system');
  const first = await mirrors.get('proxy-n-1');
  expect(first).toMatchObject({ status: { phase: 'Running', podIP: '10.180.0.10' }, spec: { nodeName: 'n-1' } });
  expect(Object.keys(first.metadata.annotations ?? {})).toContain('kubernetes.io/config.mirror');
  await mirrors.delete('proxy-n-1');
  await rig.clock.advance(1_000);
  const second = await mirrors.get('proxy-n-1');
  expect([second.metadata.uid === first.metadata.uid, second.status?.phase]).toEqual([false, 'Running']);
});

test('a pod waits for its volumes, and its Node lists the volumes in use', async () => {
  await using rig = await withNode();
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: 'x' };
  const csi = { driver: 'csi.example.com', volumeHandle: 'vol-1' };
  await rig.client.resource(persistentVolumes).create({
    metadata: { name: 'pv-1' },
    spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, csi, storageClassName: 'x' },
  });
  await rig.client.resource(persistentVolumeClaims, 'default').create({ metadata: { name: 'data' }, spec: claim });
  await rig.run('n-1', 'db', {
    spec: {
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    },
  });
  await rig.clock.advance(5_000);
  expect([(await rig.pod('db'))?.status?.phase, (await rig.node('n-1'))?.status?.volumesInUse]).toEqual([
    'Pending',
    undefined,
  ]);
  const bound = { spec: { volumeName: 'pv-1' } };
  await rig.client.resource(persistentVolumeClaims, 'default').patch('data', { type: 'merge', body: bound });
  await rig.clock.advance(5_000);
  const name = 'kubernetes.io/csi/csi.example.com^vol-1';
  expect([(await rig.pod('db'))?.status?.phase, (await rig.node('n-1'))?.status?.volumesInUse]).toEqual([
    'Pending',
    [name],
  ]);
  const status = { volumesAttached: [{ name, devicePath: '' }] };
  await rig.client.resource(nodes).patch('n-1', { type: 'merge', body: { status } }, { subresource: 'status' });
  await rig.clock.advance(100);
  expect((await rig.pod('db'))?.status?.phase).toBe('Running');
  await remove(rig, 'db');
  await rig.clock.advance(2_000);
  expect([await rig.pod('db'), (await rig.node('n-1'))?.status?.volumesInUse ?? []]).toEqual([undefined, []]);
});
