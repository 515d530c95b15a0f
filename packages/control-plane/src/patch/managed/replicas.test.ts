import { expect, it } from 'vitest';
import type { ManagedFieldsEntry } from '../../apimachinery/objects/object.ts';
import { parentEntries, type ReplicasPath, scaleEntries } from './replicas.ts';

const PATHS: Readonly<Record<string, readonly string[] | null>> = {
  'apps/v1': ['spec', 'replicas'],
  'apps/v2': null,
};
const pathOf: ReplicasPath = (apiVersion) => PATHS[apiVersion];
const TIME = '2024-01-01T00:00:00Z';
const BOTH = { 'f:spec': { 'f:paused': {}, 'f:replicas': {} } };
const REPLICAS = { 'f:spec': { 'f:replicas': {} } };

const entry = (
  manager: string,
  operation: 'Apply' | 'Update',
  fieldsV1: ManagedFieldsEntry['fieldsV1'],
  more: Partial<ManagedFieldsEntry> = {},
): ManagedFieldsEntry =>
  ({
    manager,
    operation,
    apiVersion: 'apps/v1',
    fieldsType: 'FieldsV1',
    time: TIME,
    fieldsV1,
    ...more,
  }) as ManagedFieldsEntry;

const inScale = (parent: ManagedFieldsEntry[]) => scaleEntries(parent, pathOf);
const back = (parent: ManagedFieldsEntry[], scale: ManagedFieldsEntry[]) =>
  parentEntries(parent, scale, 'apps/v1', pathOf);

it('shows the owners of the number as owners of the Scale', () => {
  const parent = [entry('a', 'Update', BOTH), entry('b', 'Update', { 'f:spec': { 'f:paused': {} } })];
  expect(inScale(parent)).toEqual([entry('a', 'Update', REPLICAS, { apiVersion: 'autoscaling/v1' })]);
});

it('splits the entry of an updater, and the entry of the number has no time', () => {
  const parent = [entry('a', 'Update', BOTH)];
  const { time: _time, ...split } = entry('a', 'Update', REPLICAS);
  expect(back(parent, inScale(parent))).toEqual([split, entry('a', 'Update', { 'f:spec': { 'f:paused': {} } })]);
});

it('a write of the scale does not change the entry of an applier', () => {
  const parent = [entry('a', 'Apply', BOTH)];
  expect(back(parent, inScale(parent))).toEqual(parent);
});

it('removes the number from owners that the Scale no longer has', () => {
  expect(back([entry('a', 'Apply', BOTH), entry('b', 'Update', REPLICAS)], [])).toEqual([
    entry('a', 'Apply', { 'f:spec': { 'f:paused': {} } }),
  ]);
});

it('drops owners with a version that the kind does not have', () => {
  const other = entry('a', 'Update', BOTH, { apiVersion: 'apps/v9' });
  const without = entry('b', 'Update', BOTH, { apiVersion: 'apps/v2' });
  expect(back([other, without], [])).toEqual([without]);
});

it('counts the last one of several entries of a manager', () => {
  const { time: _time, ...split } = entry('a', 'Update', REPLICAS);
  const rest = entry('a', 'Update', { 'f:spec': { 'f:paused': {} } });
  expect(back([split, rest], [])).toEqual([rest]);
});
