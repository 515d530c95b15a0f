import type { Machine } from '@mcm/api';
import type { Change } from '@mcm/kube';
import { expect, test } from 'vitest';
import { machine } from '../../machine/testing.ts';
import { orphanKeysOf } from './orphans.ts';

const saying = (description: string): Machine =>
  machine({ status: { lastOperation: { description, state: 'Failed', type: 'Create' } } });
const updated = (old: string, now: string): Change<Machine> => ({
  type: 'updated',
  key: 'test/machine-0',
  object: saying(now),
  old: saying(old),
});

test.each<[row: string, change: Change<Machine>, keys: readonly string[]]>([
  ['S-O1 deleted', { type: 'deleted', key: 'test/machine-0', object: machine() }, ['test/small', 'nodes']],
  ['S-O2 an update without OutOfRange', updated('a', 'b'), []],
  ['S-O3 an update to NotFound', updated('a', 'code = [NotFound]'), []],
  ['S-O4 an update to OutOfRange', updated('a', 'code = [OutOfRange]'), ['test/small']],
  ['S-O5 an update from OutOfRange', updated('code = [OutOfRange]', 'b'), []],
])('%s', (_row, change, keys) => {
  expect(orphanKeysOf(change)).toEqual(keys);
});
