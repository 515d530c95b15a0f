import type { Block } from '@mcm/api';
import { expect, test } from 'vitest';
import { MOST_BLOCKS } from '../../blocked/blocks.ts';
import { at, machine, NOON } from '../testing.ts';
import { withBlockedBy } from './blocked-by.ts';
import { act, type Plan, wait } from './plan.ts';

const hook = { cause: 'Hook', object: { kind: 'Hook', name: 'before-drain/a' }, reason: 'waits for a' } as const;
const drain = { cause: 'Drain', object: { kind: 'Node', name: 'n' }, reason: 'pods remain' } as const;
const status = { currentStatus: { phase: 'Terminating' } } as const;

const seen = (blocks: readonly Block[] = []) => ({
  machine: machine({ status: { ...status, ...(blocks.length > 0 ? { blockedBy: [...blocks] } : {}) } }),
  blockedBy: true as const,
});

const written = ({ actions }: Plan): readonly Block[] | undefined =>
  actions.flatMap((action) => (action.do === 'writeStatus' ? [action.status.blockedBy ?? []] : []))[0];

test('a new reason is written once, with its time', () => {
  const plan = withBlockedBy({ ...wait('waits'), blockedBy: [hook] }, seen(), NOON);
  expect(written(plan)).toEqual([{ ...hook, since: at(0) }]);
  const again = withBlockedBy({ ...wait('waits'), blockedBy: [hook] }, seen(written(plan)), new Date(at(60)));
  expect(again.actions).toEqual([]);
});

test('a status write of the plan contains the reasons, so they need no additional write', () => {
  const plan = { ...act('says it', { do: 'writeStatus', status }), blockedBy: [hook] };
  const { actions } = withBlockedBy(plan, seen(), NOON);
  expect(actions).toEqual([{ do: 'writeStatus', status: { ...status, blockedBy: [{ ...hook, since: at(0) }] } }]);
});

test('a step in the middle of a reconcile keeps the reasons', () => {
  const plan = act('evicting', { do: 'uncordon' });
  expect(withBlockedBy(plan, seen([{ ...hook, since: at(-60) }]), NOON)).toBe(plan);
});

test('a change within five seconds waits for the end of this time', () => {
  const stored = [{ ...hook, since: at(0) }];
  const early = withBlockedBy({ ...wait('waits'), blockedBy: [drain] }, seen(stored), new Date(NOON.getTime() + 4_000));
  expect([early.actions, early.next]).toEqual([[], { kind: 'waitUntil', instant: new Date(NOON.getTime() + 5_000) }]);
  const due = withBlockedBy({ ...wait('waits'), blockedBy: [drain] }, seen(stored), new Date(NOON.getTime() + 5_000));
  expect(written(due)).toMatchObject([drain]);
});

test('several reasons with one object are one entry, which keeps a text that is still true', () => {
  const [first, second] = [
    { ...drain, reason: 'pod a waits' },
    { ...drain, reason: 'pod b waits' },
  ];
  const stored = [{ ...second, since: at(-60) }];
  const both = withBlockedBy({ ...wait('waits'), blockedBy: [first, second] }, seen(stored), NOON);
  expect(both.actions).toEqual([]);
  const one = withBlockedBy({ ...wait('waits'), blockedBy: [first] }, seen(stored), NOON);
  expect(written(one)).toEqual([{ ...first, since: at(-60) }]);
});

test('the status has a limited number of entries', () => {
  const many = Array.from({ length: MOST_BLOCKS + 5 }, (_, index) => ({
    ...drain,
    object: { kind: 'Pod', namespace: 'a', name: `p-${index}` },
  }));
  expect(written(withBlockedBy({ ...wait('waits'), blockedBy: many }, seen(), NOON))).toHaveLength(MOST_BLOCKS);
});
