import { Annotations, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { expect, test } from 'vitest';
import { SAFEGUARD_DEFAULTS } from '../../disruption/safeguards.ts';
import { DisruptionsUnderWay } from '../../disruption/under-way.ts';
import { fixedContext } from '../test-caches.ts';
import { deployment, machine, machinesOf, minutes, set } from '../test-objects.ts';
import { spareMachines } from './outdated-size.ts';

function ownedBy<T extends Machine | MachineSet>(owner: MachineDeployment | MachineSet, one: T): T {
  const { name, uid } = owner.metadata;
  const reference = { apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller: true };
  return { ...one, metadata: { ...one.metadata, ownerReferences: [reference] } };
}

function spareOf(
  pool: MachineDeployment,
  options: {
    readonly leaving?: readonly string[];
    readonly more?: readonly Machine[];
    readonly rolloutAnnotations?: boolean;
    readonly observedGeneration?: number;
    readonly onlyOldMachines?: boolean;
  } = {},
): number | undefined {
  const {
    leaving = [],
    more = [],
    rolloutAnnotations = true,
    observedGeneration = 0,
    onlyOldMachines = false,
  } = options;
  const current = ownedBy(pool, set('current', 1));
  const old = { ...ownedBy(pool, set('old', 0)), status: { observedGeneration } };
  const machines = [
    ...machinesOf(2, 'Running', 'new', { owner: onlyOldMachines ? old : current }),
    ...machinesOf(2, 'Running', 'old', { owner: old }),
    ...more.map((one) => ownedBy(current, one)),
    machine('failed', { phase: 'Failed', owner: old }),
    machine('going', { phase: 'Running', deleting: true, owner: old }),
  ];
  const disruptions = new DisruptionsUnderWay();
  for (const name of leaving) disruptions.leaving.add(`uid-${name}`);
  const context = fixedContext(() => undefined, { deployments: [pool], sets: [current, old], machines });
  return spareMachines(old, {
    ...context,
    disruptions,
    safeguards: { settings: { ...SAFEGUARD_DEFAULTS, rolloutAnnotations } },
  } as never);
}

const rolling = (maxUnavailable: number) => ({
  strategy: { type: 'RollingUpdate' as const, rollingUpdate: { maxSurge: 1, maxUnavailable } },
});
const { metadata, ...rest } = deployment(3);

test.each<[string, MachineDeployment, number | undefined]>([
  ['the sets are as small as a rollout may make them', deployment(1), 3],
  ['the sets are too small', deployment(3), 1],
  ['the sets are too small, and one machine may be unavailable', deployment(3, rolling(1)), 2],
  ['maxUnavailable allows the sizes', deployment(3, rolling(2)), 3],
  ['all machines are needed', deployment(6), 0],
  ['Recreate deletes all old machines', deployment(3, { strategy: { type: 'Recreate' } }), undefined],
  ['the deployment is being deleted', { ...rest, metadata: { ...metadata, deletionTimestamp: minutes(0) } }, undefined],
])('spare machines: %s', (_title, pool, spare) => {
  expect(spareOf(pool)).toBe(spare);
});

test('a set that has all machines of its deployment has no limit until it has reported its size', () => {
  const onlyOld = { onlyOldMachines: true };
  const reported = { ...onlyOld, observedGeneration: 1 };
  expect([spareOf(deployment(1), onlyOld), spareOf(deployment(1), reported)]).toEqual([undefined, 3]);
});

test('a set that has reported its size keeps the machines that the deployment needs', () => {
  expect(spareOf(deployment(3, rolling(2)), { observedGeneration: 1 })).toBe(3);
});

test('the limit is lower while new machines wait for capacity, if the rollout may use less surge', () => {
  const annotations = { [Annotations.RolloutMinSurge]: '0' };
  const pool = deployment(4, rolling(0));
  const waits = machine('waits', { phase: 'CrashLoopBackOff' });
  const lastOperation = { errorCode: 'ResourceExhausted', state: 'Failed', type: 'Create' } as const;
  const stuck = { ...waits, status: { ...waits.status, lastOperation } };
  const spareWith = (rolloutAnnotations: boolean) =>
    spareOf({ ...pool, metadata: { ...pool.metadata, annotations } }, { more: [stuck], rolloutAnnotations });
  expect([spareWith(true), spareWith(false)]).toEqual([1, 0]);
});

test('a machine whose delete request was sent is not available, although the cache does not show the deletion', () => {
  expect(spareOf(deployment(3), { leaving: ['new0'] })).toBe(0);
});
