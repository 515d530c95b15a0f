import { Annotations, crds, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, seededRandom, VirtualClock } from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import { explainMachine } from './machine.ts';
import { machineLines } from './machine-lines.ts';

const NS = 'default';

/** Creates a class with VMs in quarantine, and returns the output of `mcm explain machine/m-0`. */
async function setUp(quarantined: string | undefined) {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds, controllers: false });
  onTestFinished(() => plane.close());
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  const annotations = quarantined === undefined ? {} : { [Annotations.QuarantinedVMs]: quarantined };
  await client.resource<MachineClass>(machineClasses, NS).create({
    metadata: { name: 'small', namespace: NS, annotations },
    providerSpec: {},
    secretRef: { name: 'small', namespace: NS },
  } as never);
  const { signal } = new AbortController();
  const target = { client, target: client, namespace: NS, name: 'm-0', clock, random: seededRandom(1), signal };
  const explain = () =>
    explainMachine(target).then(
      (reported) => machineLines(reported, clock.now()).join('\n'),
      (error: unknown) => String(error),
    );
  return { client, explain };
}

test('lists the VMs in quarantine of the class of a machine', async () => {
  const { client, explain } = await setUp('local:///z/i-9');
  const spec = { class: { kind: 'MachineClass', name: 'small' } };
  await client.resource<Machine>(machines, NS).create({ metadata: { name: 'm-0', namespace: NS }, spec });
  expect(await explain()).toContain('VMs in quarantine:\n  - VM local:///z/i-9 of MachineClass small');
});

test('lists the VMs in quarantine for a machine that the server does not have', async () => {
  const { explain } = await setUp('local:///z/i-9');
  expect(await explain()).toContain(
    'VMs in quarantine:\n  VM local:///z/i-9 of MachineClass small\n  create the Machines of the VMs again',
  );
  expect(await (await setUp(undefined)).explain()).not.toContain('quarantine');
});

test('shows the zone of a machine and the reason for it', async () => {
  const { client, explain } = await setUp(undefined);
  const spec = { class: { kind: 'MachineClass', name: 'small' } };
  const annotations = {
    [Annotations.ZoneOffering]: '{"zone":"b"}',
    [Annotations.CapacityOffering]: '{"zone":"b"}',
    [Annotations.ZoneReason]: 'the new machine replaces a machine of this zone',
  };
  await client.resource<Machine>(machines, NS).create({ metadata: { name: 'm-0', namespace: NS, annotations }, spec });
  expect(await explain()).toContain('  zone   b, because the new machine replaces a machine of this zone');
  expect(await explain()).not.toContain('first offering');
});

test('shows the alternative of a machine, and no line for the first choice', async () => {
  const { client, explain } = await setUp(undefined);
  const spec = { class: { kind: 'MachineClass', name: 'small' } };
  const resource = client.resource<Machine>(machines, NS);
  const annotations = { [Annotations.CapacityOffering]: '{"machineType":"large","zone":"b"}' };
  await resource.create({ metadata: { name: 'm-0', namespace: NS, annotations }, spec });
  expect(await explain()).toContain(
    '  from   machineType large, zone b, because the cloud had no capacity for the first offering of the class',
  );
  const first = { metadata: { annotations: { [Annotations.CapacityOffering]: '{}' } } };
  await resource.patch('m-0', { type: 'merge', body: first });
  expect(await explain()).not.toContain('first offering');
});
