import { expect, test } from 'vitest';
import { TestPlane } from '../testing.ts';

const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';
const PODS = '/api/v1/namespaces/default/pods';
const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments';

const volume = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'pv' },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'fast',
    csi: { driver: 'csi.example.dev', volumeHandle: 'h-1' },
  },
};
const claim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'c' },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'fast',
    resources: { requests: { storage: '1Gi' } },
  },
};
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: {
    nodeName: 'n',
    containers: [{ name: 'c', image: 'i' }],
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
  },
};

test('a claim is bound; its volume is attached while a pod uses it or a node has it mounted', async () => {
  await using plane = await TestPlane.start('persistentvolume-binder', 'attachdetach', 'pvc-protection');
  await plane.must('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
  await plane.must('POST', CLAIMS, claim);
  await plane.must('POST', '/api/v1/persistentvolumes', volume);
  expect((await plane.must('GET', `${CLAIMS}/c`))['status']).toMatchObject({ phase: 'Bound' });
  expect((await plane.must('GET', '/api/v1/persistentvolumes/pv'))['status']).toMatchObject({ phase: 'Bound' });

  await plane.must('POST', PODS, pod);
  const [attachment] = await plane.list(ATTACHMENTS);
  expect(attachment).toMatchObject({
    spec: { nodeName: 'n', attacher: 'csi.example.dev' },
    status: { attached: true },
  });
  const node = await plane.must('GET', '/api/v1/nodes/n');
  const name = 'kubernetes.io/csi/csi.example.dev^h-1';
  expect(node['status']).toMatchObject({ volumesAttached: [{ name }] });

  await plane.patch('/api/v1/nodes/n/status', { status: { volumesInUse: [name] } });
  await plane.must('DELETE', `${CLAIMS}/c`);
  expect(await plane.exists(`${CLAIMS}/c`)).toBe(true);
  await plane.must('DELETE', `${PODS}/p?gracePeriodSeconds=0`);
  expect(await plane.exists(`${CLAIMS}/c`)).toBe(false);
  expect(await plane.list(ATTACHMENTS)).toHaveLength(1);

  await plane.patch('/api/v1/nodes/n/status', { status: { volumesInUse: null } });
  expect(await plane.list(ATTACHMENTS)).toHaveLength(0);
  expect((await plane.must('GET', '/api/v1/nodes/n'))['status']).not.toHaveProperty('volumesAttached');
  expect((await plane.must('GET', '/api/v1/persistentvolumes/pv'))['status']).toMatchObject({ phase: 'Released' });
  expect(plane.errors).toEqual([]);
});

async function leftMounted(plane: TestPlane, ready: string): Promise<void> {
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } };
  await plane.must('POST', '/api/v1/nodes', { ...node, status: { conditions: [{ type: 'Ready', status: ready }] } });
  await plane.must('POST', CLAIMS, claim);
  await plane.must('POST', '/api/v1/persistentvolumes', volume);
  await plane.must('POST', PODS, pod);
  const volumesInUse = ['kubernetes.io/csi/csi.example.dev^h-1'];
  await plane.patch('/api/v1/nodes/n/status', { status: { volumesInUse } });
  await plane.must('DELETE', `${PODS}/p?gracePeriodSeconds=0`);
}

test.each([
  ['False', 0],
  ['True', 1],
])('a node with Ready=%s that does not unmount has %i attachments left after six minutes', async (ready, left) => {
  await using plane = await TestPlane.start('persistentvolume-binder', 'attachdetach');
  await leftMounted(plane, ready);
  await plane.clock.advance(6 * 60_000 - 1000);
  expect(await plane.list(ATTACHMENTS)).toHaveLength(1);
  await plane.clock.advance(2000);
  expect(await plane.list(ATTACHMENTS)).toHaveLength(left);
  expect(plane.errors).toEqual([]);
});

test('a node out of service loses its dying pods and its volumes at once', async () => {
  await using plane = await TestPlane.start('persistentvolume-binder', 'attachdetach', 'pod-garbage-collector');
  await leftMounted(plane, 'False');
  await plane.must('POST', PODS, { ...pod, metadata: { name: 'dying' } });
  await plane.must('DELETE', `${PODS}/dying`);
  expect(await plane.exists(`${PODS}/dying`)).toBe(true);
  const taint = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' };
  await plane.patch('/api/v1/nodes/n', { spec: { taints: [taint] } });
  expect(await plane.exists(`${PODS}/dying`)).toBe(false);
  expect(await plane.list(ATTACHMENTS)).toHaveLength(0);
  expect(plane.errors).toEqual([]);
});

/** Creates a second node with a pod that needs the volume of the first node. */
async function wantedTwice(plane: TestPlane, accessModes: string[]): Promise<void> {
  for (const name of ['n', 'm']) {
    await plane.must('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  }
  await plane.must('POST', CLAIMS, { ...claim, spec: { ...claim.spec, accessModes } });
  await plane.must('POST', '/api/v1/persistentvolumes', { ...volume, spec: { ...volume.spec, accessModes } });
  await plane.must('POST', PODS, pod);
  await plane.must('POST', PODS, { ...pod, metadata: { name: 'q' }, spec: { ...pod.spec, nodeName: 'm' } });
}

const nodesOf = async (plane: TestPlane): Promise<unknown[]> =>
  (await plane.list(ATTACHMENTS)).map(({ spec }) => (spec as { nodeName: string }).nodeName).sort();

const reportedOf = async (plane: TestPlane, name: string): Promise<string[]> =>
  (await plane.list('/api/v1/namespaces/default/events'))
    .filter((event) => (event['involvedObject'] as { name: string }).name === name)
    .map((event) => `${event['type']} ${event['reason']}: ${event['message']}`);

test('Multi-Attach: a volume for one node waits until the other node detached it, and the pod reports it', async () => {
  await using plane = await TestPlane.start('persistentvolume-binder', 'attachdetach');
  await wantedTwice(plane, ['ReadWriteOnce']);
  expect(await nodesOf(plane)).toEqual(['n']);
  expect(await reportedOf(plane, 'p')).toEqual([
    'Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pv" ',
  ]);
  expect(await reportedOf(plane, 'q')).toEqual([
    'Warning FailedAttachVolume: Multi-Attach error for volume "pv" Volume is already used by pod(s) p',
  ]);
  await plane.must('DELETE', `${PODS}/p?gracePeriodSeconds=0`);
  expect(await nodesOf(plane)).toEqual(['m']);
  expect(plane.errors).toEqual([]);
});

test('Multi-Attach: a ReadWriteMany volume is attached to both nodes', async () => {
  await using plane = await TestPlane.start('persistentvolume-binder', 'attachdetach');
  await wantedTwice(plane, ['ReadWriteMany']);
  expect(await nodesOf(plane)).toEqual(['m', 'n']);
});

test('volumes of a deleted node are detached after six minutes', async () => {
  await using plane = await TestPlane.start('persistentvolume-binder', 'attachdetach');
  await leftMounted(plane, 'True');
  await plane.must('DELETE', '/api/v1/nodes/n');
  await plane.clock.advance(6 * 60_000 - 1000);
  expect(await plane.list(ATTACHMENTS)).toHaveLength(1);
  await plane.clock.advance(2000);
  expect(await plane.list(ATTACHMENTS)).toHaveLength(0);
});

test('ephemeral-volume: a pod gets its own claims, and does not use foreign ones', async () => {
  await using plane = await TestPlane.start('ephemeral-volume', 'garbage-collector');
  const volumeClaimTemplate = { metadata: { labels: { a: 'b' } }, spec: claim.spec };
  const withEphemeral = (name: string) => ({
    ...pod,
    metadata: { name },
    spec: { ...pod.spec, volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate } }] },
  });
  await plane.must('POST', PODS, withEphemeral('e'));
  const made = await plane.must('GET', `${CLAIMS}/e-v`);
  expect(made.metadata).toMatchObject({ labels: { a: 'b' }, ownerReferences: [{ kind: 'Pod', name: 'e' }] });
  await plane.must('DELETE', `${PODS}/e?gracePeriodSeconds=0`);
  expect((await plane.must('GET', `${CLAIMS}/e-v`)).metadata.deletionTimestamp).toBeDefined();

  await plane.must('POST', CLAIMS, { ...claim, metadata: { name: 'f-v' } });
  await plane.must('POST', PODS, withEphemeral('f'));
  expect(await reportedOf(plane, 'f')).toEqual([
    'Warning FailedBinding: ephemeral volume v: PVC default/f-v was not created for pod default/f (pod is not owner)',
  ]);
});

test('an attachment that another client created is neither deleted nor reported as attached', async () => {
  await using plane = await TestPlane.start('attachdetach');
  await plane.must('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
  await plane.must('POST', '/api/v1/persistentvolumes', volume);
  for (const persistentVolumeName of ['pv', 'missing']) {
    const source = { persistentVolumeName };
    const spec = { attacher: 'csi.example.dev', nodeName: 'n', source };
    const metadata = { name: `of-${persistentVolumeName}` };
    await plane.must('POST', ATTACHMENTS, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata,
      spec,
    });
  }
  expect((await plane.list(ATTACHMENTS)).map(({ status }) => status)).toEqual([
    { attached: false },
    { attached: false },
  ]);
  expect((await plane.must('GET', '/api/v1/nodes/n'))['status']).not.toHaveProperty('volumesAttached');
  expect(plane.errors).toEqual([]);
});

const CLASSES = '/apis/storage.k8s.io/v1/volumeattributesclasses';
const modifiable = { ...claim, spec: { ...claim.spec, volumeAttributesClassName: 'gold' } };

test.each<[user: string, path: string, body: object, end: { patch: object; subresource: string } | undefined]>([
  ['a claim names it', CLAIMS, modifiable, undefined],
  [
    'a claim has it',
    CLAIMS,
    { ...claim, status: { currentVolumeAttributesClassName: 'gold' } },
    { patch: { status: { currentVolumeAttributesClassName: null } }, subresource: '/status' },
  ],
  [
    'a claim will have it',
    CLAIMS,
    { ...claim, status: { modifyVolumeStatus: { targetVolumeAttributesClassName: 'gold', status: 'InProgress' } } },
    { patch: { status: { modifyVolumeStatus: null } }, subresource: '/status' },
  ],
  [
    'a volume has it',
    '/api/v1/persistentvolumes',
    { ...volume, spec: { ...volume.spec, volumeAttributesClassName: 'gold' } },
    undefined,
  ],
])('a deleted VolumeAttributesClass exists as long as %s', async (_user, path, body, end) => {
  await using plane = await TestPlane.start('volumeattributesclass-protection');
  const kind = 'VolumeAttributesClass';
  const fresh = {
    apiVersion: 'storage.k8s.io/v1',
    kind,
    metadata: { name: 'gold' },
    driverName: 'd.example',
    parameters: { a: 'b' },
  };
  await plane.must('POST', CLASSES, fresh);
  const user = await plane.must('POST', path, body);
  const { name } = user['metadata'] as { name: string };
  const { status } = body as { status?: object };
  if (status !== undefined) await plane.patch(`${path}/${name}/status`, { status });
  await plane.must('DELETE', `${CLASSES}/gold`);
  expect(await plane.exists(`${CLASSES}/gold`)).toBe(true);
  if (end !== undefined) await plane.patch(`${path}/${name}${end.subresource}`, end.patch);
  else {
    await plane.patch(`${path}/${name}`, { metadata: { finalizers: null } });
    await plane.must('DELETE', `${path}/${name}`);
  }
  expect(await plane.exists(`${CLASSES}/gold`)).toBe(false);
  expect(plane.errors).toEqual([]);
});

test('a VolumeAttributesClass without users is deleted at once, and a lost finalizer is restored', async () => {
  await using plane = await TestPlane.start('volumeattributesclass-protection');
  const kind = 'VolumeAttributesClass';
  const fresh = {
    apiVersion: 'storage.k8s.io/v1',
    kind,
    metadata: { name: 'gold' },
    driverName: 'd.example',
    parameters: { a: 'b' },
  };
  await plane.must('POST', CLASSES, fresh);
  await plane.patch(`${CLASSES}/gold`, { metadata: { finalizers: null } });
  expect((await plane.must('GET', `${CLASSES}/gold`))['metadata']).toMatchObject({
    finalizers: ['kubernetes.io/vac-protection'],
  });
  await plane.must('DELETE', `${CLASSES}/gold`);
  expect(await plane.exists(`${CLASSES}/gold`)).toBe(false);
  expect(plane.errors).toEqual([]);
});
