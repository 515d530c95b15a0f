import { readdirSync, readFileSync } from 'node:fs';
import { crdFileName, crdYaml } from '@mcm/api/crd';
import { expect, test } from 'vitest';
import { GROUP } from '../kinds/group.ts';
import { machineConfigCrds } from './crds.ts';

const DIRECTORY = new URL('../../../../deploy/crds/', import.meta.url);

test('deploy/crds has exactly the CRDs of the schemas', () => {
  const stored = readdirSync(DIRECTORY).filter((name) => name.startsWith(`${GROUP}_`));
  expect(stored.sort()).toEqual(machineConfigCrds.map(crdFileName).sort());
  for (const crd of machineConfigCrds) {
    expect(readFileSync(new URL(crdFileName(crd), DIRECTORY), 'utf8')).toBe(crdYaml(crd, '@mcm/machine-config'));
  }
});

test('all kinds are cluster-scoped, and MachineConfig does not use the short name of Machine', () => {
  expect(
    machineConfigCrds.map(({ spec }) => `${spec.names.kind} ${spec.scope} ${spec.names.shortNames ?? '-'}`),
  ).toEqual([
    'MachineConfig Cluster mcfg',
    'MachineConfigPool Cluster mcp',
    'ControllerConfig Cluster -',
    'KubeletConfig Cluster -',
    'ContainerRuntimeConfig Cluster ctrcfg',
  ]);
});
