import type { DrainExplanation } from '@mcm/core';
import { expect, test } from 'vitest';
import { drainLines } from './drain-lines.ts';

const NOW = new Date('2026-01-01T12:00:00Z');

const explained = (
  pods: readonly string[],
  blockers: DrainExplanation['blockers'],
  deletesFrom: Date = new Date(NOW.getTime() + 1),
): string =>
  drainLines(
    {
      node: 'n-0',
      pods: pods.map((pod) => ({ pod, fate: 'blocked', because: 'a long sentence', volumes: [], budgets: ['a/web'] })),
      blockers,
      drained: false,
      policy: 'Force',
      deletesFrom,
      overAt: new Date(NOW.getTime() + 3_600_000),
    },
    NOW,
  ).join('\n');

const waiting = (pod: string, budget = 'a/web') => ({
  text: `pod ${pod} waits for pod disruption budget ${budget}, which allows no disruption now`,
  failed: false,
  pods: [pod],
  hint: 'run more replicas',
});

test('pods that one budget blocks are grouped, some by name, and the text is printed once', () => {
  const pods = [0, 1, 2, 3, 4, 5, 6].map((n) => `a/web-${n}`);
  const text = explained(pods, [...pods.map((pod) => waiting(pod)), waiting('a/db-0', 'a/db')]);
  expect(text.split('\n').slice(8, 12)).toEqual([
    'blocked by:',
    '  - 7 pods: each waits for pod disruption budget a/web, which allows no disruption now; run more replicas',
    '    (a/web-0, a/web-1, a/web-2, a/web-3, a/web-4 and 2 more)',
    '  - pod a/db-0 waits for pod disruption budget a/db, which allows no disruption now; run more replicas',
  ]);
  expect(text).toMatch(/a\/web-6 +is blocked +budget a\/web/);
  expect(text).not.toContain('a long sentence');
});

test('the time of the pod deletion is printed once if it equals the drain timeout', () => {
  const over = '\nthe drain timeout expires in 1h0m0s: mcm deletes the remaining pods without a grace period';
  expect(explained(['a/b'], [])).toContain(`\nin 1s, mcm deletes the pods that it could not evict${over}`);
  const once = explained(['a/b'], [], new Date(NOW.getTime() + 3_600_000));
  expect(once).toContain(over);
  expect(once).not.toContain('are deleted in');
});

test('prints no "more" when all pods are named, and texts for several pods or none unchanged', () => {
  const pods = [0, 1, 2, 3, 4].map((n) => `a/web-${n}`);
  const refused = pods.map((pod) => ({ ...waiting(pod), text: `error while evicting pod "${pod}": no` }));
  const held = {
    text: 'drain timeout expired before pod a/web-0, a/web-1 ended',
    failed: true,
    pods,
    hint: 'end them',
  };
  const volume = { text: 'volume pv-0 is still attached', failed: false, hint: '' };
  const text = explained(pods, [...refused, held, volume]);
  expect(text).toContain(
    '  - 5 pods: error while evicting each: no; run more replicas\n    (a/web-0, a/web-1, a/web-2, a/web-3, a/web-4)\n',
  );
  expect(text).toContain('  - drain timeout expired before pod a/web-0, a/web-1 ended; end them\n');
  expect(text).toContain('  - volume pv-0 is still attached\n');
});

test('a drain in progress shows its pods, their deadlines and its volumes', () => {
  const leaving = (pod: string, seconds: number): DrainExplanation['pods'][number] => ({
    pod,
    fate: 'leaving',
    because: 'the pod is already being deleted',
    ends: {
      by: new Date(NOW.getTime() + seconds * 1_000),
      overdueFrom: new Date(NOW.getTime() + (seconds + 30) * 1_000),
    },
    volumes: [],
    budgets: [],
  });
  const drain: DrainExplanation = {
    node: 'n-0',
    pods: [leaving('a/db-0', 90), leaving('a/web-0', 5)],
    blockers: [],
    detaching: ['pv-7'],
    drained: false,
    policy: 'Force',
    overAt: NOW,
  };
  const text = drainLines(drain, NOW);
  expect(text[1]).toMatch(/^ {2}a\/db-0 +is terminating +the wait ends at the latest at 2026-01-01T12:01:30Z$/);
  expect(text.slice(3, 6)).toEqual([
    'waits for:',
    '  - pods a/db-0, a/web-0 to end, the last by 2026-01-01T12:01:30Z (in 1m30s); after 2026-01-01T12:02:00Z the pod counts as blocked',
    '  - volume pv-7 to be detached from the node, at most until the detach timeout; to list attachments: kubectl get volumeattachments',
  ]);
  const alone = drainLines({ ...drain, pods: [] }, NOW);
  expect(alone).toEqual(['node n-0 has no pods', 'waits for:', text[5]]);
});

test('a drain of a node without pods, or with only pods that stay, announces no eviction', () => {
  const stays: DrainExplanation['pods'][number] = {
    pod: 'kube-system/proxy',
    fate: 'stays',
    because: 'a DaemonSet manages the pod',
    volumes: [],
    budgets: [],
  };
  const drain: DrainExplanation = { node: 'n-0', pods: [], blockers: [], drained: true, policy: 'Force', overAt: NOW };
  expect(drainLines(drain, NOW)).toEqual(['node n-0 has no pods', 'the node has no pod to evict']);
  expect(drainLines({ ...drain, pods: [stays] }, NOW).at(-1)).toBe('the node has no pod to evict');
});
