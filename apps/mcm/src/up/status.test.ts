import { Annotations, type MachineClass } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { type ConfigMap, configMaps, createClient, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { readDisruptions } from '../cluster/disruptions.ts';
import { quarantinedIn, quarantineLines } from '../cluster/quarantine.ts';
import { viewFleet } from '../screen/fleet.ts';
import { statusLines } from './status.ts';

const NOW = new Date('2026-01-01T00:00:00Z');

test('the status lists quarantined VMs with the possible actions', () => {
  const report = {
    running: true,
    pid: 1,
    server: 'https://127.0.0.1:6443',
    fleet: viewFleet([], [], [], []),
    disruptions: [],
  } as const;
  expect(statusLines({ ...report, quarantinedVms: [] }, NOW)).toHaveLength(2);
  expect(
    statusLines({ ...report, quarantinedVms: [{ machineClass: 'small', providerId: 'fake:///a' }] }, NOW).slice(2),
  ).toEqual([
    'quarantine: VM fake:///a of MachineClass small',
    expect.stringMatching(
      /^quarantine: create the Machines of the VMs again, or add the VMs to annotation .*release-vms/,
    ),
  ]);
});

test('the status lists the disruption budgets and circuit breakers of the cluster, its zones and classes', async () => {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, random: () => 0.5, crds: [], controllers: false });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  expect(await readDisruptions(client, 'default')).toEqual([]);
  const since = '2026-01-01T12:05:00.000Z';
  const reason = '3 of 4 machines of the cluster became unreachable at the same time';
  const row = 'machines: 4\navailable: 1\nunavailable: 3 unreachable\nallowed: 1\ninUse: 0\n';
  const data = {
    'class.small': `${row}waiting: 0\n`,
    'zone.a': 'machines: 4\navailable: 4\nbreaker: Closed\n',
    cluster: `${row}waiting: 2\nbreaker: Open\nsince: ${since}\nreason: ${reason}\n`,
    other: 'machines: 1\n',
  };
  await client.resource<ConfigMap>(configMaps, 'default').create({ metadata: { name: 'machine-disruptions' }, data });
  const disruptions = await readDisruptions(client, 'default');
  const report = { running: true, pid: 1, server: 'https://127.0.0.1:6443', fleet: viewFleet([], [], [], []) } as const;
  expect(statusLines({ ...report, quarantinedVms: [], disruptions }, NOW).slice(2)).toEqual([
    `cluster: 1/4 machines available (3 unreachable); 0 of 1 allowed disruptions in use; 2 failed machines wait for the disruption budget; circuit breaker Open since ${since} (${reason})`,
    'zone a: 4/4 machines available; circuit breaker Closed',
    'class small: 1/4 machines available (3 unreachable); 0 of 1 allowed disruptions in use',
  ]);
  await plane.close();
});

test('the status lists stopped VMs with their deletion times', () => {
  const annotations = {
    [Annotations.QuarantinedVMs]: 'fake:///a',
    [Annotations.StoppedVMs]: 'fake:///a=2026-01-01T06:00:00Z,fake:///b=2026-01-01T07:00:00Z,broken',
  };
  const machineClass: MachineClass = {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineClass',
    metadata: { name: 'small', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', annotations },
    providerSpec: {},
  };
  expect(quarantineLines(quarantinedIn([machineClass])).slice(0, 2)).toEqual([
    'VM fake:///a of MachineClass small',
    'VM fake:///b of MachineClass small (stopped; mcm deletes the VM at 2026-01-01T07:00:00Z)',
  ]);
});
