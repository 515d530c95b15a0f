import { expect, test } from 'vitest';
import {
  type InstanceMatch,
  InstanceSet,
  instanceKey,
  isInstance,
  matchInstances,
  mayBeInstance,
  sameInstance,
} from './instance.ts';

const arm = (subscription: string, group: string, rest: string): string =>
  `azure:///subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.Compute/${rest}`;

const rows: [string, string | undefined, string | undefined, InstanceMatch][] = [
  ['AWS: region by the driver, zone by the cloud controller', 'aws:///eu-west-1/i-1', 'aws:///eu-west-1a/i-1', 'same'],
  ['AWS: a local zone', 'aws:///us-west-2/i-1', 'aws:///us-west-2-lax-1a/i-1', 'same'],
  ['AWS: an old cloud controller writes no zone', 'aws:///eu-west-1/i-1', 'aws:///i-1', 'alike'],
  ['AWS: another instance', 'aws:///eu-west-1/i-1', 'aws:///eu-west-1a/i-2', 'different'],
  ['AWS: another region', 'aws:///eu-west-1/i-1', 'aws:///eu-central-1a/i-1', 'different'],
  ['AWS: a region whose name has the same start', 'aws:///eu-west-1/i-1', 'aws:///eu-west-12/i-1', 'different'],
  ['AWS: another zone', 'aws:///eu-west-1a/i-1', 'aws:///eu-west-1b/i-1', 'different'],
  ['AWS: a Fargate node', 'aws:///eu-west-1/i-1', 'aws:///eu-west-1a/0123/i-1', 'different'],
  ['Azure: the driver, and the cloud controller', 'azure:///westeurope/vm-1', arm('s', 'rg', 'virtualMachines/vm-1'), 'alike'], // biome-ignore format: a row
  [
    'Azure: the same in another letter case',
    'azure:///westeurope/vm-1',
    arm('S', 'RG', 'virtualmachines/VM-1'),
    'alike',
  ],
  ['Azure: one VM in two letter cases', arm('s', 'rg', 'virtualMachines/vm-1'), arm('S', 'Rg', 'virtualMachines/VM-1'), 'same'], // biome-ignore format: a row
  ['Azure: one location in two letter cases', 'azure:///WestEurope/vm-1', 'azure:///westeurope/vm-1', 'same'],
  ['Azure: another VM', 'azure:///westeurope/vm-1', arm('s', 'rg', 'virtualMachines/vm-2'), 'different'],
  ['Azure: another location', 'azure:///westeurope/vm-1', 'azure:///northeurope/vm-1', 'different'],
  ['Azure: another subscription', arm('s', 'rg', 'virtualMachines/vm-1'), arm('t', 'rg', 'virtualMachines/vm-1'), 'different'], // biome-ignore format: a row
  ['Azure: another resource group', arm('s', 'rg', 'virtualMachines/vm-1'), arm('s', 'other', 'virtualMachines/vm-1'), 'different'], // biome-ignore format: a row
  ['Azure: number 0 of a scale set is not the VM with the name 0', 'azure:///westeurope/0', arm('s', 'rg', 'virtualMachineScaleSets/a/virtualMachines/0'), 'different'], // biome-ignore format: a row
  ['Azure: number 0 of two scale sets', arm('s', 'rg', 'virtualMachineScaleSets/a/virtualMachines/0'), arm('s', 'rg', 'virtualMachineScaleSets/b/virtualMachines/0'), 'different'], // biome-ignore format: a row
  ['Azure: number 0 of a scale set in two letter cases', arm('s', 'rg', 'virtualMachineScaleSets/a/virtualMachines/0'), arm('S', 'rg', 'virtualMachineScaleSets/A/virtualMachines/0'), 'same'], // biome-ignore format: a row
  ['GCP: three slashes and two', 'gce:///p/europe-west1-b/m-1', 'gce://p/europe-west1-b/m-1', 'same'],
  ['GCP: another project', 'gce:///p/europe-west1-b/m-1', 'gce://q/europe-west1-b/m-1', 'different'],
  ['GCP: another zone', 'gce:///p/europe-west1-b/m-1', 'gce://p/europe-west1-c/m-1', 'different'],
  ['GCP: another name', 'gce:///p/europe-west1-b/m-1', 'gce://p/europe-west1-b/m-2', 'different'],
  ['local: equal', 'local:///local-a/i-1', 'local:///local-a/i-1', 'same'],
  ['local: another zone', 'local:///local-a/i-1', 'local:///local-b/i-1', 'different'],
  ['pods: names without a scheme, one of which is a part of the other', 'machine-a', 'machine-ab', 'different'],
  ['pods: equal', 'machine-a', 'machine-a', 'same'],
  ['another cloud: one ID has more parts', 'mycloud:///region/vm-1', 'mycloud://zone/vm-1', 'alike'],
  ['another cloud: another VM', 'mycloud:///region/vm-1', 'mycloud:///region/vm-2', 'different'],
  ['the scheme in capitals', 'AWS:///eu-west-1/i-1', 'aws:///eu-west-1a/i-1', 'same'],
  ['IDs with different schemes cannot be compared', 'aws:///eu-west-1/i-1', 'k3s://node', 'unknown'],
  ['a Pod and a node of kind', 'machine-a', 'kind://docker/kind/machine-a', 'unknown'],
  ['none', 'aws:///eu-west-1/i-1', undefined, 'unknown'],
  ['an empty one', '', 'aws:///eu-west-1/i-1', 'unknown'],
];

test.each(rows)('%s', (_title, a, b, match) => {
  expect([matchInstances(a, b), matchInstances(b, a)]).toEqual([match, match]);
  expect(sameInstance(a, b)).toBe(match !== 'different');
  expect(isInstance(a, b)).toBe(match === 'same' || match === 'alike');
});

test('all ids of one VM have the same key in an index', () => {
  for (const [title, a, b] of rows) {
    if (a === undefined || b === undefined || !isInstance(a, b)) continue;
    expect([title, instanceKey(a)]).toEqual([title, instanceKey(b)]);
    expect(new InstanceSet([a]).has(b)).toBe(true);
  }
  expect(new InstanceSet(['gce:///p/z/m-1', 'gce:///p/y/m-1']).has('gce://p/x/m-1')).toBe(false);
});

test('ids of two schemes may name one VM if their last parts are equal', () => {
  expect(mayBeInstance('aws:///eu-west-1/i-1', 'other://I-1')).toBe(true);
  expect(mayBeInstance('aws:///eu-west-1/i-1', 'other://i-2')).toBe(false);
  expect(mayBeInstance('gce:///p/z/m-1', 'gce://p/y/m-1')).toBe(false);
  expect(mayBeInstance('gce:///p/z/m-1', undefined)).toBe(false);
});
