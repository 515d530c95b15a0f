import { expect, it } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { missingAnnotations, REVISION, revisionOf } from './deployment/replica-sets.ts';
import { planRollback, rollbackOf } from './deployment/rollback.ts';
import { revisionOf as historyRevisionOf } from './history.ts';
import { highest, nextRevision, parseRevision } from './revision.ts';

const LARGE = '9007199254740993';

const replicaSet = (revision: string, image: string): ApiObject => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: image, annotations: { [REVISION]: revision } },
  spec: { template: { spec: { containers: [{ name: 'c', image }] } } },
});

it('parses only revisions of 64 bits', () => {
  expect(parseRevision('9223372036854775807')).toBe(2n ** 63n - 1n);
  for (const text of [undefined, '', '1.0', '9223372036854775808', 'x']) expect(parseRevision(text)).toBeUndefined();
});

it('increments a revision above 2^53 exactly', () => {
  const old = replicaSet(LARGE, 'a');
  const next = nextRevision(highest([revisionOf(old)]));
  expect(missingAnnotations({ ...old, metadata: {} }, { [REVISION]: LARGE }, next)).toMatchObject({
    [REVISION]: '9007199254740994',
  });
  expect(missingAnnotations({ ...old, metadata: {} }, { [REVISION]: '9007199254740994' }, next)).toEqual({});
});

it('rolls back to the exact revision above 2^53', () => {
  const sets = ['9007199254740992', LARGE, '9007199254740994'].map((revision) => replicaSet(revision, `i${revision}`));
  const deployment = { ...replicaSet('1', 'new'), kind: 'Deployment' };
  const wanted = rollbackOf({
    ...deployment,
    metadata: { annotations: { 'deprecated.deployment.rollback.to': LARGE } },
  });
  expect(planRollback(deployment, sets, wanted ?? 0n).template).toMatchObject({
    spec: { containers: [{ image: `i${LARGE}` }] },
  });
  expect(planRollback(deployment, sets, 0n).message).toContain(`to revision ${LARGE}`);
});

it('parses the revision of a ControllerRevision above 2^53', () => {
  const revision = {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {},
    revision: 9_007_199_254_740_993n,
  };
  // The type of objects has no bigint, which the decoder returns for large numbers.
  expect(historyRevisionOf(revision as unknown as ApiObject)).toBe(9_007_199_254_740_993n);
});
