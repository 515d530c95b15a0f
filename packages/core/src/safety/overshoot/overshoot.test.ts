import { describe, expect, test } from 'vitest';
import { deployment, set } from '../../set/test-objects.ts';
import { decideSet, planOvershoot, thresholds } from './overshoot-rules.ts';

const options = { safetyUp: 2, safetyDown: 1 };
const rolling = (replicas: number, maxSurge: number | string) =>
  deployment(replicas, { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable: 0 } } });
const frozen = { labels: { freeze: 'True' } };

describe('thresholds', () => {
  test.each([
    ['F-01 a set without a deployment', undefined, 8, 7],
    ['F-05 a percentage rounds up', rolling(5, '25%'), 9, 8],
    [
      'F-06 the in-place surge',
      deployment(3, {
        strategy: {
          type: 'InPlaceUpdate',
          inPlaceUpdate: { maxSurge: 2, maxUnavailable: 0, orchestrationType: 'Auto' },
        },
      }),
      7,
      6,
    ],
    ['F-07 (BUG-9 corrected) no surge', deployment(3, { strategy: { type: 'Recreate' } }), 5, 4],
  ])('%s', (_title, owner, upper, lower) => {
    expect(thresholds(set('ms', 3), owner, options)).toEqual({ upper, lower });
  });
  test('without a distance a set is not frozen and unfrozen in turn [F-12, corrected]', () => {
    const limits = thresholds(set('ms', 2), undefined, { safetyUp: 2, safetyDown: 0 });
    const half = { status: { machineSetCondition: [{ type: 'Frozen' as const, status: 'True' as const }] } };
    expect(decideSet({ ...set('ms', 2, frozen), ...half }, undefined, limits.upper, limits)).toBe('leave');
    expect(decideSet(set('ms', 2), undefined, limits.upper, limits)).toBe('freeze');
    expect(decideSet({ ...set('ms', 2, frozen), ...half }, undefined, limits.upper - 1, limits)).toBe('thaw');
  });
});

test('without replicas the numbers are those of zero replicas', () => {
  const { replicas: _, ...template } = set('ms', 3).spec;
  const bare = { ...set('ms', 3), spec: template } as ReturnType<typeof set>;
  const { replicas: __, ...owned } = deployment(3).spec;
  const owner = { ...deployment(3), spec: { ...owned, strategy: { type: 'Recreate' } } } as ReturnType<
    typeof deployment
  >;
  expect([thresholds(bare, undefined, options), thresholds(bare, owner, options)]).toEqual([
    { upper: 2, lower: 1 },
    { upper: 2, lower: 1 },
  ]);
});

test('a plan contains the decision and the numbers that were compared', () => {
  expect(planOvershoot({ set: set('ms', 3), machines: 8, ...options })).toEqual({
    verdict: 'freeze',
    limits: { upper: 8, lower: 7 },
  });
});

describe('decisions', () => {
  const limits = { upper: 8, lower: 7 };
  const complete = {
    ...set('ms', 3, frozen),
    status: { machineSetCondition: [{ type: 'Frozen' as const, status: 'True' as const }] },
  };
  const asking = (labels: Record<string, string>) =>
    set('ms', 3, { labels, annotations: { 'safety.machine.sapcloud.io/unfreeze': 'True' } });
  test.each<[string, ReturnType<typeof set>, number, string]>([
    ['F-01 too many', set('ms', 3), 8, 'freeze'],
    ['F-01 just below the number', set('ms', 3), 7, 'leave'],
    ['already frozen', complete, 9, 'leave'],
    ['a partial freeze is completed', set('ms', 3, frozen), 9, 'freeze'],
    ['F-01 the number has decreased', complete, 7, 'thaw'],
    ['a label without the condition is a freeze too', set('ms', 3, frozen), 7, 'thaw'],
    ['a condition without the label is completed', { ...complete, metadata: set('ms', 3).metadata }, 9, 'freeze'],
    [
      'F-10 the condition without the label is a freeze too',
      { ...complete, metadata: { ...complete.metadata, labels: {} } },
      7,
      'thaw',
    ],
    ['requested, although there are too many', asking(frozen.labels), 9, 'thaw'],
    ['requested without a freeze: the request is removed', asking({}), 1, 'thaw'],
  ])('%s', (_title, given, machines, verdict) => {
    expect(decideSet(given, undefined, machines, limits)).toBe(verdict);
  });
  test('a request on the deployment unfreezes its sets [F-11]', () => {
    const owner = deployment(3, { annotations: { 'safety.machine.sapcloud.io/unfreeze': 'x' } });
    expect(decideSet(complete, owner, 9, limits)).toBe('thaw');
    expect(decideSet(set('ms', 3), owner, 3, limits)).toBe('leave');
  });
});
