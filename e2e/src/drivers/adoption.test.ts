import type { Machine, MachineClass } from '@mcm/api';
import { type CreatedInstance, type DriverDefinition, decodeInput } from '@mcm/core';
import { seededRandom, silentLogger, type Transport, VirtualClock } from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import { Fleet, type FleetCloud, type FleetProvider } from './fleet.ts';
import { aws, azure, gcp, local } from './providers.ts';
import { refused, Stage } from './rows/stage.ts';

const HOUR = 60 * 60_000;

type Provider = FleetProvider<never, never, FleetCloud>;

const CLOUDS: [name: string, provider: Provider][] = [
  ['aws', aws() as never],
  ['azure', azure() as never],
  ['gcp', gcp() as never],
  ['local', local() as never],
];

/** Creates an unrecorded VM for a machine, like a controller that ended before it recorded the VM. */
async function makeUnrecorded(fleet: Fleet<FleetCloud>, provider: Provider, name: string): Promise<CreatedInstance> {
  const { clock, cloud } = fleet;
  const context = { clock, random: seededRandom(9), connect: () => cloud.transport };
  const driver = provider.driver(context) as DriverDefinition<unknown, unknown>;
  const metadata = { namespace: 'default', resourceVersion: '1', creationTimestamp: clock.now().toISOString() };
  const machineClass = {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineClass',
    metadata: { ...metadata, name: 'pool', uid: 'c' },
    secretRef: { name: 'pool', namespace: 'default' },
    ...provider.machineClass,
  } as MachineClass;
  const machine: Machine = {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'Machine',
    metadata: { ...metadata, name, uid: 'of-the-other-controller' },
    spec: { class: { kind: 'MachineClass', name: 'pool' } },
  } as Machine;
  const data = { ...provider.secret, userData: '#cloud-config' };
  const decoded = decodeInput(driver, { call: 'create', machineClass, machine, data });
  const { signal } = new AbortController();
  const request = {
    ...decoded,
    machineClass,
    machine,
    signal,
    log: silentLogger,
    userData: Buffer.from('#cloud-config'),
  };
  return clock.ended(driver.create(request), { maxMs: HOUR });
}

const instances = (fleet: Fleet<FleetCloud>): readonly string[] =>
  fleet.cloud
    .resources()
    .filter(({ kind }) => kind === 'instance')
    .map(({ id }) => id);

test.each(CLOUDS)(
  '%s: a VM that another controller created and did not record is adopted: no second VM is created, and none is deleted',
  async (_name, provider) => {
    const fleet = await Fleet.start(provider);
    onTestFinished(() => fleet.close());
    const made = await makeUnrecorded(fleet, provider, 'm-0');
    const before = instances(fleet);
    await fleet.clock.advance(60_000);
    expect(await fleet.nodes()).toHaveLength(1);
    await fleet.make(1);
    await fleet.untilRunning(1, HOUR);
    expect((await fleet.machines()).map(({ spec }) => spec.providerID)).toEqual([made.providerId]);
    await fleet.clock.advance(3 * HOUR);
    expect([instances(fleet), before.length]).toEqual([before, 1]);
    expect(await fleet.phases()).toEqual({ Running: 1 });
  },
);

test.each(CLOUDS)('%s: a machine that is created again at once gets its own VM', async (_name, provider) => {
  const fleet = await Fleet.start(provider);
  onTestFinished(() => fleet.close());
  await fleet.make(1);
  await fleet.untilRunning(1, HOUR);
  await fleet.deleteAll();
  await fleet.untilGone(HOUR);
  await fleet.make(1);
  await fleet.untilRunning(1, HOUR);
  await fleet.clock.advance(HOUR);
  expect([await fleet.phases(), instances(fleet).length]).toEqual([{ Running: 1 }, 1]);
});

test('aws: an instance that this process has terminated is not adopted, although EC2 still shows it as running', async () => {
  const provider = aws();
  const clock = new VirtualClock({ quietTurns: 8 });
  const cloud = provider.cloud({ clock, power: { on: () => undefined, off: () => undefined } });
  let terminated = false;
  let shown = '';
  /**
   * Simulates a delay of EC2: after a termination, a search by name still returns the response of the last earlier
   * search.
   */
  const stale: Transport = async (request) => {
    const body = String(request.body);
    const looks = body.includes('Action=DescribeInstances') && body.includes('tag%3AName');
    if (looks && terminated) return new Response(shown);
    const answer = await cloud.transport(request);
    if (body.includes('Action=TerminateInstances')) terminated = true;
    if (!looks) return answer;
    shown = await answer.text();
    return new Response(shown);
  };
  const driver = provider.driver({ clock, random: seededRandom(1), connect: () => stale });
  const stage = new Stage(clock, driver, {
    provider: 'AWS',
    spec: provider.machineClass.providerSpec as object,
    secret: { ...provider.secret, userData: 'x' },
  });
  const { providerId } = await stage.create();
  await stage.status().catch(() => undefined);
  expect(shown).toContain(providerId.split('/').at(-1));
  await stage.delete({ providerID: providerId });
  await refused(stage.status(), 'NotFound');
});
