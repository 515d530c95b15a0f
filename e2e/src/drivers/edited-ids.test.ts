import { expect, onTestFinished, test } from 'vitest';
import { Fleet, type FleetCloud, type FleetProvider } from './fleet.ts';
import { aws, azure, gcp, local } from './providers.ts';

const HOUR = 60 * 60_000;

type Provider = FleetProvider<never, never, FleetCloud>;

async function running(provider: Provider): Promise<Fleet<FleetCloud>> {
  const fleet = await Fleet.start(provider);
  onTestFinished(() => fleet.close());
  await fleet.make(1);
  await fleet.untilRunning(1);
  return fleet;
}

const vms = (fleet: Fleet<FleetCloud>): readonly string[] =>
  fleet.cloud
    .resources()
    .filter(({ kind }) => kind === 'instance')
    .map(({ id }) => id);

/** Except in the local cloud, cloud controllers and the driver write different provider IDs. */
const CLOUDS: [name: string, provider: Provider, nodeId: RegExp][] = [
  ['aws', aws() as never, /^aws:\/\/\/eu-north-1[a-z]\/i-[0-9a-f]+$/],
  [
    'azure',
    azure() as never,
    /^azure:\/\/\/subscriptions\/sub\/resourceGroups\/rg\/providers\/Microsoft\.Compute\/virtualMachines\/m-0$/,
  ],
  ['gcp', gcp() as never, /^gce:\/\/p\/europe-north1-b\/m-0$/],
  ['local', local() as never, /^local:\/\/\/local-a\/i-[0-9a-f]+$/],
];

test.each(CLOUDS)(
  '%s: a Running machine whose spec.providerID was edited keeps its VM while its Node is Ready',
  async (_name, provider, nodeId) => {
    const fleet = await running(provider);
    expect((await fleet.nodes()).map(({ spec }) => spec.providerID)).toEqual([expect.stringMatching(nodeId)]);
    const before = vms(fleet);
    await fleet.editProviderId('m-0', (id) => `${id}-edited`);
    await fleet.clock.advance(0.9 * HOUR);
    expect(await fleet.reported('OrphanVM')).toEqual([
      expect.stringMatching(/mcm keeps the VM because its Node \S+ is Ready\. If a user edited spec.providerID/),
    ]);
    await fleet.clock.advance(2 * HOUR);
    expect(vms(fleet)).toEqual(before);
  },
);

test.each(CLOUDS.filter(([name]) => name !== 'local'))(
  '%s: a machine whose spec.providerID has the format of the cloud controller keeps its VM without a warning',
  async (_name, provider) => {
    const fleet = await running(provider);
    const before = vms(fleet);
    const [node] = await fleet.nodes();
    await fleet.editProviderId('m-0', () => node?.spec.providerID ?? '');
    await fleet.clock.advance(0.9 * HOUR);
    expect([vms(fleet), await fleet.reported('OrphanVM'), await fleet.phases()]).toEqual([before, [], { Running: 1 }]);
  },
);
