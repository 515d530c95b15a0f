import { expect, test } from 'vitest';
import { assigned } from './assignment.ts';

const CLUSTERS = Array.from({ length: 2_000 }, (_, index) => `cluster-${index}`);
const peers = (...weights: number[]) => weights.map((weight, index) => ({ name: `replica-${index}`, weight }));

test('a replica that joins takes its share, and no cluster moves between the others', () => {
  const before = peers(100, 100, 100);
  const after = peers(100, 100, 100, 100);
  const moved = CLUSTERS.filter((cluster) => assigned(cluster, before) !== assigned(cluster, after));
  expect(new Set(moved.map((cluster) => assigned(cluster, after)))).toEqual(new Set(['replica-3']));
  expect(moved.length).toBeGreaterThan(400);
  expect(moved.length).toBeLessThan(600);
});

test('a replica that leaves moves only its own clusters', () => {
  const before = peers(100, 100, 100);
  const after = peers(100, 100);
  const moved = CLUSTERS.filter((cluster) => assigned(cluster, before) !== assigned(cluster, after));
  expect(new Set(moved.map((cluster) => assigned(cluster, before)))).toEqual(new Set(['replica-2']));
});

test('shares are proportional to the weights', () => {
  const owners = CLUSTERS.map((cluster) => assigned(cluster, peers(100, 1, 0)));
  const small = owners.filter((owner) => owner === 'replica-1').length;
  expect(small).toBeGreaterThan(5);
  expect(small).toBeLessThan(50);
  expect(owners).not.toContain('replica-2');
});

test('the order of the replicas does not matter, and without a weight there is no owner', () => {
  const both = peers(100, 50);
  for (const cluster of CLUSTERS.slice(0, 100))
    expect(assigned(cluster, both)).toBe(assigned(cluster, both.toReversed()));
  expect(assigned('c', peers(0, 0))).toBeUndefined();
  expect(assigned('c', [])).toBeUndefined();
});

test('a replica that cannot reach a cluster is skipped for this cluster, unless no replica reaches it', () => {
  const [first = '', ...others] = CLUSTERS;
  const all = peers(100, 100, 100);
  const owner = assigned(first, all);
  const without = all.map((peer) => (peer.name === owner ? { ...peer, unreachable: [first] } : peer));
  expect(assigned(first, without)).not.toBe(owner);
  for (const cluster of others) expect(assigned(cluster, without)).toBe(assigned(cluster, all));
  expect(
    assigned(
      first,
      all.map((peer) => ({ ...peer, unreachable: [first] })),
    ),
  ).toBe(owner);
});
