import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OPERATION_GROUPS } from '@mcm/provider-azure';
import { type Description, METHODS, slimDescriptions } from '@mcm/provider-gcp';
import { expect, test } from 'vitest';
import { ROOT } from '../root.ts';
import { slimAws, slimAzure } from './slim-sdks.ts';

const CLIENTS = {
  compute: 'arm-compute/dist/esm/computeManagementClient.js',
  network: 'arm-network/dist/esm/networkManagementClient.js',
} as const;
const sourceOf = (client: keyof typeof CLIENTS): Promise<string> =>
  readFile(join(ROOT, 'providers/azure/node_modules/@azure', CLIENTS[client]), 'utf8');

test.each(['compute', 'network'] as const)(
  'the %s client keeps exactly the groups that the driver uses',
  async (client) => {
    const slim = slimAzure(await sourceOf(client), OPERATION_GROUPS[client]);
    const groups = [...slim.matchAll(/this\.(\w+) = _get/g)].map(([, name]) => name);
    expect(groups.toSorted()).toEqual([...OPERATION_GROUPS[client]].toSorted());
  },
);

test('the bundler fails if a used group no longer exists in the SDK', async () => {
  const source = (await sourceOf('compute')).replace('this.disks = ', 'this.disk = ');
  expect(() => slimAzure(source, OPERATION_GROUPS.compute)).toThrow('no operation group disks');
});

const describedByGoogle = async (): Promise<Description> =>
  JSON.parse(
    await readFile(join(ROOT, 'providers/gcp/node_modules/@google-cloud/compute/build/protos/protos.json'), 'utf8'),
  ) as Description;
const v1Of = (all: Description): Description | undefined =>
  ['google', 'cloud', 'compute', 'v1'].reduce<Description | undefined>((each, name) => each?.nested?.[name], all);

test('for Compute Engine, only the used methods and their messages are described', async () => {
  const slim = slimDescriptions(await describedByGoogle());
  const v1 = v1Of(slim);
  for (const [service, names] of Object.entries(METHODS))
    expect(Object.keys(v1?.nested?.[service]?.methods ?? {})).toEqual(names);
  expect(Object.keys(v1?.nested ?? {})).toEqual(
    expect.arrayContaining(['Instance', 'InstanceList', 'Operation', 'SerialPortOutput', 'AttachedDisk']),
  );
  expect(JSON.stringify(slim).length).toBeLessThan(500_000);
  expect(slimDescriptions(slim)).toEqual(slim);
});

test('the bundler fails if Google no longer describes a used method', async () => {
  const all = await describedByGoogle();
  const { Get: _, ...methods } = v1Of(all)?.nested?.ZoneOperations?.methods ?? {};
  const nested = { ...v1Of(all)?.nested, ZoneOperations: { methods } };
  const without: Description = {
    nested: { google: { nested: { cloud: { nested: { compute: { nested: { v1: { nested } } } } } } } },
  };
  expect(() => slimDescriptions(without)).toThrow('ZoneOperations.Get');
});

test('each description of EC2 is marked completely', async () => {
  const path = 'providers/aws/node_modules/@aws-sdk/client-ec2/dist-es/schemas/schemas_0.js';
  const source = await readFile(join(ROOT, path), 'utf8');
  const slim = slimAws(source);
  const declared = source.match(/^(?:export )?var [\w$]+ = \[/gm) ?? [];
  expect(declared.length).toBeGreaterThan(1_000);
  expect(slim.match(/= \/\* @__PURE__ \*\/ \(\(\) => \[/g)).toHaveLength(declared.length);
  expect(slim.match(/\]\)\(\);$/gm)).toHaveLength(declared.length);
});

test('the bundler fails if the descriptions of EC2 have another form', () => {
  expect(() => slimAws('export const descriptions = {};')).toThrow('have an unknown format');
});
