import { describe, expect, test } from 'vitest';
import { refused } from '../stage.ts';
import { at, failing, image, open, PLAN, PROPERTIES, storage, TAGS, URN, withProperties } from './open.ts';

/** The rows of the Azure scenarios on creation, each under its own name. */

describe('creation', () => {
  test('Z2: an image without a plan asks for no agreement and sends no plan', async () => {
    const { made, asked } = open({ plans: {} });
    expect(await made(image({ urn: URN }))).not.toHaveProperty('plan');
    expect(asked('GET', 'MarketplaceOrdering')).toEqual([]);
  });

  test('Z4: a confidential VM', async () => {
    const body = await open().made({
      securityProfile: { securityType: 'ConfidentialVM' },
      ...storage({
        osDisk: {
          ...PROPERTIES.storageProfile.osDisk,
          managedDisk: { securityProfile: { securityEncryptionType: 'DiskWithVMGuestState' } },
        },
      }),
    });
    expect(body.properties).toMatchObject({
      securityProfile: { securityType: 'ConfidentialVM' },
      storageProfile: {
        osDisk: { managedDisk: { securityProfile: { securityEncryptionType: 'DiskWithVMGuestState' } } },
      },
    });
  });

  test('Z5: a skipped agreement needs no image', async () => {
    const { made, asked } = open({}, [failing('^GET images$')]);
    await made(image({ urn: URN, skipMarketplaceAgreement: true }));
    expect(asked('GET', '/artifacttypes/')).toEqual([]);
  });

  test('Z7: a subnet that cannot be read', async () => {
    const { stage, names } = open({}, [failing('^GET subnets$')]);
    await refused(stage.create(), 'Internal');
    expect(names()).toEqual([]);
  });

  test('Z9: an image that is not there, or cannot be read', async () => {
    const spec = withProperties(image({ urn: URN }));
    const absent = open({}, [failing('^GET images$', 404, 'NotFound')]);
    await refused(absent.stage.create({ spec }), 'NotFound');
    const broken = open({}, [failing('^GET images$')]);
    await refused(broken.stage.create({ spec }), 'Internal');
    expect([absent.names(), broken.names()]).toEqual([[], []]);
  });

  test('Z10: an agreement that is not there', async () => {
    const { stage, names } = open({}, [failing('^GET agreements$')]);
    await refused(stage.create({ spec: withProperties(image({ urn: URN })) }), 'Internal');
    expect(names()).toEqual([]);
  });

  test('Z12: terms that cannot be accepted', async () => {
    const { stage, names } = open({}, [failing('^PUT agreements$')]);
    await refused(stage.create({ spec: withProperties(image({ urn: URN })) }), 'Internal');
    expect(names()).toEqual([]);
    const well = open();
    expect(await well.made(image({ urn: URN }))).toMatchObject({ plan: PLAN });
  });

  test('Z13: a NIC that is there and cannot be read stays as it is', async () => {
    const { stage, cloud, names, asked } = open({}, [failing('^GET networkInterfaces$')]);
    cloud.place(at.nic(), { tags: TAGS });
    await refused(stage.create(), 'Internal');
    expect([names(), asked('PUT', '')]).toEqual([['m-1-nic'], []]);
  });

  test('Z14: a NIC that is there is used', async () => {
    const { stage, cloud, asked } = open();
    cloud.place(at.nic(), { tags: TAGS });
    await stage.create();
    expect(asked('PUT', '/networkInterfaces/')).toEqual([]);
  });

  test('Z16: a VM that cannot be made leaves its NIC', async () => {
    const { stage, names } = open({}, [failing('^PUT virtualMachines$')]);
    await refused(stage.create(), 'Internal');
    expect(names()).toEqual(['m-1-nic']);
  });

  const disks = storage({
    dataDisks: [{ name: 'd', lun: 0, diskSizeGB: 20, storageAccountType: 'Premium_LRS', imageRef: { id: '/image' } }],
  });

  test('Z17: no room for the VM: nothing is left, whether it is said at once or by the operation', async () => {
    const atOnce = open({}, [failing('^PUT virtualMachines$', 409, 'ZonalAllocationFailed')]);
    await refused(atOnce.stage.create({ spec: withProperties(disks) }), 'ResourceExhausted', 'ZonalAllocationFailed');
    const later = open({}, [
      { on: '^PUT virtualMachines$', failOperation: { code: 'ZonalAllocationFailed', leave: true } },
    ]);
    await refused(later.stage.create({ spec: withProperties(disks) }), 'ResourceExhausted', 'ZonalAllocationFailed');
    expect([atOnce.names(), later.names()]).toEqual([[], []]);
  });

  test('Z18: no room, and the cleaning up fails as well', async () => {
    const faults = [
      failing('^PUT virtualMachines$', 409, 'ZonalAllocationFailed'),
      failing('^DELETE virtualMachines$', 400, 'Stuck'),
    ];
    await refused(open({}, faults).stage.create(), 'ResourceExhausted', 'ZonalAllocationFailed', 'Stuck');
  });

  test('Z20: OperationNotAllowed is a quota when it says so', async () => {
    const said = (message: string) => open({}, [failing('^PUT virtualMachines$', 409, 'OperationNotAllowed', message)]);
    await refused(said('Operation results in exceeding approved cores Quota').stage.create(), 'ResourceExhausted');
    await refused(said('no').stage.create(), 'Internal');
  });

  test.each([
    ['SkuNotAvailable', 'ResourceExhausted'],
    ['AllocationFailed', 'ResourceExhausted'],
    ['ResourceQuotaExceeded', 'ResourceExhausted'],
    ['Unheard', 'Internal'],
  ])('Z22: %s is %s', async (code, expected) => {
    await refused(open({}, [failing('^PUT virtualMachines$', 409, code)]).stage.create(), expected, code);
  });
});
