import type { Machine, MachineClass } from '@mcm/api';
import { type DriverDefinition, decodeInput } from '@mcm/core';
import { createMemoryLogger, seededRandom, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import type { FleetProvider } from './fleet.ts';
import { aws, azure, gcp } from './providers.ts';

/** Each VM has a tag with its control cluster, and list responses include the tag (incident 16). */
test.each<[name: string, provider: FleetProvider<never, never>]>([
  ['aws', aws() as never],
  ['azure', azure() as never],
  ['gcp', gcp() as never],
])('the driver of %s lists VMs with the control cluster that created them [incident 16]', async (_name, provider) => {
  const clock = new VirtualClock({ quietTurns: 8 });
  const cloud = provider.cloud({ clock, power: { on: async () => undefined, off: async () => undefined } });
  const driver = provider.driver({
    clock,
    random: seededRandom(1),
    connect: () => cloud.transport,
  }) as DriverDefinition<unknown, unknown>;
  const metadata = { namespace: 'default', resourceVersion: '1', creationTimestamp: clock.now().toISOString() };
  const machineClass = {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineClass',
    metadata: { ...metadata, name: 'small', uid: 'c' },
    secretRef: { name: 'small', namespace: 'default' },
    ...provider.machineClass,
  } as MachineClass;
  const base = { machineClass, signal: new AbortController().signal, log: createMemoryLogger() };
  const machineOf = (name: string): Machine => ({
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'Machine',
    metadata: { ...metadata, name, uid: `uid-${name}` },
    spec: { class: { kind: 'MachineClass', name: 'small' } },
  });
  const decoded = decodeInput(driver, {
    call: 'create',
    machineClass,
    machine: machineOf('m-1'),
    data: { ...provider.secret, userData: 'x' },
  });
  const run = <T>(call: Promise<T>): Promise<T> => clock.ended(call, { maxMs: 3_600_000 });
  const make = (name: string, owner?: string) =>
    run(
      driver.create({
        ...base,
        ...decoded,
        machine: machineOf(name),
        userData: Buffer.from('x'),
        ...(owner === undefined ? {} : { owner }),
      }),
    );
  await make('m-1', 'cluster-a');
  await make('m-2', 'cluster-b');
  await make('m-3');
  const asked = { ...base, ...decoded, owner: 'cluster-a' };
  const listed = await run(Promise.resolve(driver.list?.(asked) ?? []));
  expect(Object.fromEntries(listed.map(({ machineName, owner }) => [machineName, owner]))).toEqual({
    'm-1': 'cluster-a',
    'm-2': 'cluster-b',
    'm-3': undefined,
  });
});
