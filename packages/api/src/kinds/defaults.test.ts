import { expect, test } from 'vitest';
import { deploymentManifest, setManifest } from '../testing/manifests.ts';
import { defaultMachineDeployment, defaultMachineSet } from './defaults.ts';
import type { MachineDeployment, MachineDeploymentSpec, MachineDeploymentStrategy } from './machine-deployment.ts';
import type { MachineSet } from './machine-set.ts';

const deployment = (change: Partial<MachineDeploymentSpec>): MachineDeployment =>
  deploymentManifest(change) as unknown as MachineDeployment;

test.each<[title: string, given: MachineDeploymentStrategy, result: MachineDeploymentStrategy]>([
  ['nothing', {}, { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }],
  ['a type', { type: 'RollingUpdate' }, { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }],
  [
    'half a budget',
    { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2 } },
    { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 2 } },
  ],
  ['Recreate', { type: 'Recreate' }, { type: 'Recreate' }],
  [
    'in-place',
    { type: 'InPlaceUpdate', inPlaceUpdate: { orchestrationType: 'Auto' } },
    { type: 'InPlaceUpdate', inPlaceUpdate: { maxSurge: 0, maxUnavailable: 1, orchestrationType: 'Auto' } },
  ],
  ['in-place without its block, which the validation refuses', { type: 'InPlaceUpdate' }, { type: 'InPlaceUpdate' }],
])('strategy: %s', (_title, given, result) => {
  expect(defaultMachineDeployment(deployment({ strategy: given })).spec.strategy).toEqual(result);
});

test('a complete object is returned unchanged, so it is not written', () => {
  const complete = deployment({});
  expect(defaultMachineDeployment(complete)).toBe(complete);
  const once = defaultMachineDeployment(deployment({ strategy: {} }));
  expect(defaultMachineDeployment(once)).toBe(once);
});

test('absent replicas count as 0', () => {
  const set = setManifest() as unknown as MachineSet;
  expect(defaultMachineSet(set)).toBe(set);
  const { replicas: _, ...spec } = set.spec;
  expect(defaultMachineSet({ ...set, spec }).spec.replicas).toBe(0);
  const { replicas: __, ...deploymentSpec } = deployment({}).spec;
  expect(defaultMachineDeployment({ ...deployment({}), spec: deploymentSpec }).spec.replicas).toBe(0);
});
