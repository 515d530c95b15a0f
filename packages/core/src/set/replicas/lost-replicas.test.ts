import { Labels, type MachineSet } from '@mcm/api';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { LostReplicas } from './lost-replicas.ts';

const set = (status: MachineSet['status'], labels: Readonly<Record<string, string>> = {}): MachineSet =>
  partial<MachineSet>({ metadata: { name: 's', labels }, spec: { replicas: 2 }, status });
const condition = (type: 'InvalidSpec' | 'ReplicaFailure') => ({ type, status: 'True' as const });

test.each<[string, MachineSet, number]>([
  ['a set whose status counts machines has lost the missing ones', set({ replicas: 1, observedGeneration: 0 }), 2],
  ['a set whose last machine is deleted has lost all', set({ replicas: 0, observedGeneration: 1 }), 2],
  ['a new set has lost none', set(undefined), 0],
  [
    'a set that cannot create machines has lost none',
    set({ observedGeneration: 1, machineSetCondition: [condition('InvalidSpec')] }),
    0,
  ],
  ['or could be', set({ observedGeneration: 1, machineSetCondition: [condition('ReplicaFailure')] }), 0],
  [
    'a set that must not create machines has lost none',
    set({ observedGeneration: 1 }, { [Labels.ScaleUpDisabled]: 'true' }),
    0,
  ],
])('%s', (_title, found, lost) => {
  expect(new LostReplicas().count(found, [])).toBe(lost);
});
