import { ArmEndpoint, type ArmEndpointOptions, type FaultRuleInput } from '@mcm/cloud-emulators';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { type AzureCredentials, type AzureProviderSpec, createAzureDriver } from '@mcm/provider-azure';
import { describe, expect, test } from 'vitest';
import { refused, Stage, withSpec } from './stage.ts';

/** The rows of the Azure sheet's scenarios, each under its own name. */

const TAGS = { 'kubernetes.io-cluster-shoot--x': '1', 'kubernetes.io-role-node': '1' };
const PROPERTIES = {
  zone: 1,
  hardwareProfile: { vmSize: 'Standard_D4s_v5' },
  osProfile: {
    adminUsername: 'core',
    linuxConfiguration: { ssh: { publicKeys: { path: '/k', keyData: 'ssh-rsa AAAA' } } },
  },
  storageProfile: {
    imageReference: { communityGalleryImageID: '/CommunityGalleries/g/Images/i/Versions/1.0.0' },
    osDisk: { createOption: 'FromImage', diskSizeGB: 50 },
  },
};
const SPEC = {
  location: 'westeurope',
  resourceGroup: 'rg',
  subnetInfo: { vnetName: 'vnet', subnetName: 'nodes' },
  tags: TAGS,
  properties: PROPERTIES,
};
const SECRET = { clientID: 'c', clientSecret: 's', subscriptionID: 'sub', tenantID: 't', userData: '#cloud-config' };
const ID = 'azure:///westeurope/m-1';
const URN = 'pub:offer:sku:1';
const PLAN = { name: 'plan', publisher: 'pub', product: 'offer' };
const GROUP = '/subscriptions/sub/resourceGroups/rg/providers';
const at = {
  vm: (name = 'm-1') => `${GROUP}/Microsoft.Compute/virtualMachines/${name}`,
  nic: (name = 'm-1-nic') => `${GROUP}/Microsoft.Network/networkInterfaces/${name}`,
  disk: (name = 'm-1-os-disk') => `${GROUP}/Microsoft.Compute/disks/${name}`,
};

function open(options: Partial<ArmEndpointOptions> = {}, faults: readonly FaultRuleInput[] = [], spec: object = SPEC) {
  const clock = new VirtualClock();
  const cloud = new ArmEndpoint({ clock, plans: { [URN]: PLAN }, ...options });
  for (const fault of faults) cloud.faults.order(fault);
  const sent: { readonly method: string; readonly path: string; readonly body: Record<string, unknown> }[] = [];
  const driver = createAzureDriver({
    clock,
    random: seededRandom(1),
    connect: () => async (request) => {
      const { method, path, body = '{}' } = request;
      sent.push({ method, path: path.replace(/\?.*/, ''), body: JSON.parse(body) });
      return cloud.transport(request);
    },
    readFile: async () => undefined,
    authorize: async () => 'Bearer test',
    throwAwayKey: async () => 'ssh-rsa NOBODY',
  });
  const stage = new Stage<AzureProviderSpec, AzureCredentials>(clock, driver, {
    provider: 'Azure',
    spec,
    secret: SECRET,
  });
  const asked = (method: string, part: string) =>
    sent.filter((each) => each.method === method && each.path.includes(part));
  const names = () =>
    cloud
      .ids()
      .map((id) => id.split('/').at(-1))
      .toSorted();
  const made = async (change: object) => {
    await stage.create({ spec: withProperties(change) });
    return asked('PUT', '/virtualMachines/').at(-1)?.body ?? {};
  };
  const bad = (change: object, ...words: string[]) =>
    refused(stage.create({ spec: withProperties(change) }), 'InvalidArgument', ...words);
  /** A VM with its NIC and its OS disk. */
  const placeVm = (vm: { nic?: string; os?: string; more?: object; state?: string } = {}) => {
    cloud.place(at.nic(), { tags: TAGS });
    const { nic = 'Delete', os = 'Delete', more = {}, state = 'Succeeded' } = vm;
    cloud.place(at.vm(), {
      tags: TAGS,
      properties: {
        provisioningState: state,
        networkProfile: { networkInterfaces: [{ id: at.nic(), properties: { deleteOption: nic } }] },
        storageProfile: { osDisk: { name: 'm-1-os-disk', deleteOption: os }, ...more },
      },
    });
  };
  return { clock, cloud, driver, stage, sent, asked, names, made, bad, placeVm };
}

const withProperties = (change: object): object => withSpec(SPEC, { properties: { ...PROPERTIES, ...change } });
const storage = (change: object) => ({ storageProfile: { ...PROPERTIES.storageProfile, ...change } });
const image = (imageReference: object) => storage({ imageReference });
const failing = (on: string, status = 400, code = 'Broken', message = 'ordered'): FaultRuleInput => ({
  on,
  refuse: { status, code, message },
});

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

describe('what is the same for all machines of a class', () => {
  const spec = withProperties(image({ urn: URN }));
  const counts = ({ asked }: ReturnType<typeof open>) => [
    asked('GET', '/artifacttypes/').length,
    asked('GET', 'MarketplaceOrdering').length,
    asked('PUT', 'MarketplaceOrdering').length,
  ];

  test('an image and its accepted terms are asked for once in a while', async () => {
    const opened = open();
    for (const name of ['m-1', 'm-2', 'm-3', 'm-4']) await opened.stage.create({ spec, name });
    // The first found the terms not accepted; the second saw that they were.
    expect(counts(opened)).toEqual([1, 2, 1]);
    await opened.clock.advance(600_000);
    await opened.stage.create({ spec, name: 'm-5' });
    expect(counts(opened)).toEqual([2, 3, 1]);
  });

  test('machines that ask at once share an answer, and a failure', async () => {
    const opened = open({}, [{ ...failing('^GET images$', 403, 'AuthorizationFailed'), times: 1 }]);
    const at3 = ['m-1', 'm-2', 'm-3'];
    const refusals = await Promise.allSettled(at3.map((name) => opened.stage.create({ spec, name })));
    expect(refusals.map(({ status }) => status)).toEqual(at3.map(() => 'rejected'));
    await Promise.all(at3.map((name) => opened.stage.create({ spec, name })));
    expect(counts(opened)[0]).toBe(2);
  });

  test('after a VM that could not be made the terms are looked at again', async () => {
    const opened = open();
    for (const name of ['m-1', 'm-2']) await opened.stage.create({ spec, name });
    opened.cloud.faults.order({ ...failing('^PUT virtualMachines$'), times: 1 });
    await refused(opened.stage.create({ spec, name: 'm-3' }), 'Internal');
    await opened.stage.create({ spec, name: 'm-3' });
    expect(counts(opened)).toEqual([1, 3, 1]);
  });
});

describe('an operation outlives the process that began it', () => {
  /** Calls until so many requests that match were answered, and is heard of no more. */
  const dieAfter = async (opened: ReturnType<typeof open>, call: 'create' | 'delete', method: string, part: string) => {
    const { stage, asked, clock } = opened;
    const over = new AbortController();
    const dying = stage[call]({ signal: over.signal }).catch(() => undefined);
    await clock.runUntil(() => asked(method, part).length > 0 && opened.cloud.ids().length > 0, { maxMs: 3_600_000 });
    await clock.advance(1_000);
    over.abort(new Error('the process ends'));
    await dying;
    opened.sent.length = 0;
  };
  const DATA = {
    dataDisks: [{ name: 'seed', lun: 0, diskSizeGB: 20, storageAccountType: 'Premium_LRS', imageRef: { id: '/i' } }],
  };

  test('a VM that is being made is waited for, not asked for again', async () => {
    const opened = open();
    await dieAfter(opened, 'create', 'PUT', '/virtualMachines/');
    const { providerId } = await opened.stage.create({ userData: 'another by now' });
    expect([providerId, opened.asked('PUT', '')]).toEqual([ID, []]);
    expect(opened.cloud.resources().map(({ state }) => state)).toEqual(['Succeeded', 'Succeeded', 'Succeeded']);
  });

  test('a NIC and a disk that are being made are waited for, not asked for again', async () => {
    const nic = open();
    await dieAfter(nic, 'create', 'PUT', '/networkInterfaces/');
    await nic.stage.create();
    expect(nic.asked('PUT', '').map(({ path }) => path)).toEqual([at.vm()]);
    const spec = withProperties(storage(DATA));
    const disk = open({}, [], spec);
    await dieAfter(disk, 'create', 'PUT', '/disks/');
    await disk.stage.create();
    expect(disk.asked('PUT', '').map(({ path }) => path)).toEqual([at.vm()]);
  });

  test('an operation that failed for want of room meanwhile is told as such, and nothing is left', async () => {
    const opened = open({}, [
      {
        on: '^PUT virtualMachines$',
        times: 1,
        failOperation: { code: 'AllocationFailed', message: 'full', leave: true },
      },
    ]);
    await dieAfter(opened, 'create', 'PUT', '/virtualMachines/');
    await opened.clock.advance(120_000);
    await refused(opened.stage.create(), 'ResourceExhausted', 'full');
    expect([opened.asked('PUT', ''), opened.names()]).toEqual([[], []]);
  });

  test('one that failed for another reason is asked for again', async () => {
    const opened = open({}, [
      { on: '^PUT virtualMachines$', times: 1, failOperation: { code: 'InternalExecutionError', leave: true } },
    ]);
    await dieAfter(opened, 'create', 'PUT', '/virtualMachines/');
    await opened.clock.advance(120_000);
    await opened.stage.create();
    expect(opened.asked('PUT', '').map(({ path }) => path)).toEqual([at.vm()]);
  });

  test('a VM that is being deleted is neither changed nor deleted again', async () => {
    const opened = open();
    opened.placeVm({ os: 'Detach', state: 'Succeeded' });
    await dieAfter(opened, 'delete', 'DELETE', '/virtualMachines/');
    await opened.stage.delete();
    expect([opened.asked('PATCH', ''), opened.asked('DELETE', '/virtualMachines/'), opened.names()]).toEqual([
      [],
      [],
      [],
    ]);
  });
});

describe('provider spec and secret', () => {
  const { zone: _, ...nowhere } = PROPERTIES;
  const placed = (change: object) => withSpec(SPEC, { properties: { ...nowhere, ...change } });
  const set = { id: '/set' };

  test('Z24: the old machine set becomes a scale set or an availability set', async () => {
    const sent = async (kind: string) => {
      const { stage, asked } = open();
      await stage.create({ spec: placed({ machineSet: { id: '/set', kind } }) });
      return asked('PUT', '/virtualMachines/')[0]?.body.properties;
    };
    expect(await sent('vmo')).toMatchObject({ virtualMachineScaleSet: set });
    expect(await sent('availabilityset')).toMatchObject({ availabilitySet: set });
    await refused(open().stage.create({ spec: placed({ machineSet: { id: '/set', kind: 'x' } }) }), 'InvalidArgument');
  });

  test.each([
    { zone: 1, availabilitySet: set },
    { zone: 1, virtualMachineScaleSet: set },
    { availabilitySet: set, virtualMachineScaleSet: set },
    { zone: 1, availabilitySet: set, virtualMachineScaleSet: set },
    {},
  ])('Z25: a VM is in one place: %j', async (change) => {
    const words = 'providerSpec.properties.zone|.availabilitySet|.virtualMachineScaleSet: Forbidden';
    await refused(open().stage.create({ spec: placed(change) }), 'InvalidArgument', words);
  });

  test.each([
    {},
    { id: '/i', urn: URN },
    { id: '/i', urn: URN, communityGalleryImageID: '/c', sharedGalleryImageID: '/s' },
  ])('Z26: one image and no other: %j', async (reference) => {
    const message = await open().bad(
      image(reference),
      'imageReference.id|.urn|.communityGalleryImageID|.sharedGalleryImageID',
    );
    expect(message.match(/Forbidden/g)).toHaveLength(1);
  });

  const osDisk = (change: object) => storage({ osDisk: { ...PROPERTIES.storageProfile.osDisk, ...change } });

  test('Z28: an OS disk that cannot be', async () => {
    await open().bad(osDisk({ createOption: '' }), 'osDisk.createOption');
    for (const diskSizeGB of [0, -10]) await open().bad(osDisk({ diskSizeGB }), 'osDisk.diskSizeGB');
    const managedDisk = { securityProfile: { securityEncryptionType: 'x' } };
    await open().bad(osDisk({ managedDisk }), 'osDisk.securityEncryptionType');
  });

  test('Z29: data disks that cannot be', async () => {
    const disk = { name: 'd', lun: 0, diskSizeGB: 10, storageAccountType: 'Premium_LRS' };
    const dataDisks = (...all: object[]) => storage({ dataDisks: all });
    await open().bad(dataDisks({ ...disk, storageAccountType: '' }), 'dataDisks.storageAccountType: Required');
    await open().bad(dataDisks({ ...disk, diskSizeGB: -1 }), 'dataDisks.diskSizeGB: Invalid');
    const message = await open().bad(dataDisks(disk, disk, { ...disk, lun: 1 }, { ...disk, lun: 1 }));
    expect(message.match(/dataDisks\.lun: Invalid/g)).toHaveLength(2);
  });

  test('Z30: ids of capacity reservation groups', async () => {
    const of = (capacityReservationGroupID: string) => ({ capacityReservation: { capacityReservationGroupID } });
    await open().bad(of('Foo/bar/baz'), 'capacityReservation');
    await open().bad(of(at.vm()), 'capacityReservation');
    const good = `${GROUP}/Microsoft.Compute/capacityReservationGroups/g`;
    expect((await open().made(of(good))).properties).toMatchObject({
      capacityReservation: { capacityReservationGroup: { id: good } },
    });
  });

  test('Z31: names of clouds', async () => {
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

  test('Z33: keys of the secret', async () => {
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

describe('deletion', () => {
  test('Z34: what goes with the VM by itself needs no change', async () => {
    const { stage, names, asked, placeVm } = open();
    placeVm();
    await stage.delete();
    expect([names(), asked('PATCH', ''), asked('DELETE', '').length]).toEqual([[], [], 1]);
  });

  test('Z35: what would stay is told to go first', async () => {
    const { stage, names, asked, placeVm } = open();
    placeVm({ nic: 'Detach', os: 'Detach' });
    await stage.delete();
    expect([names(), asked('PATCH', '').length]).toEqual([[], 1]);
  });

  test('Z36: the disk of a persistent volume stays', async () => {
    const { stage, names, cloud, placeVm } = open();
    cloud.place(at.disk('pv-1'), { properties: {} });
    placeVm({ more: { dataDisks: [{ name: 'pv-1', lun: 3, createOption: 'Attach', deleteOption: 'Detach' }] } });
    await stage.delete();
    expect(names()).toEqual(['pv-1']);
    expect(
      (await cloud.transport({ method: 'GET', path: `${at.disk('pv-1')}?api-version=1`, headers: {} })).status,
    ).toBe(200);
  });

  test('Z39: left-overs that another VM uses stay', async () => {
    const { stage, cloud, names, placeVm } = open();
    placeVm();
    cloud.place(at.nic('m-2-nic'), { tags: TAGS });
    cloud.place(at.vm('other'), {
      properties: { networkProfile: { networkInterfaces: [{ id: at.nic('m-2-nic') }] }, storageProfile: {} },
    });
    await refused(stage.delete({ name: 'm-2' }), 'Internal');
    expect(names()).toContain('m-2-nic');
  });

  test('Z40: a failed VM is deleted as it is, and then what it leaves', async () => {
    const { stage, names, asked, placeVm } = open();
    placeVm({ nic: 'Detach', os: 'Detach', state: 'Failed' });
    await stage.delete();
    expect([names(), asked('PATCH', '')]).toEqual([[], []]);
  });

  test('Z42: a group or a VM that cannot be read', async () => {
    for (const on of ['^HEAD resourceGroups$', '^GET virtualMachines$']) {
      const { stage, names, placeVm } = open({}, [failing(on)]);
      placeVm();
      await refused(stage.delete(), 'Internal');
      expect(names()).toHaveLength(3);
    }
  });

  test('Z43: no VM, and the NIC cannot be deleted: the disk is', async () => {
    const { stage, cloud, names } = open({}, [failing('^DELETE networkInterfaces$')]);
    cloud.place(at.nic(), { tags: TAGS });
    cloud.place(at.disk(), { tags: TAGS });
    await refused(stage.delete(), 'Internal');
    expect(names()).toEqual(['m-1-nic']);
  });

  test('Z44: no VM, and the disk’s deletion breaks off: the NIC is deleted', async () => {
    const { stage, cloud, names } = open({}, [{ on: '^DELETE disks$', lose: 'before' }]);
    cloud.place(at.nic(), { tags: TAGS });
    cloud.place(at.disk(), { tags: TAGS });
    await refused(stage.delete(), 'Internal');
    expect(names()).toEqual(['m-1-os-disk']);
  });

  test('Z45: a change that fails leaves the VM', async () => {
    const { stage, names, placeVm } = open({}, [failing('^PATCH virtualMachines$')]);
    placeVm({ os: 'Detach' });
    await refused(stage.delete(), 'Internal');
    expect(names()).toHaveLength(3);
  });

  test('Z46: a deletion that fails after the change', async () => {
    const { stage, cloud, placeVm } = open({}, [failing('^DELETE virtualMachines$')]);
    placeVm({ os: 'Detach' });
    await refused(stage.delete(), 'Internal');
    const left = await cloud.transport({ method: 'GET', path: `${at.vm()}?api-version=1`, headers: {} });
    expect(JSON.parse(await left.text()).properties.storageProfile.osDisk.deleteOption).toBe('Delete');
  });
});

describe('status and listing', () => {
  test('Z48: a VM that is there, is not, or cannot be read', async () => {
    const { stage, placeVm } = open();
    await refused(stage.status(), 'NotFound');
    placeVm();
    expect(await stage.status()).toEqual({ providerId: ID, nodeName: 'm-1' });
    await refused(open({}, [failing('^GET virtualMachines$')]).stage.status(), 'Internal');
  });

  test('Z49: VMs and what is left of them', async () => {
    const { stage, cloud } = open();
    expect(await stage.list()).toEqual([]);
    cloud.place(at.vm('vm-1'), { tags: TAGS, properties: {} });
    cloud.place(at.vm('vm-2'), { tags: TAGS, properties: {} });
    cloud.place(at.disk('vm-3-os-disk'), { tags: TAGS });
    cloud.place(at.vm('vm-4'), { tags: { other: '1' }, properties: {} });
    cloud.place(at.nic('vm-4-nic'), { tags: TAGS });
    expect((await stage.list()).map(({ machineName }) => machineName).toSorted()).toEqual([
      'vm-1',
      'vm-2',
      'vm-3',
      'vm-4',
    ]);
  });

  test('Z50: tags of another cluster', async () => {
    const { stage, cloud } = open();
    cloud.place(at.vm('vm-1'), {
      tags: { 'kubernetes.io-cluster-other': '1', 'kubernetes.io-role-node': '1' },
      properties: {},
    });
    expect(await stage.list()).toEqual([]);
  });

  const three = (options: Partial<ArmEndpointOptions> = {}, faults: readonly FaultRuleInput[] = []) => {
    const opened = open({ pageSize: 1, ...options }, faults);
    for (const name of ['vm-1', 'vm-2', 'vm-3']) opened.cloud.place(at.vm(name), { tags: TAGS, properties: {} });
    return opened;
  };

  test('Z51: three pages', async () => {
    const { stage, asked } = three();
    expect(await stage.list()).toHaveLength(3);
    expect(asked('POST', 'ResourceGraph').map(({ body }) => 'options' in body)).toEqual([false, true, true]);
  });

  test('Z52: a page that fails, and listings that end', async () => {
    await refused(three({}, [{ ...failing('^POST graph$'), after: 1 }]).stage.list(), 'Internal');
    const ends = three({ pageSize: 3 });
    expect([(await ends.stage.list()).length, ends.sent.length]).toEqual([3, 1]);
    const none = open();
    expect([await none.stage.list(), none.sent.length]).toEqual([[], 1]);
  });
});
