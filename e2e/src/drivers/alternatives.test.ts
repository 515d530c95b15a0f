import { Annotations } from '@mcm/api';
import type { Emulator } from '@mcm/cloud-emulators';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inAwsEnvironment } from './aws-environment.ts';
import { Fleet, type FleetProvider } from './fleet.ts';
import { aws, azure, gcp } from './providers.ts';

/** Tests the cloud drivers whose classes can list alternatives, such as other instance types. */

const MINUTE = 60_000;

let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
});
afterAll(() => back());

type Rule = Parameters<Emulator['faults']['order']>[0];

interface Case<Spec, Credentials> {
  readonly provider: FleetProvider<Spec, Credentials>;
  readonly alternatives: readonly object[];
  readonly on: string;
  readonly first: readonly string[];
  readonly effect: Pick<Rule, 'refuse' | 'failOperation'>;
}

async function verify<Spec, Credentials>(one: Case<Spec, Credentials>): Promise<void> {
  const annotations = { [Annotations.CapacityAlternatives]: JSON.stringify(one.alternatives) };
  const fleet = await Fleet.start({ ...one.provider, annotations });
  for (const body of one.first) fleet.cloud.faults.order({ on: one.on, body, ...one.effect });
  try {
    await fleet.make(3);
    await fleet.untilRunning(3, 30 * MINUTE);
    const machines = await fleet.machines();
    const records = machines.map(({ metadata }) => metadata.annotations?.[Annotations.CapacityOffering]);
    expect(new Set(records)).toEqual(new Set([JSON.stringify(one.alternatives[0])]));
    expect(fleet.cloud.faults.list().reduce((sum, { met }) => sum + met, 0)).toBe(1);
    await fleet.annotate('m-0', { [Annotations.CapacityOffering]: null });
    await fleet.deleteAll();
    await fleet.untilGone(60 * MINUTE);
    await fleet.clock.advance(MINUTE);
    expect(fleet.cloud.resources().filter(({ state }) => state !== 'terminated')).toEqual([]);
  } finally {
    await fleet.close();
  }
}

test('AWS: instance type, subnet and market of the alternative reach EC2, and nothing is left', async () => {
  await verify({
    provider: aws(),
    alternatives: [{ machineType: 'm6i.xlarge', zone: 'eu-north-1b', subnet: 'subnet-b', market: 'spot' }],
    on: '^RunInstances$',
    first: ['SubnetId=subnet-a', 'InstanceType=m6i.large'],
    effect: { refuse: { status: 500, code: 'InsufficientInstanceCapacity' } },
  });
});

test('Azure: size, zone, subnet and priority of the alternative reach Resource Manager, and nothing is left', async () => {
  await verify({
    provider: azure(),
    alternatives: [{ machineType: 'Standard_E4s_v5', zone: '2', subnet: 'others', market: 'spot' }],
    on: '^PUT virtualMachines$',
    first: ['"zones":\\["1"\\]', '"vmSize":"Standard_D4s_v5"'],
    effect: { refuse: { status: 409, code: 'ZonalAllocationFailed' } },
  });
});

test('GCP: machine type, zone and preemptible of the alternative reach Compute Engine, and nothing is left', async () => {
  await verify({
    provider: gcp(),
    alternatives: [{ machineType: 'n2-standard-8', zone: 'europe-north1-c', market: 'spot' }],
    on: '^POST instances$',
    first: ['zones/europe-north1-b/instances'],
    effect: { failOperation: { code: 'ZONE_RESOURCE_POOL_EXHAUSTED' } },
  });
});

test('Azure: if the cloud refuses a disk, the alternative moves the NIC and the earlier disks to its subnet and zone', async () => {
  const provider = azure();
  const spec = provider.machineClass.providerSpec as { readonly properties: { readonly storageProfile: object } };
  const disk = { diskSizeGB: 20, storageAccountType: 'Premium_LRS', imageRef: { id: '/i' } };
  const dataDisks = [
    { ...disk, lun: 0 },
    { ...disk, lun: 1 },
  ];
  const properties = { ...spec.properties, storageProfile: { ...spec.properties.storageProfile, dataDisks } };
  const annotations = { [Annotations.CapacityAlternatives]: JSON.stringify([{ zone: '2', subnet: 'others' }]) };
  const machineClass = { ...provider.machineClass, providerSpec: { ...spec, properties } };
  const fleet = await Fleet.start({ ...provider, machineClass, annotations });
  const refuse = { status: 409, code: 'ZonalAllocationFailed' };
  fleet.cloud.faults.order({ on: '^PUT disks$', body: '-1-data-disk', times: 1, refuse });
  const bodyOf = async (kind: string, name: string): Promise<unknown> => {
    const path = `/subscriptions/sub/resourceGroups/rg/providers/${kind}/${name}?api-version=2023-07-01`;
    const headers = { authorization: 'Bearer test' };
    return JSON.parse(await (await fleet.cloud.transport({ method: 'GET', path, headers })).text());
  };
  try {
    await fleet.make(1);
    await fleet.untilRunning(1, 30 * MINUTE);
    for (const name of ['m-0-0-data-disk', 'm-0-1-data-disk'])
      expect(await bodyOf('Microsoft.Compute/disks', name)).toMatchObject({ zones: ['2'] });
    expect(await bodyOf('Microsoft.Compute/virtualMachines', 'm-0')).toMatchObject({ zones: ['2'] });
    const subnet = { id: expect.stringMatching(/\/subnets\/others$/) };
    expect(await bodyOf('Microsoft.Network/networkInterfaces', 'm-0-nic')).toMatchObject({
      properties: { ipConfigurations: [{ properties: { subnet } }] },
    });
    await fleet.deleteAll();
    await fleet.untilGone(60 * MINUTE);
    expect(fleet.cloud.resources()).toEqual([]);
  } finally {
    await fleet.close();
  }
});
