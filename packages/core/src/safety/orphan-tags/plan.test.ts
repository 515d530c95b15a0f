import { expect, test } from 'vitest';
import { tagChanges, tagTime } from './plan.ts';

const until = new Date('2026-01-31T12:00:00.123Z');
const TIME = '2026-01-31t12-00-00z';
const both = { 'mcm-orphan-delete-after': TIME, 'mcm-orphan-quarantined': 'machines-lost', other: '1' };

test('the time in a tag is a valid value of a GCP label', () => {
  expect(tagTime(until)).toBe(TIME);
  expect(TIME).toMatch(/^[a-z0-9_-]{0,63}$/);
});

test('a VM with a Machine has no tags of orphans, and keeps all other tags', () => {
  expect(tagChanges({ is: 'used' }, both)).toEqual({ 'mcm-orphan-delete-after': null, 'mcm-orphan-quarantined': null });
  expect(tagChanges({ is: 'used' }, { other: '1' })).toEqual({});
  expect(tagChanges({ is: 'used' })).toEqual({});
});

test('a VM in quarantine keeps its first reason, and has no deletion time', () => {
  const state = { is: 'quarantined', because: 'already-in-quarantine' } as const;
  expect(tagChanges(state, both)).toEqual({ 'mcm-orphan-delete-after': null });
  expect(tagChanges(state, {})).toEqual({ 'mcm-orphan-quarantined': 'already-in-quarantine' });
});

test('a stopped VM has its deletion time, and no reason of a quarantine', () => {
  const state = { is: 'stopped', until } as const;
  expect(tagChanges(state, both)).toEqual({ 'mcm-orphan-quarantined': null });
  expect(tagChanges(state, { 'mcm-orphan-delete-after': '2026-01-30t12-00-00z' })).toEqual({
    'mcm-orphan-delete-after': TIME,
  });
});
