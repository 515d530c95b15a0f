import { describe, expect, test } from 'vitest';
import { refused } from '../stage.ts';
import { at, failing, image, open, PLAN, PROPERTIES, storage, TAGS, URN, withProperties } from './open.ts';

/** Azure's scenarios for creations. */

describe('creation', () => {
  test('an image without a purchase plan needs no agreement, and the VM has no plan [Z2]', async () => {
    const { made, asked } = open({ plans: {} });
    expect(await made(image({ urn: URN }))).not.toHaveProperty('plan');
    expect(asked('GET', 'MarketplaceOrdering')).toEqual([]);
  });

  test('the security settings of a confidential VM are sent [Z4]', async () => {
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

  test('with a skipped agreement, the image is not read [Z5]', async () => {
    const { made, asked } = open({}, [failing('^GET images$')]);
    await made(image({ urn: URN, skipMarketplaceAgreement: true }));
    expect(asked('GET', '/artifacttypes/')).toEqual([]);
  });

  test('a creation with an unreadable subnet fails and leaves nothing [Z7]', async () => {
    const { stage, names } = open({}, [failing('^GET subnets$')]);
    await refused(stage.create(), 'Internal');
    expect(names()).toEqual([]);
  });

  test('a missing image is NotFound, and an unreadable one is Internal [Z9]', async () => {
    const spec = withProperties(image({ urn: URN }));
    const absent = open({}, [failing('^GET images$', 404, 'NotFound')]);
    await refused(absent.stage.create({ spec }), 'NotFound');
    const broken = open({}, [failing('^GET images$')]);
    await refused(broken.stage.create({ spec }), 'Internal');
    expect([absent.names(), broken.names()]).toEqual([[], []]);
  });

  test('a creation with an unreadable agreement fails and leaves nothing [Z10]', async () => {
    const { stage, names } = open({}, [failing('^GET agreements$')]);
    await refused(stage.create({ spec: withProperties(image({ urn: URN })) }), 'Internal');
    expect(names()).toEqual([]);
  });

  test('a creation whose terms the driver cannot accept fails and leaves nothing [Z12]', async () => {
    const { stage, names } = open({}, [failing('^PUT agreements$')]);
    await refused(stage.create({ spec: withProperties(image({ urn: URN })) }), 'Internal');
    expect(names()).toEqual([]);
    const well = open();
    expect(await well.made(image({ urn: URN }))).toMatchObject({ plan: PLAN });
  });

  test('an existing but unreadable NIC is not changed [Z13]', async () => {
    const { stage, cloud, names, asked } = open({}, [failing('^GET networkInterfaces$')]);
    cloud.place(at.nic(), { tags: TAGS });
    await refused(stage.create(), 'Internal');
    expect([names(), asked('PUT', '')]).toEqual([['m-1-nic'], []]);
  });

  test('an existing NIC is used [Z14]', async () => {
    const { stage, cloud, asked } = open();
    cloud.place(at.nic(), { tags: TAGS });
    await stage.create();
    expect(asked('PUT', '/networkInterfaces/')).toEqual([]);
  });

  test('if the VM cannot be created, its NIC remains [Z16]', async () => {
    const { stage, names } = open({}, [failing('^PUT virtualMachines$')]);
    await refused(stage.create(), 'Internal');
    expect(names()).toEqual(['m-1-nic']);
  });

  const disks = storage({
    dataDisks: [{ name: 'd', lun: 0, diskSizeGB: 20, storageAccountType: 'Premium_LRS', imageRef: { id: '/image' } }],
  });

  test('without capacity for the VM, nothing is left, for an immediate refusal and for a failed operation [Z17]', async () => {
    const atOnce = open({}, [failing('^PUT virtualMachines$', 409, 'ZonalAllocationFailed')]);
    await refused(atOnce.stage.create({ spec: withProperties(disks) }), 'ResourceExhausted', 'ZonalAllocationFailed');
    const later = open({}, [
      { on: '^PUT virtualMachines$', failOperation: { code: 'ZonalAllocationFailed', leave: true } },
    ]);
    await refused(later.stage.create({ spec: withProperties(disks) }), 'ResourceExhausted', 'ZonalAllocationFailed');
    expect([atOnce.names(), later.names()]).toEqual([[], []]);
  });

  test('without capacity, the error also contains the failure of the cleanup [Z18]', async () => {
    const faults = [
      failing('^PUT virtualMachines$', 409, 'ZonalAllocationFailed'),
      failing('^DELETE virtualMachines$', 400, 'Stuck'),
    ];
    await refused(open({}, faults).stage.create(), 'ResourceExhausted', 'ZonalAllocationFailed', 'Stuck');
  });

  test('OperationNotAllowed means a lack of quota if its text says so [Z20]', async () => {
    const said = (message: string) => open({}, [failing('^PUT virtualMachines$', 409, 'OperationNotAllowed', message)]);
    await refused(said('Operation results in exceeding approved cores Quota').stage.create(), 'ResourceExhausted');
    await refused(said('no').stage.create(), 'Internal');
  });

  test.each([
    ['SkuNotAvailable', 'ResourceExhausted'],
    ['AllocationFailed', 'ResourceExhausted'],
    ['ResourceQuotaExceeded', 'ResourceExhausted'],
    ['Unheard', 'Internal'],
  ])('%s is %s [Z22]', async (code, expected) => {
    await refused(open({}, [failing('^PUT virtualMachines$', 409, code)]).stage.create(), expected, code);
  });
});
