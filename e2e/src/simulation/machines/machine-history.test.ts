import { expect, test } from 'vitest';
import { playMachines } from './machine-history.ts';

test('the same seed gives the same history, to the byte', async () => {
  for (const seed of [7, 8, 9]) {
    const [first, second] = [await playMachines(seed), await playMachines(seed)];
    expect(first.history.length).toBeGreaterThan(10_000);
    expect(second.history).toBe(first.history);
  }
});
