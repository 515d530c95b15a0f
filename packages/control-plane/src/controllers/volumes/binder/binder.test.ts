import { expect, test } from 'vitest';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { TestPlane } from '../../testing.ts';

const NAMESPACE = '/api/v1/namespaces/default';
const CLAIMS = `${NAMESPACE}/persistentvolumeclaims`;
const VOLUMES = '/api/v1/persistentvolumes';
const CLASSES = '/apis/storage.k8s.io/v1/storageclasses';

type Fields = Record<string, unknown>;

const claim = (name: string, spec: Fields = {}): Fields => ({
  metadata: { name },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'slow',
    resources: { requests: { storage: '1Gi' } },
    ...spec,
  },
});

const volume = (name: string, storage: string, spec: Fields = {}, metadata: Fields = {}): Fields => ({
  metadata: { name, ...metadata },
  spec: {
    capacity: { storage },
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'slow',
    hostPath: { path: `/tmp/${name}` },
    ...spec,
  },
});

const start = (): Promise<TestPlane> => TestPlane.start('persistentvolume-binder', 'pvc-protection', 'scheduler');
const phase = async (plane: TestPlane, path: string): Promise<unknown> =>
  ((await plane.must('GET', path))['status'] as Fields | undefined)?.['phase'];
const volumeOf = async (plane: TestPlane, name: string): Promise<unknown> =>
  ((await plane.must('GET', `${CLAIMS}/${name}`))['spec'] as Fields)['volumeName'];
const events = async (plane: TestPlane, kind: string): Promise<string[]> =>
  [...(await plane.list(`${NAMESPACE}/events`))]
    .filter((event) => (event['involvedObject'] as Fields)['kind'] === kind)
    .map((event) => `${event['type']} ${event['reason']}: ${event['message']}`);

test('the smallest suitable volume is bound, in two steps with the annotation of the controller', async () => {
  await using plane = await start();
  await plane.must('POST', VOLUMES, volume('big', '10Gi'));
  await plane.must('POST', VOLUMES, volume('fits', '2Gi'));
  await plane.must('POST', VOLUMES, volume('small', '512Mi'));
  await plane.must('POST', CLAIMS, claim('c'));
  const bound = await plane.must('GET', `${CLAIMS}/c`);
  expect(bound).toMatchObject({
    metadata: {
      annotations: { 'pv.kubernetes.io/bind-completed': 'yes', 'pv.kubernetes.io/bound-by-controller': 'yes' },
    },
    spec: { volumeName: 'fits' },
    status: { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '2Gi' } },
  });
  expect(await plane.must('GET', `${VOLUMES}/fits`)).toMatchObject({
    metadata: { annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } },
    spec: { claimRef: { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'c', uid: bound.metadata.uid } },
    status: { phase: 'Bound' },
  });
  expect(await phase(plane, `${VOLUMES}/big`)).toBe('Available');
});

test('a suitable volume with fewer access modes is preferred to a smaller one', async () => {
  await using plane = await start();
  await plane.must('POST', VOLUMES, volume('many', '1Gi', { accessModes: ['ReadWriteOnce', 'ReadWriteMany'] }));
  await plane.must('POST', VOLUMES, volume('few', '5Gi'));
  await plane.must('POST', CLAIMS, claim('c'));
  expect(await volumeOf(plane, 'c')).toBe('few');
});

test.each([
  ['another class', { storageClassName: 'other' }, {}],
  ['another volume mode', { volumeMode: 'Block' }, {}],
  ['other access modes', { accessModes: ['ReadOnlyMany'] }, {}],
  ['labels that the selector does not want', {}, { labels: { tier: 'b' } }],
])('a volume with %s is not bound', async (_what, spec, metadata) => {
  await using plane = await start();
  await plane.must('POST', VOLUMES, volume('v', '1Gi', spec, metadata));
  await plane.must('POST', CLAIMS, claim('c', { selector: { matchLabels: { tier: 'a' } } }));
  expect(await phase(plane, `${CLAIMS}/c`)).toBe('Pending');
  expect(await phase(plane, `${VOLUMES}/v`)).toBe('Available');
});

test('a volume that is reserved for a claim by name waits for it, and stays reserved when the claim is bound elsewhere', async () => {
  await using plane = await start();
  await plane.must('POST', VOLUMES, volume('v', '1Gi', { claimRef: { namespace: 'default', name: 'c' } }));
  expect(await phase(plane, `${VOLUMES}/v`)).toBe('Available');
  await plane.must('POST', CLAIMS, claim('other'));
  expect(await phase(plane, `${CLAIMS}/other`)).toBe('Pending');
  await plane.must('POST', CLAIMS, claim('c'));
  expect(await volumeOf(plane, 'c')).toBe('v');
  expect((await plane.must('GET', `${VOLUMES}/v`)).metadata.annotations).toBeUndefined();
});

test.each([
  ['requested PV is too small', { resources: { requests: { storage: '2Gi' } } }],
  ['storageClassName does not match', { storageClassName: 'other' }],
  ['incompatible volumeMode', { volumeMode: 'Block' }],
  ['incompatible accessMode', { accessModes: ['ReadWriteMany'] }],
])('VolumeMismatch: a claim that names a volume waits with the event: %s', async (why, spec) => {
  await using plane = await start();
  await plane.must('POST', VOLUMES, volume('v', '1Gi'));
  await plane.must('POST', CLAIMS, claim('c', { ...spec, volumeName: 'v' }));
  expect(await phase(plane, `${CLAIMS}/c`)).toBe('Pending');
  expect(await events(plane, 'PersistentVolumeClaim')).toContain(
    `Warning VolumeMismatch: Cannot bind to requested volume "v": ${why}`,
  );
});

test('FailedBinding: no class and no volume, and a named volume that another claim has', async () => {
  await using plane = await start();
  await plane.must('POST', CLAIMS, claim('none', { storageClassName: '' }));
  await plane.must('POST', VOLUMES, volume('v', '1Gi'));
  await plane.must('POST', CLAIMS, claim('first', { volumeName: 'v' }));
  await plane.must('POST', CLAIMS, claim('second', { volumeName: 'v' }));
  expect(await events(plane, 'PersistentVolumeClaim')).toEqual([
    'Normal FailedBinding: no persistent volumes available for this claim and no storage class is set',
    'Warning FailedBinding: volume "v" already bound to a different claim.',
  ]);
});

test('ClaimLost: the volume of a bound claim was deleted; the claim is bound again when the volume exists again', async () => {
  await using plane = await start();
  await plane.must('POST', VOLUMES, volume('v', '1Gi'));
  await plane.must('POST', CLAIMS, claim('c'));
  await plane.must('DELETE', `${VOLUMES}/v`);
  expect(await phase(plane, `${VOLUMES}/v`)).toBe('Bound');
  await plane.patch(`${VOLUMES}/v`, { metadata: { finalizers: null } });
  expect((await plane.must('GET', `${CLAIMS}/c`))['status']).toEqual({ phase: 'Lost' });
  expect(await events(plane, 'PersistentVolumeClaim')).toContain(
    'Warning ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!',
  );
  await plane.must('POST', VOLUMES, volume('v', '1Gi'));
  expect(await phase(plane, `${CLAIMS}/c`)).toBe('Bound');
});

test('ClaimMisbound: a claim is lost when its volume is bound to another claim', async () => {
  await using plane = await start();
  await plane.must('POST', VOLUMES, volume('v', '1Gi'));
  await plane.must('POST', CLAIMS, claim('first', { volumeName: 'v' }));
  const second = claim('second', { volumeName: 'v' });
  await plane.must('POST', CLAIMS, {
    ...second,
    metadata: { name: 'second', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
  });
  expect(await phase(plane, `${CLAIMS}/second`)).toBe('Lost');
  expect(await phase(plane, `${CLAIMS}/first`)).toBe('Bound');
});

async function released(policy: string, spec: Fields = {}): Promise<TestPlane> {
  const plane = await start();
  await plane.must('POST', VOLUMES, volume('v', '1Gi', { persistentVolumeReclaimPolicy: policy, ...spec }));
  await plane.must('POST', CLAIMS, claim('c'));
  expect(await volumeOf(plane, 'c')).toBe('v');
  await plane.must('DELETE', `${CLAIMS}/c`);
  return plane;
}

test('Retain: a released volume remains, and is not bound again', async () => {
  await using plane = await released('Retain');
  expect(await phase(plane, `${VOLUMES}/v`)).toBe('Released');
  await plane.must('POST', CLAIMS, claim('c'));
  expect(await phase(plane, `${CLAIMS}/c`)).toBe('Pending');
});

test('Delete: a released folder is deleted with its claim', async () => {
  await using plane = await released('Delete');
  expect(await plane.exists(`${VOLUMES}/v`)).toBe(false);
});

test('Delete: the deletion of a folder outside /tmp fails with a message', async () => {
  await using plane = await released('Delete', { hostPath: { path: '/srv/x' } });
  expect((await plane.must('GET', `${VOLUMES}/v`))['status']).toMatchObject({
    phase: 'Failed',
    message: 'host_path deleter only supports /tmp/.+ but received provided /srv/x',
  });
});

test('Delete: a volume of an external driver stays Released for its provisioner', async () => {
  await using plane = await released('Delete', {
    hostPath: undefined,
    csi: { driver: 'd.example', volumeHandle: 'h' },
  });
  expect(await phase(plane, `${VOLUMES}/v`)).toBe('Released');
});

test('Recycle: a released folder becomes available again', async () => {
  await using plane = await released('Recycle');
  const free = await plane.must('GET', `${VOLUMES}/v`);
  expect(free['status']).toMatchObject({ phase: 'Available' });
  expect(free['spec']).not.toHaveProperty('claimRef');
  expect(free.metadata.annotations).toBeUndefined();
});

test('Recycle: a volume that cannot be recycled fails', async () => {
  await using plane = await released('Recycle', {
    hostPath: undefined,
    csi: { driver: 'd.example', volumeHandle: 'h' },
  });
  expect((await plane.must('GET', `${VOLUMES}/v`))['status']).toMatchObject({
    phase: 'Failed',
    message: 'No recycler plugin found for the volume!',
  });
});

const giveClass = (plane: TestPlane, name: string, more: Fields = {}): Promise<ApiObject> =>
  plane.must('POST', CLASSES, { metadata: { name }, provisioner: 'kubernetes.io/host-path', ...more });

test('a claim of a hostPath class gets a volume at once, with a finalizer until it is reclaimed', async () => {
  await using plane = await start();
  await giveClass(plane, 'slow');
  const { uid } = (await plane.must('POST', CLAIMS, claim('c'))).metadata;
  expect(await phase(plane, `${CLAIMS}/c`)).toBe('Bound');
  const made = await plane.must('GET', `${VOLUMES}/pvc-${uid}`);
  expect(made).toMatchObject({
    metadata: {
      annotations: { 'pv.kubernetes.io/provisioned-by': 'kubernetes.io/host-path' },
      finalizers: expect.arrayContaining(['kubernetes.io/pv-protection', 'kubernetes.io/pv-controller']),
    },
    spec: { persistentVolumeReclaimPolicy: 'Delete', capacity: { storage: '1Gi' }, storageClassName: 'slow' },
    status: { phase: 'Bound' },
  });
  expect(await events(plane, 'PersistentVolumeClaim')).toEqual([
    `Normal ProvisioningSucceeded: Successfully provisioned volume pvc-${uid} using kubernetes.io/host-path`,
  ]);
  await plane.must('DELETE', `${CLAIMS}/c`);
  expect(await plane.exists(`${VOLUMES}/pvc-${uid}`)).toBe(false);
  expect(plane.errors).toEqual([]);
});

test('a folder with the policy Retain loses the finalizer of the deleter', async () => {
  await using plane = await start();
  await giveClass(plane, 'slow');
  const { uid } = (await plane.must('POST', CLAIMS, claim('c'))).metadata;
  await plane.patch(`${VOLUMES}/pvc-${uid}`, { spec: { persistentVolumeReclaimPolicy: 'Retain' } });
  expect((await plane.must('GET', `${VOLUMES}/pvc-${uid}`)).metadata.finalizers).toEqual([
    'kubernetes.io/pv-protection',
  ]);
});

test.each([
  ['missing', undefined, 'ProvisioningFailed', 'storageclass.storage.k8s.io "slow" not found'],
  [
    'by hand',
    { provisioner: 'kubernetes.io/no-provisioner' },
    'ProvisioningFailed',
    'no volume plugin matched name: kubernetes.io/no-provisioner',
  ],
  ['external', { provisioner: 'd.example' }, 'ExternalProvisioning', "by the external provisioner 'd.example' or"],
  [
    'once inside',
    { provisioner: 'kubernetes.io/aws-ebs' },
    'ExternalProvisioning',
    "by the external provisioner 'ebs.csi.aws.com' or",
  ],
  [
    'with mount options',
    { mountOptions: ['a', 'b'] },
    'ProvisioningFailed',
    'Mount options are not supported by the provisioner but StorageClass "slow" has mount options [a b]',
  ],
])('a claim whose class is %s stays pending with a reason', async (_what, more, reason, message) => {
  await using plane = await start();
  if (more !== undefined) await giveClass(plane, 'slow', more);
  await plane.must('POST', CLAIMS, claim('c'));
  expect(await phase(plane, `${CLAIMS}/c`)).toBe('Pending');
  const [reported = ''] = await events(plane, 'PersistentVolumeClaim');
  expect(reported).toContain(`${reason}: `);
  expect(reported).toContain(message);
});

test('a claim has the name of its external provisioner', async () => {
  await using plane = await start();
  await giveClass(plane, 'slow', { provisioner: 'd.example' });
  await plane.must('POST', CLAIMS, claim('c'));
  expect((await plane.must('GET', `${CLAIMS}/c`)).metadata.annotations).toEqual({
    'volume.beta.kubernetes.io/storage-provisioner': 'd.example',
    'volume.kubernetes.io/storage-provisioner': 'd.example',
  });
});

test('a claim without a class gets a default class that is created later: the newest of several', async () => {
  await using plane = await start();
  await plane.must('POST', CLAIMS, {
    ...claim('c'),
    spec: { ...(claim('c')['spec'] as Fields), storageClassName: undefined },
  });
  expect(await phase(plane, `${CLAIMS}/c`)).toBe('Pending');
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  await giveClass(plane, 'standard', { metadata: { name: 'standard', annotations } });
  expect(((await plane.must('GET', `${CLAIMS}/c`))['spec'] as Fields)['storageClassName']).toBe('standard');
  expect(await phase(plane, `${CLAIMS}/c`)).toBe('Bound');
});

const pod = (name: string, claimName: string): Fields => ({
  metadata: { name },
  spec: {
    containers: [{ name: 'c', image: 'i' }],
    tolerations: [{ operator: 'Exists' }],
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
  },
});

const local = (name: string, node: string): Fields =>
  volume(name, '1Gi', {
    hostPath: undefined,
    local: { path: '/x' },
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] }],
      },
    },
  });

async function giveNodes(plane: TestPlane, ...names: string[]): Promise<void> {
  for (const name of names) {
    await plane.must('POST', '/api/v1/nodes', { metadata: { name, labels: { 'kubernetes.io/hostname': name } } });
  }
}

test('WaitForFirstConsumer: a claim waits for a pod, whose node must have a volume', async () => {
  await using plane = await start();
  await giveNodes(plane, 'a', 'b');
  await giveClass(plane, 'slow', {
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  });
  await plane.must('POST', VOLUMES, local('on-b', 'b'));
  await plane.must('POST', CLAIMS, claim('c'));
  expect(await phase(plane, `${CLAIMS}/c`)).toBe('Pending');
  expect(await events(plane, 'PersistentVolumeClaim')).toEqual([
    'Normal WaitForFirstConsumer: waiting for first consumer to be created before binding',
  ]);
  await plane.must('POST', `${NAMESPACE}/pods`, pod('p', 'c'));
  expect(await volumeOf(plane, 'c')).toBe('on-b');
  expect((await plane.must('GET', `${NAMESPACE}/pods/p`))['spec']).toMatchObject({ nodeName: 'b' });
});

test('WaitForFirstConsumer: without a volume on any node the pod reports it', async () => {
  await using plane = await start();
  await giveNodes(plane, 'a');
  await giveClass(plane, 'slow', {
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  });
  await plane.must('POST', VOLUMES, local('on-b', 'b'));
  await plane.must('POST', CLAIMS, claim('c'));
  await plane.must('POST', `${NAMESPACE}/pods`, pod('p', 'c'));
  expect((await plane.must('GET', `${NAMESPACE}/pods/p`))['status']).toMatchObject({
    conditions: [
      {
        type: 'PodScheduled',
        message: expect.stringMatching(
          /^0\/1 nodes are available: 1 node\(s\) didn't find available persistent volumes to bind\. /,
        ),
      },
    ],
  });
  await giveNodes(plane, 'b');
  expect((await plane.must('GET', `${NAMESPACE}/pods/p`))['spec']).toMatchObject({ nodeName: 'b' });
});

test('WaitForFirstConsumer: a volume is created for the node of the scheduler, within the topologies of the class', async () => {
  await using plane = await start();
  await giveNodes(plane, 'a', 'b');
  await giveClass(plane, 'slow', {
    volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: [{ matchLabelExpressions: [{ key: 'kubernetes.io/hostname', values: ['b'] }] }],
  });
  await plane.must('POST', CLAIMS, claim('c'));
  await plane.must('POST', `${NAMESPACE}/pods`, pod('p', 'c'));
  const bound = await plane.must('GET', `${CLAIMS}/c`);
  expect(bound.metadata.annotations?.['volume.kubernetes.io/selected-node']).toBe('b');
  expect(bound['status']).toMatchObject({ phase: 'Bound' });
  expect((await plane.must('GET', `${NAMESPACE}/pods/p`))['spec']).toMatchObject({ nodeName: 'b' });
  expect(plane.errors).toEqual([]);
});

test('pvc-protection: a claim remains while a pod with a node uses it, also a finished one', async () => {
  await using plane = await start();
  await giveNodes(plane, 'a');
  await plane.must('POST', VOLUMES, volume('v', '1Gi'));
  await plane.must('POST', CLAIMS, claim('c'));
  await plane.must('POST', `${NAMESPACE}/pods`, pod('p', 'c'));
  await plane.patch(`${NAMESPACE}/pods/p/status`, { status: { phase: 'Succeeded' } });
  await plane.must('DELETE', `${CLAIMS}/c`);
  expect(await plane.exists(`${CLAIMS}/c`)).toBe(true);
  await plane.must('DELETE', `${NAMESPACE}/pods/p?gracePeriodSeconds=0`);
  expect(await plane.exists(`${CLAIMS}/c`)).toBe(false);
});

test('pvc-protection: claims and volumes without the finalizer get it', async () => {
  await using plane = await start();
  await plane.must('POST', CLAIMS, claim('c'));
  await plane.patch(`${CLAIMS}/c`, { metadata: { finalizers: null } });
  expect((await plane.must('GET', `${CLAIMS}/c`)).metadata.finalizers).toEqual(['kubernetes.io/pvc-protection']);
  await plane.must('POST', VOLUMES, volume('v', '1Gi'));
  await plane.patch(`${VOLUMES}/v`, { metadata: { finalizers: null } });
  expect((await plane.must('GET', `${VOLUMES}/v`)).metadata.finalizers).toEqual(['kubernetes.io/pv-protection']);
});
