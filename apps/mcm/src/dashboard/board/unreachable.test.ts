import { type Lease, type LeaseAnnotations, VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { Unreachable } from './unreachable.ts';

const SETTINGS: (typeof LeaseAnnotations)['HolderSettings'] = 'holder-settings';

const peer = (name: string, version: number, unreachable: readonly string[], holder = 'h'): Lease =>
  partial<Lease>({
    metadata: {
      name,
      resourceVersion: String(version),
      annotations: { [SETTINGS]: `${holder} ${JSON.stringify({ unreachable })}` },
    },
    spec: { holderIdentity: holder, leaseDurationSeconds: 15 },
  });

test('the dashboard reports a cluster that live replicas cannot reach, until they reach it or end', async () => {
  const clock = new VirtualClock();
  let all: readonly Lease[] = [];
  const store = { list: () => all } as never;
  const unreachable = new Unreachable({ store }, clock);
  all = [
    peer('machine-controller-aws-fleet-1', 1, ['c1']),
    peer('machine-controller-aws-fleet-0', 2, ['c1', 'c2']),
    peer('machine-controller', 3, ['c3']),
  ];
  expect(unreachable.assess()).toEqual(['c1', 'c2']);
  expect(unreachable.of('c1')).toBe(
    'The API server does not respond to machine-controller-aws of replica 0, machine-controller-aws of replica 1.',
  );
  expect(unreachable.of('c3')).toBe('');
  expect(unreachable.assess()).toEqual([]);
  // Replica 1 renews its peer Lease and reaches the cluster.
  await clock.advance(10_000);
  all = [peer('machine-controller-aws-fleet-1', 4, []), all[1] as Lease];
  expect(unreachable.assess()).toEqual(['c1']);
  expect(unreachable.of('c1')).toBe('The API server does not respond to machine-controller-aws of replica 0.');
  await clock.advance(10_000);
  expect(unreachable.assess()).toEqual(['c1', 'c2']);
  expect(unreachable.of('c1')).toBe('');
});
