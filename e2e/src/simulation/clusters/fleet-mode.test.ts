import { sampled } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { again, seedsOf } from '../suites/seeds.testing.ts';
import { playFleet } from './fleet-history.ts';

/** The seeds of histories in which a user deletes a namespace while no replica that knows the cluster remains. */
const DELETIONS = [15, 25, 113];
/** The seed of a history in which a namespace is deleted before a machine controller protects the class of a machine. */
const UNPROTECTED = [1_000_013];
/** The seeds of histories in which quiet clusters have longer Leases. */
const QUIET = [4, 8];

test.each(seedsOf('fleet-mode', 5, [...sampled(DELETIONS, 3), ...sampled(UNPROTECTED, 1), ...sampled(QUIET, 2)]))(
  '$suite $seed: each cluster is served in time, and no VM is lost, doubled or undrained',
  async (one) => {
    const { violations, story } = await playFleet(one);
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
  },
);
