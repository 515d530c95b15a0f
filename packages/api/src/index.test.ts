import { expect, test } from 'vitest';
import * as api from './index.ts';
import * as testing from './testing/index.ts';

test('resources have the group, version and names of their kinds', () => {
  const { machines, machineSets, machineDeployments, machineClasses } = api;
  expect([machines, machineSets, machineDeployments, machineClasses]).toMatchObject(
    [
      ['machines', 'Machine'],
      ['machinesets', 'MachineSet'],
      ['machinedeployments', 'MachineDeployment'],
      ['machineclasses', 'MachineClass'],
    ].map(([plural, kind]) => ({ group: 'machine.sapcloud.io', version: 'v1alpha1', plural, kind, namespaced: true })),
  );
});

test('the constants of a group have different values', () => {
  const groups = Object.entries(api).filter(([name]) => /^[A-Z][a-z]/.test(name));
  expect(groups.length).toBeGreaterThan(15);
  for (const [name, group] of groups) {
    const values = Object.values(group).map((value) => JSON.stringify(value));
    expect([name, values.length]).toEqual([name, new Set(values).size]);
  }
});

test('the testing entry returns new manifests', () => {
  expect(testing.deploymentManifest()).not.toBe(testing.deploymentManifest());
  expect(new Set(testing.badManifests.map(({ title }) => title)).size).toBe(testing.badManifests.length);
});
