import { expect, test } from 'vitest';
import { settle, TestPlane } from '../testing.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const PODS = '/api/v1/namespaces/default/pods';

async function join(plane: TestPlane): Promise<void> {
  await plane.must('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
  await plane.patch('/api/v1/nodes/n/status', { status: { conditions: [{ type: 'Ready', status: 'True' }] } });
  await plane.must('POST', LEASES, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'n' },
    spec: { holderIdentity: 'n' },
  });
}

const taintsOf = async (plane: TestPlane): Promise<unknown[]> => {
  const spec = (await plane.must('GET', '/api/v1/nodes/n')).spec as { taints?: { key: string; effect: string }[] };
  return (spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
};

test('cordons and pressures become taints, and go with them', async () => {
  await using plane = await TestPlane.start('node-lifecycle');
  await join(plane);
  await plane.patch('/api/v1/nodes/n', { spec: { unschedulable: true } });
  expect(await taintsOf(plane)).toEqual(['node.kubernetes.io/unschedulable:NoSchedule']);
  await plane.patch('/api/v1/nodes/n/status', {
    status: {
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'DiskPressure', status: 'True' },
      ],
    },
  });
  await plane.patch('/api/v1/nodes/n', { spec: { unschedulable: null } });
  expect(await taintsOf(plane)).toEqual(['node.kubernetes.io/disk-pressure:NoSchedule']);
});

test('pods leave a node by their tolerations', async () => {
  await using plane = await TestPlane.start('taint-eviction');
  await join(plane);
  const pod = (name: string, tolerations: unknown[]) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { nodeName: 'n', terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }], tolerations },
  });
  const tolerate = (seconds?: number) => [
    {
      key: 'k',
      operator: 'Exists',
      effect: 'NoExecute',
      ...(seconds === undefined ? {} : { tolerationSeconds: seconds }),
    },
  ];
  await plane.must('POST', PODS, pod('never', tolerate()));
  await plane.must('POST', PODS, pod('later', tolerate(60)));
  await plane.must('POST', PODS, pod('now', []));
  const timeAdded = '2024-01-01T00:00:00Z';
  await plane.patch('/api/v1/nodes/n', { spec: { taints: [{ key: 'k', effect: 'NoExecute', timeAdded }] } });
  const left = async () =>
    (await plane.list(PODS))
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name);
  expect(await left()).toEqual(['later', 'never']);
  await plane.clock.advance(61_000);
  expect(await left()).toEqual(['never']);
  expect(plane.errors).toEqual([]);
});

test('pods of a node that is gone are removed after a while', async () => {
  await using plane = await TestPlane.start('pod-garbage-collector');
  await join(plane);
  await plane.must('POST', PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
  });
  await plane.must('DELETE', '/api/v1/nodes/n');
  await plane.clock.advance(39_000);
  expect(await plane.exists(`${PODS}/p`)).toBe(true);
  await plane.clock.advance(2_000);
  await settle();
  expect(await plane.exists(`${PODS}/p`)).toBe(false);
});
