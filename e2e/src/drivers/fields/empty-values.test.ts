import { driverReference } from '@mcm/core';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { sampled } from '@mcm/kube/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inAwsEnvironment } from '../aws-environment.ts';
import type { FleetProvider } from '../fleet.ts';
import { aws, azure, gcp } from '../providers.ts';
import { fieldOf, type Leaf, membersOf, put, without } from './leaves.ts';
import { requestsFor } from './recorded-requests.ts';
import { AWS, AZURE, type FieldSpecs, GCP } from './specs.ts';

/**
 * For all drivers, null, an empty text, an empty list and an empty object count as an absent field. Fields that are
 * pointers in the original are exceptions: the driver sends or refuses their empty values.
 */

let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
});
afterAll(() => back());

type EmptyValueEffect = 'sent' | 'refused';

type Exceptions = Readonly<Record<string, EmptyValueEffect>>;

const AWS_EXCEPTIONS: Exceptions = {
  'blockDevices[].ebs.snapshotID': 'sent',
  'capacityReservation.capacityReservationId': 'sent',
  'capacityReservation.capacityReservationResourceGroupArn': 'sent',
  'cpuOptions.amdSevSnp': 'refused',
  instanceMarketOptions: 'refused',
  'networkInterfaces[].description': 'sent',
  'networkInterfaces[].interfaceType': 'sent',
  'placement.affinity': 'refused',
  'placement.groupId': 'sent',
  'placement.hostId': 'sent',
  'placement.tenancy': 'refused',
  spotPrice: 'sent',
};

const AZURE_EXCEPTIONS: Exceptions = {
  cloudConfiguration: 'refused',
  'properties.capacityReservation': 'sent',
  'properties.capacityReservation.capacityReservationGroupID': 'refused',
  'properties.diagnosticsProfile': 'sent',
  'properties.diagnosticsProfile.storageURI': 'sent',
  'properties.identityID': 'sent',
  'properties.machineSet': 'refused',
  'properties.securityProfile': 'sent',
  'properties.securityProfile.securityType': 'sent',
  'properties.securityProfile.uefiSettings': 'sent',
  'properties.storageProfile.dataDisks[].imageRef': 'refused',
  'properties.storageProfile.osDisk.managedDisk.securityProfile.securityEncryptionType': 'sent',
  tags: 'refused',
};

const GCP_EXCEPTIONS: Exceptions = {
  advancedMachineFeatures: 'sent',
  'disks[].encryption': 'refused',
  gpu: 'refused',
  'metadata[].value': 'sent',
  shieldedInstanceConfiguration: 'sent',
};

/** Returns the empty value of the type, or undefined. */
function emptyOf(value: unknown): unknown {
  if (typeof value === 'string') return '';
  if (Array.isArray(value)) return [];
  return typeof value === 'object' && value !== null ? {} : undefined;
}

function describeEmpties<Spec, Credentials>(
  open: () => FleetProvider<Spec, Credentials>,
  { specs }: FieldSpecs,
  exceptions: Exceptions,
): void {
  const context = {
    clock: new VirtualClock(),
    random: seededRandom(1),
    connect: () => () => Promise.reject(new Error()),
  };
  const schema = driverReference(open().driver(context)).providerSpec;
  // Keys of maps are not fields.
  const members = specs.flatMap((spec) =>
    membersOf(spec).flatMap((leaf) => {
      const field = fieldOf(leaf.path, schema);
      return field.split('.').at(-1)?.replace('[]', '') === leaf.path.at(-1) ? [{ spec, field, ...leaf }] : [];
    }),
  );
  const first = new Map<string, Leaf & { readonly spec: object }>();
  for (const { field, ...member } of members) if (!first.has(field)) first.set(field, member);

  test('every exception is a field', () => {
    expect([...first.keys()]).toEqual(expect.arrayContaining(Object.keys(exceptions)));
  });

  test.each(sampled([...first], 8, 2))('%s', async (field, { spec, path, value }) => {
    const absent = await requestsFor(open(), without(spec, path) as object);
    expect(await requestsFor(open(), put(spec, path, null) as object)).toEqual(absent);
    const empty = emptyOf(value);
    if (empty === undefined) return;
    const asked = await requestsFor(open(), put(spec, path, empty) as object);
    const fate = exceptions[field];
    if (fate === undefined) expect(asked).toEqual(absent);
    else {
      expect(asked).not.toEqual(absent);
      expect(asked.failed === undefined ? 'sent' : 'refused').toBe(fate);
    }
  });
}

describe('aws', () => describeEmpties(aws, AWS, AWS_EXCEPTIONS));
describe('azure', () => describeEmpties(azure, AZURE, AZURE_EXCEPTIONS));
describe('gcp', () => describeEmpties(gcp, GCP, GCP_EXCEPTIONS));
