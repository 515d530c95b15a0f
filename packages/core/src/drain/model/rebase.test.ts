import { expect, test } from 'vitest';
import { NOON } from '../../machine/testing.ts';
import { later } from '../testing.ts';
import { type DrainMemory, NO_DRAIN_MEMORY } from './observation.ts';
import { withoutFuture } from './rebase.ts';

const attempt = (at: Date) => ({ at, result: 'failed', message: '', count: 1, budgets: '' }) as const;
const pod = { namespace: 'default', name: 'a', uid: 'a' };
const memoryAt = (at: Date): DrainMemory => ({
  attempts: new Map([
    ['a', attempt(at)],
    ['b', attempt(later(-2_000))],
  ]),
  moves: new Map([['a', { pod, volumes: ['v'], returns: true, goneAt: at, detachedAt: at }]]),
  emptySince: at,
  detachRequested: new Map([['v', { uid: 'v', at }]]),
  reportedAt: at,
  reported: new Set(['a']),
  respondersAt: at,
  cordonFailed: true,
});

test('times in the future become the present time, and all other records stay', () => {
  expect(withoutFuture(memoryAt(later(60_000)), NOON)).toEqual(memoryAt(NOON));
});

test('a record without a time in the future stays the same object', () => {
  const memory = memoryAt(NOON);
  expect(withoutFuture(memory, NOON)).toBe(memory);
  expect(withoutFuture(NO_DRAIN_MEMORY, NOON)).toBe(NO_DRAIN_MEMORY);
});

test('a pod that has not ended gets no time', () => {
  const moves = new Map([['a', { pod, volumes: ['v'], returns: true }]]);
  const rebased = withoutFuture({ ...NO_DRAIN_MEMORY, moves, emptySince: later(1) }, NOON);
  expect(rebased).toEqual({ ...NO_DRAIN_MEMORY, moves, emptySince: NOON });
});
