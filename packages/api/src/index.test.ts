import { expect, test } from 'vitest';
import * as api from './index.ts';
import * as testing from './testing/index.ts';

test('resources say how their kinds are reached', () => {
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

test('no two names of a group of constants share a value', () => {
  const groups = Object.entries(api).filter(([name]) => /^[A-Z][a-z]/.test(name));
  expect(groups.length).toBeGreaterThan(15);
  for (const [name, group] of groups) {
    const values = Object.values(group).map((value) => JSON.stringify(value));
    expect([name, values.length]).toEqual([name, new Set(values).size]);
  }
});

test('the testing entry gives fresh manifests', () => {
  expect(testing.deploymentManifest()).not.toBe(testing.deploymentManifest());
  expect(new Set(testing.badManifests.map(({ title }) => title)).size).toBe(testing.badManifests.length);
});
