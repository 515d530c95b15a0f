import { describe, expect, test } from 'vitest';
import { refused, withSpec } from '../stage.ts';
import { at, GROUP, ID, image, open, PROPERTIES, SECRET, SPEC, storage, URN } from './open.ts';

/** Azure's scenarios for the provider spec and the Secret. */

describe('provider spec and secret', () => {
  const { zone: _, ...nowhere } = PROPERTIES;
  const placed = (change: object) => withSpec(SPEC, { properties: { ...nowhere, ...change } });
  const set = { id: '/set' };

  test('the old machine set becomes a scale set or an availability set [Z24]', async () => {
    const sent = async (kind: string) => {
      const { stage, asked } = open();
      await stage.create({ spec: placed({ machineSet: { id: '/set', kind } }) });
      return asked('PUT', '/virtualMachines/')[0]?.body.properties;
    };
    expect(await sent('vmo')).toMatchObject({ virtualMachineScaleSet: set });
    expect(await sent('availabilityset')).toMatchObject({ availabilitySet: set });
    await refused(open().stage.create({ spec: placed({ machineSet: { id: '/set', kind: 'x' } }) }), 'InvalidArgument');
  });

  test('empty and blank values have the meaning that they have in the original', async () => {
    const opened = open();
    const blank = {
      ...PROPERTIES.osProfile,
      linuxConfiguration: { ssh: { publicKeys: { path: '/k', keyData: ' ' } } },
    };
    const osDisk = { ...PROPERTIES.storageProfile.osDisk, managedDisk: { securityProfile: {} } };
    const properties = await opened.made({
      availabilitySet: {},
      virtualMachineScaleSet: {},
      osProfile: blank,
      securityProfile: { securityType: ' ' },
      ...storage({ osDisk }),
    });
    expect(properties.properties).toMatchObject({
      availabilitySet: { id: '' },
      virtualMachineScaleSet: { id: '' },
      securityProfile: { securityType: ' ' },
      osProfile: { linuxConfiguration: { ssh: { publicKeys: [{ keyData: 'ssh-rsa NOBODY' }] } } },
    });
    expect(JSON.stringify(properties)).not.toContain('"managedDisk":{"storageAccountType":"","securityProfile"');
  });

  test.each([
    { zone: 1, availabilitySet: set },
    { zone: 1, virtualMachineScaleSet: set },
    { availabilitySet: set, virtualMachineScaleSet: set },
    { zone: 1, availabilitySet: set, virtualMachineScaleSet: set },
    {},
  ])('a VM without exactly one of zone, availability set and scale set is refused: %j [Z25]', async (change) => {
    const words = 'providerSpec.properties.zone|.availabilitySet|.virtualMachineScaleSet: Forbidden';
    await refused(open().stage.create({ spec: placed(change) }), 'InvalidArgument', words);
  });

  test.each([
    {},
    { id: '/i', urn: URN },
    { id: '/i', urn: URN, communityGalleryImageID: '/c', sharedGalleryImageID: '/s' },
  ])('a VM without exactly one image is refused: %j [Z26]', async (reference) => {
    const message = await open().bad(
      image(reference),
      'imageReference.id|.urn|.communityGalleryImageID|.sharedGalleryImageID',
    );
    expect(message.match(/Forbidden/g)).toHaveLength(1);
  });

  const osDisk = (change: object) => storage({ osDisk: { ...PROPERTIES.storageProfile.osDisk, ...change } });

  test('an invalid OS disk is refused with its field [Z28]', async () => {
    await open().bad(osDisk({ createOption: '' }), 'osDisk.createOption');
    for (const diskSizeGB of [0, -10]) await open().bad(osDisk({ diskSizeGB }), 'osDisk.diskSizeGB');
    const managedDisk = { securityProfile: { securityEncryptionType: 'x' } };
    await open().bad(osDisk({ managedDisk }), 'osDisk.securityEncryptionType');
  });

  test('invalid data disks are refused with their fields [Z29]', async () => {
    const disk = { name: 'd', lun: 0, diskSizeGB: 10, storageAccountType: 'Premium_LRS' };
    const dataDisks = (...all: object[]) => storage({ dataDisks: all });
    await open().bad(dataDisks({ ...disk, storageAccountType: '' }), 'dataDisks.storageAccountType: Required');
    await open().bad(dataDisks({ ...disk, diskSizeGB: -1 }), 'dataDisks.diskSizeGB: Invalid');
    const message = await open().bad(dataDisks(disk, disk, { ...disk, lun: 1 }, { ...disk, lun: 1 }));
    expect(message.match(/dataDisks\.lun: Invalid/g)).toHaveLength(2);
  });

  test('the ID of a capacity reservation group is sent, and an ID of another type is refused [Z30]', async () => {
    const of = (capacityReservationGroupID: string) => ({ capacityReservation: { capacityReservationGroupID } });
    await open().bad(of('Foo/bar/baz'), 'capacityReservation');
    await open().bad(of(at.vm()), 'capacityReservation');
    const good = `${GROUP}/Microsoft.Compute/capacityReservationGroups/g`;
    expect((await open().made(of(good))).properties).toMatchObject({
      capacityReservation: { capacityReservationGroup: { id: good } },
    });
  });

  test('the name of the cloud selects the endpoint, and an unknown name is refused [Z31]', async () => {
    const clouds = [
      [undefined, 'https://management.azure.com'],
      [{ name: 'AzurePublic' }, 'https://management.azure.com'],
      [{ name: 'AzureChina' }, 'https://management.chinacloudapi.cn'],
      [{ name: 'AzureGovernment' }, 'https://management.usgovcloudapi.net'],
    ] as const;
    for (const [cloudConfiguration, origin] of clouds) {
      const { stage } = open({ origin });
      expect(await stage.create({ spec: withSpec(SPEC, { cloudConfiguration }) })).toMatchObject({ providerId: ID });
    }
    const spec = withSpec(SPEC, { cloudConfiguration: { name: 'foo' } });
    await refused(open().stage.create({ spec }), 'InvalidArgument', 'Unsupported value');
  });

  test('each missing or blank key of the Secret is reported [Z33]', async () => {
    const without = async (change: Record<string, string | undefined>): Promise<number> => {
      const secret = JSON.parse(JSON.stringify({ ...SECRET, ...change }));
      const message = await refused(open().stage.create({ secret }), 'InvalidArgument', 'data.');
      return message.match(/Required value/g)?.length ?? 0;
    };
    expect(await without({ clientID: '  ' })).toBe(1);
    expect(await without({ workloadIdentityTokenFile: '/f' })).toBe(1);
    for (const key of Object.keys(SECRET)) expect(await without({ [key]: undefined }), key).toBe(1);
    expect(await without(Object.fromEntries(Object.keys(SECRET).map((key) => [key, undefined])))).toBe(5);
  });
});
