import { Annotations, type MachineClass } from '@mcm/api';
import { expect, test } from 'vitest';
import { quarantinedIn, quarantineLines } from '../cluster/quarantine.ts';
import { viewFleet } from '../screen/fleet.ts';
import { statusLines } from './status.ts';

const NOW = new Date('2026-01-01T00:00:00Z');

test('the status lists quarantined VMs with the possible actions', () => {
  const report = { running: true, pid: 1, server: 'https://127.0.0.1:6443', fleet: viewFleet([], [], [], []) } as const;
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
