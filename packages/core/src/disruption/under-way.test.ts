import type { MachineSet } from '@mcm/api';
import { expect, test } from 'vitest';
import { node } from '../machine/testing.ts';
import { DisruptionsUnderWay } from './under-way.ts';

const set = (resourceVersion: string, replicas?: number): MachineSet =>
  ({ metadata: { name: 's', uid: 'uid-s', resourceVersion }, spec: { replicas } }) as MachineSet;

test('a smaller size of a set counts until the cache shows a newer version of the set', () => {
  const underWay = new DisruptionsUnderWay();
  expect([underWay.isShrinking(set('1', 5)), underWay.replicasOf(set('1', 5))]).toEqual([false, 5]);
  underWay.shrinks(set('1', 3), 'uid-d');
  expect([underWay.isShrinking(set('1', 5)), underWay.replicasOf(set('1', 5))]).toEqual([true, 3]);
  expect(underWay.replicasOf(set('1', 2))).toBe(2);
  expect([underWay.isShrinking(set('2', 5)), underWay.replicasOf(set('2', 5))]).toEqual([false, 5]);
  expect(underWay.isShrinking({ ...set('1', 5), metadata: { ...set('1').metadata, uid: 'other' } })).toBe(false);
  const empty = new DisruptionsUnderWay();
  expect(empty.replicasOf(set('1'))).toBe(0);
  empty.shrinks(set('1'), 'uid-d');
  expect(empty.replicasOf(set('1', 5))).toBe(0);
});

test('a settled write is forgotten, and its deployment is reported once', () => {
  const underWay = new DisruptionsUnderWay();
  const settled: string[] = [];
  underWay.onSettled((uid) => void settled.push(`a ${uid}`));
  underWay.onSettled((uid) => void settled.push(`b ${uid}`));
  underWay.settled('uid-s');
  underWay.shrinks(set('1', 3), 'uid-d');
  underWay.settled('uid-s');
  underWay.settled('uid-s');
  expect(settled).toEqual(['a uid-d', 'b uid-d']);
  expect([underWay.isShrinking(set('1', 5)), underWay.replicasOf(set('1', 5))]).toEqual([false, 5]);
});

test('a selected Node counts until the cache shows a newer version of it, and not again', () => {
  const underWay = new DisruptionsUnderWay();
  const version = (resourceVersion: string) => node({ metadata: { resourceVersion } });
  expect(underWay.isSelecting(version('1'))).toBe(false);
  underWay.selects(version('1'));
  expect([underWay.isSelecting(version('1')), underWay.isSelecting(version('1'))]).toEqual([true, true]);
  expect(underWay.isSelecting(node({ name: 'other' }))).toBe(false);
  expect([underWay.isSelecting(version('2')), underWay.isSelecting(version('1'))]).toEqual([false, false]);
});

test('a machine counts as leaving by its UID', () => {
  const underWay = new DisruptionsUnderWay();
  underWay.leaving.add('uid-m');
  const leaving = (uid: string) => underWay.isLeaving({ metadata: { uid } } as never);
  expect([leaving('uid-m'), leaving('uid-n')]).toEqual([true, false]);
});
