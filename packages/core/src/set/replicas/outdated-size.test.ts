import type { MachineDeployment, MachineSet } from '@mcm/api';
import { expect, test } from 'vitest';
import { DisruptionsUnderWay } from '../../disruption/under-way.ts';
import { fixedContext } from '../test-caches.ts';
import { deployment, machine, machinesOf, minutes, set } from '../test-objects.ts';
import { spareMachines } from './outdated-size.ts';

function ownedBy(owner: MachineDeployment, one: MachineSet): MachineSet {
  const { name, uid } = owner.metadata;
  const reference = { apiVersion: owner.apiVersion, kind: 'MachineDeployment', name, uid, controller: true };
  return { ...one, metadata: { ...one.metadata, ownerReferences: [reference] } };
}

function spareOf(pool: MachineDeployment, leaving: readonly string[] = []): number | undefined {
  const [current, old] = [ownedBy(pool, set('current', 1)), ownedBy(pool, set('old', 0))];
  const machines = [
    ...machinesOf(2, 'Running', 'new', { owner: current }),
    ...machinesOf(2, 'Running', 'old', { owner: old }),
    machine('failed', { phase: 'Failed', owner: old }),
    machine('going', { phase: 'Running', deleting: true, owner: old }),
  ];
  const disruptions = new DisruptionsUnderWay();
  for (const name of leaving) disruptions.leaving.add(`uid-${name}`);
  const context = fixedContext(() => undefined, { deployments: [pool], sets: [current, old], machines });
  return spareMachines(old, { ...context, disruptions } as never);
}

const rolling = (maxUnavailable: number) => ({
  strategy: { type: 'RollingUpdate' as const, rollingUpdate: { maxSurge: 1, maxUnavailable } },
});
const { metadata, ...rest } = deployment(3);

test.each<[string, MachineDeployment, number | undefined]>([
  ['the sets are as small as a rollout may make them', deployment(1), undefined],
  ['the sets are too small', deployment(3), 1],
  ['the sets are too small, and one machine may be unavailable', deployment(3, rolling(1)), 2],
  ['maxUnavailable allows the sizes', deployment(3, rolling(2)), undefined],
  ['all machines are needed', deployment(6), 0],
  ['Recreate deletes all old machines', deployment(3, { strategy: { type: 'Recreate' } }), undefined],
  ['the deployment is being deleted', { ...rest, metadata: { ...metadata, deletionTimestamp: minutes(0) } }, undefined],
])('spare machines: %s', (_title, pool, spare) => {
  expect(spareOf(pool)).toBe(spare);
});

test('a machine whose delete request was sent is not available, although the cache does not show the deletion', () => {
  expect(spareOf(deployment(3), ['new0'])).toBe(0);
});
