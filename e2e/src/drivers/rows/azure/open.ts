import { ArmEndpoint, type ArmEndpointOptions, type FaultRuleInput } from '@mcm/cloud-emulators';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { type AzureCredentials, type AzureProviderSpec, createAzureDriver, loadSdk } from '@mcm/provider-azure';
import { refused, Stage, withSpec } from '../stage.ts';

/** What all Azure scenarios need: a driver on its emulator, and a class that tests change. */

// Loading the SDK takes real time, and the test uses a virtual clock, so the SDK is loaded first.
await loadSdk();

export const TAGS = { 'kubernetes.io-cluster-shoot--x': '1', 'kubernetes.io-role-node': '1' };
export const PROPERTIES = {
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
export const SPEC = {
  location: 'westeurope',
  resourceGroup: 'rg',
  subnetInfo: { vnetName: 'vnet', subnetName: 'nodes' },
  tags: TAGS,
  properties: PROPERTIES,
};
export const SECRET = {
  clientID: 'c',
  clientSecret: 's',
  subscriptionID: 'sub',
  tenantID: 't',
  userData: '#cloud-config',
};
export const ID = 'azure:///westeurope/m-1';
export const URN = 'pub:offer:sku:1';
export const PLAN = { name: 'plan', publisher: 'pub', product: 'offer' };
export const GROUP = '/subscriptions/sub/resourceGroups/rg/providers';
export const at = {
  vm: (name = 'm-1') => `${GROUP}/Microsoft.Compute/virtualMachines/${name}`,
  nic: (name = 'm-1-nic') => `${GROUP}/Microsoft.Network/networkInterfaces/${name}`,
  disk: (name = 'm-1-os-disk') => `${GROUP}/Microsoft.Compute/disks/${name}`,
};

export function open(
  options: Partial<ArmEndpointOptions> = {},
  faults: readonly FaultRuleInput[] = [],
  spec: object = SPEC,
) {
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

export const withProperties = (change: object): object => withSpec(SPEC, { properties: { ...PROPERTIES, ...change } });
export const storage = (change: object) => ({ storageProfile: { ...PROPERTIES.storageProfile, ...change } });
export const image = (imageReference: object) => storage({ imageReference });
export const failing = (on: string, status = 400, code = 'Broken', message = 'ordered'): FaultRuleInput => ({
  on,
  refuse: { status, code, message },
});
