import { expect, test } from 'vitest';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { planRollout } from './rollout.ts';

const set = (name: string, replicas: number, available: number): ApiObject => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name },
  spec: { replicas },
  status: { availableReplicas: available },
});

const deployment = (replicas: number, strategy: Record<string, unknown>): ApiObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd' },
  spec: { replicas, strategy },
});

const rolling = (maxSurge: unknown, maxUnavailable: unknown) => ({
  type: 'RollingUpdate',
  rollingUpdate: { maxSurge, maxUnavailable },
});

test.each<[string, ApiObject, ApiObject, ApiObject[], boolean, Record<string, number>]>([
  ['surge comes first', deployment(3, rolling(1, 0)), set('new', 0, 0), [set('old', 3, 3)], true, { new: 1 }],
  [
    'nothing goes before the new pod is there',
    deployment(3, rolling(1, 0)),
    set('new', 1, 0),
    [set('old', 3, 3)],
    true,
    {},
  ],
  ['then an old one goes', deployment(3, rolling(1, 0)), set('new', 1, 1), [set('old', 3, 3)], true, { old: 2 }],
  [
    'without surge an old one goes first',
    deployment(3, rolling(0, 1)),
    set('new', 0, 0),
    [set('old', 3, 3)],
    true,
    { old: 2 },
  ],
  [
    'unready old pods go before ready ones',
    deployment(3, rolling(0, 1)),
    set('new', 0, 0),
    [set('sick', 1, 0), set('old', 2, 2)],
    true,
    { sick: 0 },
  ],
  ['recreate stops all', deployment(3, { type: 'Recreate' }), set('new', 0, 0), [set('old', 3, 3)], true, { old: 0 }],
  [
    'and starts none while one is left',
    deployment(3, { type: 'Recreate' }),
    set('new', 0, 0),
    [set('old', 0, 0)],
    true,
    {},
  ],
  ['and then all', deployment(3, { type: 'Recreate' }), set('new', 0, 0), [set('old', 0, 0)], false, { new: 3 }],
  ['scaling down', deployment(1, rolling(1, 0)), set('new', 3, 3), [], false, { new: 1 }],
])('%s', (_title, whole, fresh, old, oldPodsLeft, wanted) => {
  const plan = planRollout({ deployment: whole, fresh, old, oldPodsLeft });
  expect(Object.fromEntries(plan.map(({ set: one, replicas }) => [one.metadata.name, replicas]))).toEqual(wanted);
});

test.each([
  [3, 1, 0],
  [3, 0, 1],
  [10, '25%', '25%'],
  [7, 3, 2],
])(
  'a rollout of %i with surge %s and unavailable %s stays within its bounds and ends',
  (replicas, maxSurge, maxUnavailable) => {
    const whole = deployment(replicas, rolling(maxSurge, maxUnavailable));
    const part = (value: unknown, up: boolean): number =>
      typeof value === 'number'
        ? value
        : (up ? Math.ceil : Math.floor)((Number.parseInt(String(value), 10) * replicas) / 100);
    let fresh = set('new', 0, 0);
    let old = set('old', replicas, replicas);
    const size = (one: ApiObject): number => (one.spec as { replicas: number }).replicas;
    for (let step = 0; step < 100 && (size(old) > 0 || size(fresh) < replicas); step++) {
      for (const { set: one, replicas: wanted } of planRollout({
        deployment: whole,
        fresh,
        old: [old],
        oldPodsLeft: true,
      })) {
        const available = Math.min(wanted, (one.status as { availableReplicas: number }).availableReplicas);
        if (one === fresh) fresh = set('new', wanted, available);
        else old = set('old', wanted, available);
      }
      const running = (one: ApiObject): number => (one.status as { availableReplicas: number }).availableReplicas;
      expect(size(fresh) + size(old)).toBeLessThanOrEqual(replicas + part(maxSurge, true));
      expect(running(fresh) + running(old)).toBeGreaterThanOrEqual(replicas - part(maxUnavailable, false));
      fresh = set('new', size(fresh), size(fresh));
    }
    expect([size(old), size(fresh)]).toEqual([0, replicas]);
  },
);
