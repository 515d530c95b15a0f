import { expect, test } from 'vitest';
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
