import type { Transport } from '@mcm/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inAwsEnvironment } from './aws-environment.ts';
import { aws, azure, gcp } from './providers.ts';
import { wired } from './wired.ts';

/** The deletion of a machine deletes the resources of its VM, even if the VM no longer exists (incident 19). */

let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
});
afterAll(() => back());

const GROUP = '/subscriptions/sub/resourceGroups/rg/providers';
const idOf = (kind: string, name: string): string => `${GROUP}/${kind}/${name}`;
/** Sends a request to the cloud, like a user who uses another tool. */
const byHand = (transport: Transport, method: string, path: string, headers: Readonly<Record<string, string>> = {}) =>
  transport({ method, path, headers: { authorization: 'Bearer by-hand', ...headers } });

test('Azure: NIC, OS disk and data disks of a missing VM are deleted, but not those of others [incident 19]', async () => {
  const spec = azure().machineClass.providerSpec as { properties: { storageProfile: object } };
  const dataDisks = [
    { name: 'seed', lun: 0, diskSizeGB: 20, storageAccountType: 'Premium_LRS', imageRef: { id: '/i' } },
  ];
  const properties = { ...spec.properties, storageProfile: { ...spec.properties.storageProfile, dataDisks } };
  const { stage, cloud, clock, wire, left } = wired(azure(), { properties });
  await stage.create();
  await stage.create({ name: 'm-2' });
  const one = ['m-1-os-disk', 'm-1-seed-0-data-disk'].map((name) => `disk ${name}`);
  expect(left()).toEqual(expect.arrayContaining([...one, 'instance m-1', 'networkInterface m-1-nic']));

  // By default, Azure deletes the resources of a VM together with the VM.
  const vm = idOf('Microsoft.Compute/virtualMachines', 'm-1');
  const stays = { deleteOption: 'Detach' };
  const body = JSON.stringify({
    properties: {
      networkProfile: {
        networkInterfaces: [{ id: idOf('Microsoft.Network/networkInterfaces', 'm-1-nic'), properties: stays }],
      },
      storageProfile: {
        osDisk: { name: 'm-1-os-disk', ...stays },
        dataDisks: [{ lun: 0, name: 'm-1-seed-0-data-disk', ...stays }],
      },
    },
  });
  const headers = { authorization: 'Bearer by-hand' };
  await cloud.transport({ method: 'PATCH', path: `${vm}?api-version=2024-07-01`, headers, body });
  await clock.advance(60_000);
  await byHand(cloud.transport, 'DELETE', `${vm}?api-version=2024-07-01`);
  await clock.advance(60_000);
  expect(left()).toEqual(expect.arrayContaining([...one, 'networkInterface m-1-nic']));
  expect(left()).not.toContain('instance m-1');
  const listed = (await stage.list()).map(({ machineName }) => machineName);
  expect(listed).toEqual(expect.arrayContaining(['m-1', 'm-2']));

  wire.sent.length = 0;
  await stage.delete();
  expect(left()).toEqual(['disk m-2-os-disk', 'disk m-2-seed-0-data-disk', 'instance m-2', 'networkInterface m-2-nic']);
  expect(wire.lines.filter((line) => line.startsWith('DELETE') && line.includes('virtualMachines'))).toEqual([]);
  await stage.delete({ name: 'm-2' });
  expect(left()).toEqual([]);
});

test('AWS: volumes and NICs are deleted with the instance, also after a manual termination [incident 19]', async () => {
  const { stage, cloud, clock, wire, left } = wired(aws({ srcAndDstChecksEnabled: true }));
  const { providerId } = await stage.create();
  await stage.create({ name: 'm-2' });
  const launch = wire.sent
    .map(({ body = '' }) => new URLSearchParams(body))
    .find((form) => form.get('Action') === 'RunInstances');
  const options = [...(launch ?? [])].filter(([key]) => key.endsWith('DeleteOnTermination'));
  expect(options).toEqual([
    ['BlockDeviceMapping.1.Ebs.DeleteOnTermination', 'true'],
    ['NetworkInterface.1.DeleteOnTermination', 'true'],
  ]);

  const authorization = 'AWS4-HMAC-SHA256 Credential=by-hand';
  const body = `Action=TerminateInstances&Version=2016-11-15&InstanceId.1=${providerId?.split('/').at(-1)}`;
  await cloud.transport({ method: 'POST', path: '/', headers: { authorization }, body });
  await clock.advance(120_000);
  await stage.delete(providerId === undefined ? {} : { providerID: providerId });
  await stage.delete();
  expect(left().filter((each) => !each.endsWith('m-2'))).toEqual([]);
  await stage.delete({ name: 'm-2' });
  await clock.advance(120_000);
  expect(left()).toEqual([]);
});

test('GCP: disks are deleted with the instance, also after a manual deletion [incident 19]', async () => {
  const { stage, cloud, clock, wire, left } = wired(gcp());
  await stage.create();
  const insertion = wire.sent.find(({ method, path }) => method === 'POST' && path.includes('/instances?'));
  expect(JSON.parse(insertion?.body ?? '').disks).toMatchObject([{ autoDelete: true }]);
  await byHand(cloud.transport, 'DELETE', '/compute/v1/projects/p/zones/europe-north1-b/instances/m-1');
  await clock.advance(60_000);
  await expect(stage.delete()).rejects.toMatchObject({ code: 'NotFound' });
  expect(left()).toEqual([]);

  // The cloud reports that the creation failed, but keeps the instance and its disk.
  cloud.faults.order({ on: '^POST instances$', failOperation: { code: 'INTERNAL_ERROR', leave: true } });
  await expect(stage.create({ name: 'm-2' })).rejects.toMatchObject({ code: 'Internal' });
  expect(left()).toEqual(['disk m-2', 'instance m-2']);
  await stage.delete({ name: 'm-2' });
  expect(left()).toEqual([]);
});
