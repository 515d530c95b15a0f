import { expect, test } from 'vitest';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { TestPlane } from '../../testing.ts';

const APPS = '/apis/apps/v1/namespaces/default';
const SET = `${APPS}/daemonsets/d`;
const PODS = '/api/v1/namespaces/default/pods';
const REVISIONS = `${APPS}/controllerrevisions`;
const HASH = 'controller-revision-hash';

type Spec = Record<string, unknown>;
const templateOf = (image: string, spec: Spec = {}): Spec => ({
  metadata: { labels: { app: 'd' } },
  spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image }], ...spec },
});
const daemonSet = (spec: Spec = {}, annotations?: Spec): Spec => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'd', annotations },
  spec: { selector: { matchLabels: { app: 'd' } }, template: templateOf('one'), ...spec },
});
const create = (plane: TestPlane, spec?: Spec, annotations?: Spec): Promise<ApiObject> =>
  plane.must('POST', `${APPS}/daemonsets`, daemonSet(spec, annotations));
const nodes = async (plane: TestPlane, ...names: string[]): Promise<void> => {
  for (const name of names) {
    const metadata = { name, labels: { name } };
    await plane.must('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata });
    await plane.patch(`/api/v1/nodes/${name}`, { spec: { taints: null } });
  }
};
const names = async (plane: TestPlane): Promise<string[]> =>
  (await plane.list(PODS)).map(({ metadata }) => metadata.name ?? '').sort();
const statusOf = async (plane: TestPlane): Promise<Spec> => (await plane.must('GET', SET)).status as Spec;
const setPhase = (plane: TestPlane, name: string | undefined, phase: string): Promise<ApiObject> =>
  plane.patch(`${PODS}/${name}/status`, { status: { phase } });
const revisions = async (plane: TestPlane): Promise<ApiObject[]> =>
  (await plane.list(REVISIONS)).sort((a, b) => Number(a.revision) - Number(b.revision));
const renew = (plane: TestPlane, image: string): Promise<ApiObject> =>
  plane.patch(SET, { spec: { template: templateOf(image) } });
const onDelete = { updateStrategy: { type: 'OnDelete' } };

test('a pod that waits for a deleted node is deleted by its set', async () => {
  await using plane = await TestPlane.start('daemonset');
  await nodes(plane, 'a', 'b');
  await create(plane);
  expect(await names(plane)).toHaveLength(2);
  await plane.must('DELETE', '/api/v1/nodes/b');
  expect(await names(plane)).toHaveLength(1);
  expect(await statusOf(plane)).toMatchObject({ desiredNumberScheduled: 1, currentNumberScheduled: 1 });
  expect(plane.errors).toEqual([]);
});

test('the node affinity of a template is replaced by the node of the pod', async () => {
  await using plane = await TestPlane.start('daemonset');
  await nodes(plane, 'a', 'b');
  const matchExpressions = [{ key: 'name', operator: 'In', values: ['a', 'c'] }];
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } };
  await create(plane, { template: templateOf('one', { affinity: { nodeAffinity: required } }) });
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['a'] }];
  expect((await plane.list(PODS)).map(({ spec }) => (spec as Spec).affinity)).toEqual([
    { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } } },
  ]);
});

test('the tolerations of all daemons replace similar ones with a limited time', async () => {
  await using plane = await TestPlane.start('daemonset');
  await nodes(plane, 'a');
  const toleration = { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' };
  await create(plane, { template: templateOf('one', { tolerations: [{ ...toleration, tolerationSeconds: 30 }] }) });
  const [pod] = await plane.list(PODS);
  const tolerations = (pod?.spec as { tolerations: Spec[] } | undefined)?.tolerations ?? [];
  expect(tolerations.filter(({ key }) => key === toleration.key)).toEqual([toleration]);
  expect(tolerations).toHaveLength(6);
});

test('a finished daemon is replaced as soon as it is deleted, also if it has finalizers', async () => {
  await using plane = await TestPlane.start('daemonset');
  await nodes(plane, 'a');
  await create(plane);
  const [first] = await names(plane);
  await plane.patch(`${PODS}/${first}`, { metadata: { finalizers: ['x.dev/hold'] } });
  await setPhase(plane, first, 'Succeeded');
  expect(await names(plane)).toHaveLength(2);
  expect(await statusOf(plane)).toMatchObject({ currentNumberScheduled: 1 });
  const reported = (await plane.list('/api/v1/namespaces/default/events')).map(({ reason }) => reason);
  expect(reported).toContain('SucceededDaemonPod');
  expect(plane.errors).toEqual([]);
});

test('a terminating set is not changed', async () => {
  await using plane = await TestPlane.start('daemonset');
  await nodes(plane, 'a');
  await create(plane);
  await plane.patch(SET, { metadata: { finalizers: ['x.dev/hold'] } });
  await plane.must('DELETE', SET);
  const { observedGeneration } = await statusOf(plane);
  await plane.must('DELETE', `${PODS}/${(await names(plane))[0]}`);
  await nodes(plane, 'b');
  expect(await names(plane)).toEqual([]);
  expect(await statusOf(plane)).toMatchObject({ observedGeneration, currentNumberScheduled: 1 });
});

test('refused pods prevent neither deletions nor the update of the status', async () => {
  await using plane = await TestPlane.start('daemonset', 'resourcequota');
  await nodes(plane, 'a');
  await create(plane);
  const hard = { pods: '1' };
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard } };
  await plane.must('POST', '/api/v1/namespaces/default/resourcequotas', quota);
  await nodes(plane, 'b', 'c');
  expect(await statusOf(plane)).toMatchObject({ desiredNumberScheduled: 3, currentNumberScheduled: 1 });
  await plane.patch('/api/v1/nodes/a', { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } });
  await plane.clock.advance(1000);
  expect(await statusOf(plane)).toMatchObject({ desiredNumberScheduled: 2, currentNumberScheduled: 1 });
  expect(plane.errors.every((error) => error.includes('exceeded quota: q'))).toBe(true);
});

test('the delays of failed daemons start again when the set is changed', async () => {
  await using plane = await TestPlane.start('daemonset');
  await nodes(plane, 'a');
  await create(plane, onDelete);
  const fail = async (): Promise<string | undefined> => {
    const [pod] = await names(plane);
    await setPhase(plane, pod, 'Failed');
    return pod;
  };
  await fail();
  const second = await fail();
  expect(await names(plane)).toEqual([second]);
  await renew(plane, 'two');
  expect(await names(plane)).not.toContain(second);
});

test('a finished pod without an owner is adopted and replaced', async () => {
  await using plane = await TestPlane.start('daemonset');
  await nodes(plane, 'a');
  const spec = { nodeName: 'a', ...(templateOf('one').spec as Spec) };
  const metadata = { name: 'orphan', labels: { app: 'd' } };
  await plane.must('POST', PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
  await setPhase(plane, 'orphan', 'Failed');
  await create(plane);
  expect(await names(plane)).toEqual([expect.stringMatching(/^d-/)]);
  expect(plane.errors).toEqual([]);
});

test('a set adopts the pods and revisions of a deleted set with its name, and creates none', async () => {
  await using plane = await TestPlane.start('daemonset', 'garbage-collector');
  await nodes(plane, 'a');
  await create(plane);
  const before = await names(plane);
  await plane.must('DELETE', SET, { propagationPolicy: 'Orphan' });
  expect((await revisions(plane)).map(({ metadata }) => metadata.ownerReferences)).toEqual([undefined]);
  const { metadata } = await create(plane);
  expect(await names(plane)).toEqual(before);
  const [revision] = await revisions(plane);
  expect(revision?.metadata.ownerReferences).toMatchObject([{ uid: metadata.uid, controller: true }]);
  expect(revision?.revision).toBe(1);
  expect(plane.errors).toEqual([]);
});

test('a revision has the annotations of its set and the hash of its template; a deleted one is created again', async () => {
  await using plane = await TestPlane.start('daemonset');
  await nodes(plane, 'a');
  await create(plane, {}, { 'kubernetes.io/change-cause': 'why' });
  const [revision] = await revisions(plane);
  const hash = revision?.metadata.labels?.[HASH];
  expect(revision?.metadata).toMatchObject({
    name: `d-${hash}`,
    labels: { app: 'd' },
    annotations: { 'kubernetes.io/change-cause': 'why', 'deprecated.daemonset.template.generation': '1' },
  });
  const [pod] = await plane.list(PODS);
  expect(pod?.metadata.labels).toMatchObject({ [HASH]: hash, 'pod-template-generation': '1' });
  await plane.must('DELETE', `${REVISIONS}/d-${hash}`);
  expect((await revisions(plane)).map(({ metadata }) => metadata.name)).toEqual([`d-${hash}`]);
  expect(plane.errors).toEqual([]);
});

test('a name of another object is skipped, and the collision is counted', async () => {
  await using plane = await TestPlane.start('daemonset', 'garbage-collector');
  await nodes(plane, 'a');
  await create(plane);
  const [revision] = await revisions(plane);
  const name = revision?.metadata.name ?? '';
  await plane.must('DELETE', SET, { propagationPolicy: 'Orphan' });
  await plane.must('DELETE', `${REVISIONS}/${name}`);
  const other = { apiVersion: 'apps/v1', kind: 'ControllerRevision', metadata: { name }, revision: 1, data: {} };
  await plane.must('POST', REVISIONS, other);
  await create(plane);
  await plane.clock.advance(1000);
  expect(await statusOf(plane)).toMatchObject({ collisionCount: 1, desiredNumberScheduled: 1 });
  const own = (await revisions(plane)).filter(({ metadata }) => metadata.ownerReferences !== undefined);
  expect(own.map(({ metadata }) => metadata.name)).not.toContain(name);
  expect(own).toHaveLength(1);
});

test('if two revisions have the same template, the later one stays, and the pods get its name', async () => {
  await using plane = await TestPlane.start('daemonset');
  await nodes(plane, 'a');
  await create(plane, onDelete);
  const [first] = await revisions(plane);
  const metadata = { name: 'd-copy', labels: { app: 'd', [HASH]: 'copy' } };
  await plane.must('POST', REVISIONS, { ...first, metadata, revision: 7 });
  expect((await revisions(plane)).map((one) => [one.metadata.name, one.revision])).toEqual([['d-copy', 7]]);
  expect((await plane.list(PODS)).map((pod) => pod.metadata.labels?.[HASH])).toEqual(['copy']);
  expect(await statusOf(plane)).toMatchObject({ updatedNumberScheduled: 1 });
  expect(plane.errors).toEqual([]);
});

test('a revision without a hash label gets its name as the label', async () => {
  await using plane = await TestPlane.start('daemonset');
  await nodes(plane, 'a');
  await create(plane, onDelete);
  const [first] = await revisions(plane);
  const name = first?.metadata.name ?? '';
  await plane.patch(`${REVISIONS}/${name}`, { metadata: { labels: { [HASH]: null } } });
  expect((await revisions(plane))[0]?.metadata.labels?.[HASH]).toBe(name);
});

test('the history limit counts templates in use, which always remain', async () => {
  await using plane = await TestPlane.start('daemonset');
  await nodes(plane, 'a');
  await create(plane, { ...onDelete, revisionHistoryLimit: 1 });
  for (const image of ['two', 'three', 'four']) await renew(plane, image);
  const images = (await revisions(plane)).map(
    ({ data }) => (data as { spec: { template: { spec: { containers: Spec[] } } } }).spec.template.spec.containers[0],
  );
  expect(images.map((container) => container?.image)).toEqual(['one', 'four']);
});
