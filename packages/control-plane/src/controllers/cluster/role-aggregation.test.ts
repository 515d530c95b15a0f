import { expect, test } from 'vitest';
import { TestPlane } from '../testing.ts';

const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const role = (name: string, more: object) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name },
  ...more,
});
const rule = (resource: string) => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });

test('an aggregating role has the rules of those that it selects, each once, applied by a manager of its own', async () => {
  await using plane = await TestPlane.start('clusterrole-aggregation');
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { into: 'all' } }] };
  await plane.must('POST', ROLES, role('all', { aggregationRule }));
  const labelled = (name: string, ...resources: string[]) =>
    plane.must('POST', ROLES, {
      ...role(name, { rules: resources.map(rule) }),
      metadata: { name, labels: { into: 'all' } },
    });
  await labelled('b', 'pods');
  await labelled('a', 'nodes', 'pods');
  const { rules, metadata } = await plane.must('GET', `${ROLES}/all`);
  expect(rules).toEqual([rule('nodes'), rule('pods')]);
  expect(metadata.managedFields).toContainEqual(
    expect.objectContaining({
      manager: 'clusterrole-aggregation-controller',
      operation: 'Apply',
      fieldsV1: { 'f:rules': {} },
    }),
  );
  expect(plane.errors).toEqual([]);
});
