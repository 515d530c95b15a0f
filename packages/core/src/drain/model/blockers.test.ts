import { expect, test } from 'vitest';
import { NOON } from '../../machine/testing.ts';
import { budget, look, pod } from '../testing.ts';
import {
  type Blocker,
  budgetBlocker,
  heldBlocker,
  misconfiguredBlocker,
  overstayBlocker,
  refusedBlocker,
  severalBlocker,
  undeletedBlocker,
  unseenBlocker,
} from './blockers.ts';

const a = pod('a', { budgets: [budget()] });
const attempt = { at: NOON, message: 'boom', count: 1, budgets: '' };
const held = (policy: 'Hold' | 'Quarantine', policyProblem?: string): Blocker =>
  heldBlocker(look([a], { policy, ...(policyProblem ? { policyProblem } : {}) }), [a]);

test.each<[what: string, blocker: () => Blocker, failed: boolean, cause: string | undefined, hint: string]>([
  [
    'Hold',
    () => held('Hold'),
    true,
    'the drain timeout expired',
    'delete the pods by hand, or set the label force-deletion=true',
  ],
  [
    'unreadable pods',
    () => unseenBlocker('no', []),
    true,
    'the pods of the node cannot be read',
    'apply the RBAC roles of this mcm version (docs/permissions.md); the label force-deletion=true on the machine skips this check',
  ],
  [
    'two budgets',
    () => severalBlocker(pod('a', { budgets: [budget(), budget({ key: 'default/all' })] })),
    true,
    'budgets default/all and default/web',
    'change or delete budgets until only one budget selects the pod',
  ],
  [
    'a misconfigured budget',
    () => misconfiguredBlocker(a, budget()),
    true,
    'budget default/web',
    'change budget default/web to allow a disruption, or run more replicas than the budget needs',
  ],
  [
    'the same with its rule',
    () => misconfiguredBlocker(a, budget({ rule: 'maxUnavailable: 0' })),
    true,
    'budget default/web',
    'change budget default/web to allow a disruption (maxUnavailable: 0)',
  ],
  [
    'a budget that needs all pods',
    () => misconfiguredBlocker(a, budget({ rule: 'minAvailable: 100%, 3 of 3 pods needed' })),
    true,
    'budget default/web',
    'change budget default/web to allow a disruption (minAvailable: 100%, 3 of 3 pods needed)',
  ],
  [
    'a budget that needs some pods',
    () => misconfiguredBlocker(a, budget({ rule: 'minAvailable: 3, 3 of 3 pods needed' })),
    true,
    'budget default/web',
    'change budget default/web to allow a disruption (minAvailable: 3, 3 of 3 pods needed), or run more replicas than the budget needs',
  ],
  [
    'a budget',
    () => budgetBlocker(a, budget()),
    false,
    undefined,
    'increase the number of healthy pods that budget default/web selects',
  ],
  [
    'a budget without healthy pods',
    () => budgetBlocker(a, budget({ nothingHealthy: true })),
    false,
    undefined,
    'repair the workload of budget default/web, or set its spec.unhealthyPodEvictionPolicy to AlwaysAllow',
  ],
  [
    'an error',
    () => refusedBlocker(a, { ...attempt, result: 'failed' }),
    true,
    'evicting pod default/a',
    'mcm retries; the message contains the cause',
  ],
  [
    'a namespace',
    () => refusedBlocker(a, { ...attempt, result: 'namespaceEnds' }),
    false,
    undefined,
    'namespace default must be deleted first; see status.conditions of the namespace',
  ],
  [
    'a refusal',
    () => refusedBlocker(pod('a'), { ...attempt, result: 'blocked' }),
    false,
    undefined,
    'mcm retries until the load of the API server and the pod disruption budgets allow the eviction',
  ],
  [
    'a deletion',
    () => undeletedBlocker(a, { ...attempt, result: 'failed' }),
    true,
    'deleting pod default/a',
    'mcm retries; the message contains the cause',
  ],
  [
    'a pod that stays',
    () => overstayBlocker(a, NOON),
    false,
    'pod default/a',
    "the grace period ended at 2026-01-01T12:00:00.000Z; check the pod's finalizers and the kubelet; the label force-deletion=true ends the wait",
  ],
])('a blocker contains a hint for the user, and its event: %s', (_what, of, failed, cause, hint) => {
  const blocker = of();
  expect([blocker.failed, blocker.event?.cause, blocker.hint]).toEqual([failed, cause, hint]);
  const reason = cause?.startsWith('pod ') ? 'PodDoesNotEnd' : 'DeletionBlocked';
  expect(blocker.event?.reason).toBe(cause && reason);
});

test('a held drain names its budgets, so that a change of one starts a pass', () => {
  const others = [a, pod('b', { budgets: [budget(), budget({ key: 'default/all' })] })];
  const budgets = (pods: typeof others) => heldBlocker(look(pods, { policy: 'Quarantine' }), pods).budgets;
  expect([budgets([a]), budgets(others), budgets([pod('c')])]).toEqual([
    ['default/web'],
    ['default/web', 'default/all'],
    undefined,
  ]);
  // The policy Fail ends the drain, so a change of a budget must not start a reconcile.
  expect(heldBlocker(look([a], { policy: 'Fail' }), [a]).budgets).toBeUndefined();
});

test('the policy that holds a drain is named with its effect and its problem', () => {
  expect([held('Hold').text, held('Quarantine').text, held('Hold', 'value "x" is invalid').text]).toEqual([
    'drain timeout expired before pod default/a ended; undrainable policy Hold continues to wait for the pod',
    'drain timeout expired before pod default/a ended; undrainable policy Quarantine keeps the node cordoned until the pod ends',
    'drain timeout expired before pod default/a ended; undrainable policy Hold continues to wait for the pod; value "x" is invalid',
  ]);
});
