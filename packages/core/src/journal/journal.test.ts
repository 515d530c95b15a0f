import { describe, expect, test } from 'vitest';
import { Journal } from './journal.ts';

const at = (second: number): Date => new Date(second * 1_000);

const decided = (second: number, because: string, more: { uid?: string; actions?: readonly string[] } = {}) => ({
  kind: 'machine' as const,
  subject: { kind: 'Machine', namespace: 'default', name: 'm-1', uid: more.uid ?? 'u-1' },
  at: at(second),
  input: { second },
  decision: { because },
  because,
  actions: more.actions ?? [],
});

const texts = (journal: Journal) =>
  journal.entries().map(({ because, count, outcome }) => `${because} ×${count} ${outcome}`);

test('equal decisions in a row are one record with the first time, the newest input and a count', () => {
  const journal = new Journal({ perObject: 10, total: 10 });
  for (const second of [1, 2, 3]) journal.record(decided(second, 'waits'));
  journal.record(decided(4, 'creates', { actions: ['create VM'] })).ended();
  journal.record(decided(5, 'waits'));
  expect(texts(journal)).toEqual(['waits ×3 done', 'creates ×1 done', 'waits ×1 done']);
  expect(journal.entries()[0]).toMatchObject({ firstAt: at(1), at: at(3), input: { second: 3 } });
});

test('decisions with other actions, and those of other objects, are not equal', () => {
  const journal = new Journal({ perObject: 10, total: 10 });
  journal.record(decided(1, 'acts', { actions: ['a'] }));
  journal.record(decided(2, 'acts', { actions: ['b'] }));
  journal.record(decided(3, 'acts', { actions: ['b'], uid: 'u-2' }));
  expect(texts(journal)).toEqual(['acts ×1 running', 'acts ×1 running', 'acts ×1 running']);
});

test('each object keeps its newest records', () => {
  const journal = new Journal({ perObject: 2, total: 10 });
  for (const second of [1, 2, 3, 4]) journal.record(decided(second, `step ${second}`));
  journal.record(decided(5, 'other', { uid: 'u-2' }));
  expect(texts(journal)).toEqual(['step 3 ×1 done', 'step 4 ×1 done', 'other ×1 done']);
});

test('the limit of all records removes the oldest ones of any object', () => {
  const journal = new Journal({ perObject: 5, total: 6 });
  for (let second = 1; second <= 1_000; second++)
    journal.record(decided(second, `step ${second}`, { uid: `u-${second % 2}` }));
  expect([journal.size, ...texts(journal)]).toEqual([3, 'step 998 ×1 done', 'step 999 ×1 done', 'step 1000 ×1 done']);
});

test('idle objects do not remove the records of decisions with actions', () => {
  const journal = new Journal({ perObject: 5, total: 4 });
  for (const second of [1, 2, 3]) journal.record(decided(second, `acts ${second}`, { actions: ['a'] })).ended();
  for (let second = 4; second <= 100; second++) journal.record(decided(second, 'idle', { uid: `u-${second}` }));
  expect(texts(journal)).toEqual(['acts 2 ×1 done', 'acts 3 ×1 done', 'idle ×1 done', 'idle ×1 done']);
});

test('a journal without room keeps nothing', () => {
  const journal = new Journal({ perObject: 5, total: 0 });
  journal.record(decided(1, 'acts', { actions: ['a'] })).ended('no');
  expect(journal.size).toBe(0);
});

describe('the outcome', () => {
  test('the outcome of a decision is running until the actions end, and then done or the error', () => {
    const journal = new Journal({ perObject: 5, total: 5 });
    const open = journal.record(decided(1, 'acts', { actions: ['a'] }));
    expect(texts(journal)).toEqual(['acts ×1 running']);
    open.ended('x'.repeat(1_000));
    expect(journal.entries()[0]?.outcome).toBe(`failed: ${'x'.repeat(500)}`);
  });

  test('the outcome of an earlier decision does not replace the one of a later decision', () => {
    const journal = new Journal({ perObject: 5, total: 5 });
    const first = journal.record(decided(1, 'acts', { actions: ['a'] }));
    const second = journal.record(decided(2, 'acts', { actions: ['a'] }));
    second.ended();
    first.ended('too late');
    expect(texts(journal)).toEqual(['acts ×2 done']);
  });
});
