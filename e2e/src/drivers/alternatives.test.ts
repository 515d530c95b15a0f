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
