import { expect, test } from 'vitest';
import { TestPlane } from '../testing.ts';

const FLOW = '/apis/flowcontrol.apiserver.k8s.io/v1';
const SCHEMAS = `${FLOW}/flowschemas`;
const LEVELS = `${FLOW}/prioritylevelconfigurations`;
const apiVersion = 'flowcontrol.apiserver.k8s.io/v1';
const TRANSITION = 'lastTransitionTime';

const mine = {
  apiVersion,
  kind: 'FlowSchema',
  metadata: { name: 'mine' },
  spec: { priorityLevelConfiguration: { name: 'ghost' }, matchingPrecedence: 500 },
};
const limited = { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } };
const ghost = {
  apiVersion,
  kind: 'PriorityLevelConfiguration',
  metadata: { name: 'ghost' },
  spec: { type: 'Limited', limited },
};
const about = 'This FlowSchema references the PriorityLevelConfiguration object named "ghost"';
const found = { type: 'Dangling', status: 'False', reason: 'Found', message: `${about} and it exists` };
const missing = {
  type: 'Dangling',
  status: 'True',
  reason: 'NotFound',
  message: `${about} but there is no such object`,
};

test('Dangling: a schema reports whether its priority level exists', async () => {
  await using plane = await TestPlane.start('flowschema-status');
  const condition = async () =>
    ((await plane.must('GET', `${SCHEMAS}/mine`)).status as { conditions: Record<string, unknown>[] }).conditions[0];
  await plane.must('POST', SCHEMAS, mine);
  expect(await condition()).toEqual({ ...missing, [TRANSITION]: '2024-01-01T00:00:00Z' });
  await plane.clock.advance(1000);
  await plane.must('POST', LEVELS, ghost);
  expect(await condition()).toEqual({ ...found, [TRANSITION]: '2024-01-01T00:00:01Z' });
  await plane.must('DELETE', `${LEVELS}/ghost`);
  expect(await condition()).toMatchObject(missing);
  const [entry] = (await plane.must('GET', `${SCHEMAS}/mine`)).metadata.managedFields ?? [];
  expect(entry).toMatchObject({
    manager: 'api-priority-and-fairness-config-consumer-v1',
    operation: 'Apply',
    subresource: 'status',
  });
  expect(plane.errors).toEqual([]);
});

test('Dangling: a wrong condition is corrected, and other conditions are unchanged', async () => {
  await using plane = await TestPlane.start('flowschema-status');
  await plane.must('POST', SCHEMAS, mine);
  const other = { type: 'Other', status: 'True' };
  await plane.patch(`${SCHEMAS}/mine/status`, { status: { conditions: [{ ...found, message: 'm' }, other] } });
  const { status } = await plane.must('GET', `${SCHEMAS}/mine`);
  expect(status).toMatchObject({ conditions: [missing, other] });
  const { resourceVersion } = (await plane.must('GET', `${SCHEMAS}/mine`)).metadata;
  await plane.clock.advance(3_600_000);
  expect((await plane.must('GET', `${SCHEMAS}/mine`)).metadata.resourceVersion).toBe(resourceVersion);
});

test('Dangling: the built-in schema has its priority level', async () => {
  await using plane = await TestPlane.start('flowschema-status');
  const schemas = await plane.list(SCHEMAS);
  expect(schemas.map(({ metadata }) => metadata.name)).toContain('exempt');
  for (const { status } of schemas)
    expect(status).toMatchObject({ conditions: [{ status: 'False', reason: 'Found' }] });
});

test('a new cluster has the flows and levels of kube-apiserver, and none of them is dangling', async () => {
  await using plane = await TestPlane.start('flowschema-status');
  await plane.clock.advance(0);
  const schemas = await plane.list(SCHEMAS);
  const shown = schemas.map(({ metadata, spec }) => {
    const { matchingPrecedence, priorityLevelConfiguration } = spec as Record<string, unknown>;
    return `${matchingPrecedence} ${metadata.name}: ${(priorityLevelConfiguration as { name: string }).name}`;
  });
  expect(shown).toEqual([
    '10000 catch-all: catch-all',
    '1 exempt: exempt',
    '9900 global-default: global-default',
    '800 kube-controller-manager: workload-high',
    '800 kube-scheduler: workload-high',
    '900 kube-system-service-accounts: workload-high',
    '2 probes: exempt',
    '9000 service-accounts: workload-low',
    '100 system-leader-election: leader-election',
    '400 system-node-high: node-high',
    '500 system-nodes: system',
  ]);
  for (const { status } of schemas)
    expect(status).toMatchObject({ conditions: [{ type: 'Dangling', status: 'False' }] });
  const levels = await plane.list(LEVELS);
  expect(levels.map(({ metadata }) => metadata.name)).toEqual([
    'catch-all',
    'exempt',
    'global-default',
    'leader-election',
    'node-high',
    'system',
    'workload-high',
    'workload-low',
  ]);
  for (const { metadata } of [...schemas, ...levels]) {
    const makers = metadata.managedFields?.map(({ manager }) => manager);
    expect(makers).toContain('api-priority-and-fairness-config-producer-v1');
  }
  const queue = { type: 'Queue', queuing: { queues: 128, handSize: 6, queueLengthLimit: 50 } };
  expect(levels.at(-1)?.spec).toMatchObject({ limited: { limitResponse: queue, lendablePercent: 90 } });
});
