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

test('Dangling: a schema says whether its level is there, as it comes and goes', async () => {
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

test('Dangling: what somebody else says of it is put right, and nothing else is touched', async () => {
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

test('Dangling: the schema that every cluster has has its level', async () => {
  await using plane = await TestPlane.start('flowschema-status');
  const schemas = await plane.list(SCHEMAS);
  expect(schemas.map(({ metadata }) => metadata.name)).toContain('exempt');
  for (const { status } of schemas)
    expect(status).toMatchObject({ conditions: [{ status: 'False', reason: 'Found' }] });
});
