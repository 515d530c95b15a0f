import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OPERATION_GROUPS } from '@mcm/provider-azure';
import { expect, test } from 'vitest';
import { ROOT } from '../root.ts';
import { slimAzure } from './slim-sdks.ts';

const CLIENTS = {
  compute: 'arm-compute/dist/esm/computeManagementClient.js',
  network: 'arm-network/dist/esm/networkManagementClient.js',
} as const;
const sourceOf = (client: keyof typeof CLIENTS): Promise<string> =>
  readFile(join(ROOT, 'providers/azure/node_modules/@azure', CLIENTS[client]), 'utf8');

test.each(['compute', 'network'] as const)(
  'the %s client keeps the groups that the driver uses, and no other',
  async (client) => {
    const slim = slimAzure(await sourceOf(client), OPERATION_GROUPS[client]);
    const groups = [...slim.matchAll(/this\.(\w+) = _get/g)].map(([, name]) => name);
    expect(groups.toSorted()).toEqual([...OPERATION_GROUPS[client]].toSorted());
  },
);

test('the bundler fails for a group that the SDK does not have any more', async () => {
  const source = (await sourceOf('compute')).replace('this.disks = ', 'this.disk = ');
  expect(() => slimAzure(source, OPERATION_GROUPS.compute)).toThrow('no group disks');
});
