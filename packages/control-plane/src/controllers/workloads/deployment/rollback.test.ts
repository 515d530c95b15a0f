import { expect, test } from 'vitest';
import { TestPlane } from '../../testing.ts';
import { rollbackOf } from './rollback.ts';

const APPS = '/apis/apps/v1/namespaces/default';
const WEB = `${APPS}/deployments/web`;
const WISH = 'deprecated.deployment.rollback.to';
const CAUSE = 'kubernetes.io/change-cause';

const template = (image: string) => ({
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image }] },
});

async function start(): Promise<TestPlane> {
  const plane = await TestPlane.start('replicaset', 'deployment');
  const spec = { replicas: 1, selector: { matchLabels: { app: 'web' } }, template: template('one') };
  const metadata = { name: 'web', annotations: { [CAUSE]: 'first', old: 'x' } };
  await plane.must('POST', `${APPS}/deployments`, { metadata, spec });
  const annotations = { [CAUSE]: 'second', old: null, [WISH]: null };
  await plane.patch(WEB, { metadata: { annotations }, spec: { template: template('two') } });
  return plane;
}

const wish = async (plane: TestPlane, revision: string) => {
  await plane.patch(WEB, { metadata: { annotations: { [WISH]: revision } } });
  const { metadata, spec } = await plane.must('GET', WEB);
  const { image } =
    (spec as { template: { spec: { containers: { image: string }[] } } }).template.spec.containers[0] ?? {};
  return { annotations: metadata.annotations ?? {}, image };
};
const reported = async (plane: TestPlane): Promise<string[]> =>
  (await plane.list('/api/v1/namespaces/default/events'))
    .filter(({ reason }) => String(reason).startsWith('DeploymentRollback'))
    .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

test.each([
  ['1', 'one', 'Normal DeploymentRollback: Rolled back deployment "web" to revision 1'],
  ['0', 'one', 'Normal DeploymentRollback: Rolled back deployment "web" to revision 1'],
  ['77', 'two', 'Warning DeploymentRollbackRevisionNotFound: Unable to find the revision to rollback to.'],
  [
    '2',
    'two',
    'Warning DeploymentRollbackTemplateUnchanged: The rollback revision contains the same template as current deployment "web"',
  ],
])('a rollback to revision %s sets template %s and reports the result', async (revision, image, event) => {
  await using plane = await start();
  const after = await wish(plane, revision);
  expect(after.image).toBe(image);
  expect(after.annotations).not.toHaveProperty([WISH]);
  expect(await reported(plane)).toEqual([event]);
  expect(plane.errors).toEqual([]);
});

test('a rollback restores the annotations of its set, as a new revision', async () => {
  await using plane = await start();
  expect((await wish(plane, '1')).annotations).toEqual({
    [CAUSE]: 'first',
    old: 'x',
    'deployment.kubernetes.io/revision': '3',
  });
});

test('a paused deployment rolls back when it is resumed', async () => {
  await using plane = await start();
  await plane.patch(WEB, { spec: { paused: true } });
  expect(await wish(plane, '1')).toMatchObject({ image: 'two', annotations: { [WISH]: '1' } });
  await plane.patch(WEB, { spec: { paused: false } });
  expect((await reported(plane))[0]).toContain('to revision 1');
});

test('an annotation that is not a number is ignored', () => {
  const of = (text: string) =>
    rollbackOf({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { annotations: { [WISH]: text } } });
  expect(['', 'x', '1.5', '3', '0'].map(of)).toEqual([undefined, undefined, undefined, 3n, 0n]);
});
