import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareKeys, OrderedKeys } from './ordered-keys.ts';

const key = fc.integer({ min: 0, max: 3000 }).map((number) => `k${String(number)}`);
const steps = fc.array(fc.record({ key, gone: fc.boolean() }), { maxLength: 3000, size: 'max' });

test('keys are in order, counted and found after any insertions and removals', () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 0, max: 400 }), key, key, (all, bulk, from, to) => {
      const keys = new OrderedKeys();
      const plain = new Set<string>();
      // So many sorted keys do not fit into one node of the tree.
      const first = Array.from({ length: bulk }, (_, index) => ({ key: `k${String(index + 1000)}`, gone: false }));
      const last = first.slice(0, bulk - 20).map((step) => ({ ...step, gone: true }));
      for (const step of [...first, ...all, ...last]) {
        if (step.gone) keys.delete(step.key);
        else keys.add(step.key);
        if (step.gone) plain.delete(step.key);
        else plain.add(step.key);
      }
      const sorted = [...plain].sort(compareKeys);
      expect(keys.size).toBe(sorted.length);
      expect([...keys.range('', undefined)]).toEqual(sorted);
      expect([...keys.range(from, to)]).toEqual(sorted.filter((one) => one >= from && one < to));
      expect(keys.rank(from)).toBe(sorted.filter((one) => one < from).length);
    }),
    { numRuns: 60 },
  );
});
