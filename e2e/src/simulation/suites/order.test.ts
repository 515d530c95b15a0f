import { createHash } from 'node:crypto';
import { sampled } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import type { Outcome } from '../histories/outcome.ts';
import { again } from './seeds.testing.ts';
import { type Case, playCase } from './suites.ts';

/** The volumes case contains a Node whose condition reaches the API server seconds after its transition time. */
const CASES: readonly Case[] = sampled(
  [
    { suite: 'volumes', seed: 1_500_001, profile: 'hostile' },
    { suite: 'fleet-mode', seed: 2 },
    { suite: 'rolls', seed: 1 },
    { suite: 'pools', seed: 1, profile: 'lan' },
    { suite: 'machines', seed: 3 },
  ],
  2,
);

const hashOf = ({ history }: Outcome): string => createHash('sha256').update(history).digest('hex');

test('a history does not depend on the histories before it in the same process', async () => {
  const hashes = new Map<Case, string>();
  for (const one of CASES) {
    const outcome = await playCase(one);
    expect(outcome.violations, `${again(one)}\n${outcome.story}`).toEqual([]);
    hashes.set(one, hashOf(outcome));
  }
  for (const one of CASES.toReversed())
    expect(hashOf(await playCase(one)), `${one.suite} ${one.seed}`).toBe(hashes.get(one));
});
