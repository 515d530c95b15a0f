import { expect, test } from 'vitest';
import type { FleetView, MachineView } from './fleet.ts';
import { FleetLines } from './lines.ts';

const machine = (phase: string): MachineView => ({
  name: 'm',
  phase,
  node: phase === 'Running' ? 'n' : '',
  doing: 'Creating VM',
  createdAt: '',
});
const fleet = (machines: MachineView[], available = 0): FleetView => ({
  deployments: [
    {
      name: 'workers',
      desired: 1,
      ready: 0,
      updated: 1,
      available,
      old: 0,
      paused: false,
      observed: true,
      problem: undefined,
    },
  ],
  machines,
  phases: new Map(),
  events: [],
  controllers: [],
});

const NOW = new Date('2026-01-01T00:01:00Z');

test('each change is one line, and unchanged objects print nothing', () => {
  const lines = new FleetLines();
  expect(lines.next(fleet([machine('Creating')]), NOW)).toEqual([
    'machine m Creating: Creating VM',
    'machinedeployment workers 0/1 available, 1 updated',
  ]);
  expect(lines.next(fleet([machine('Creating')]), NOW)).toEqual([]);
  expect(lines.next(fleet([machine('Running')], 1), NOW)).toEqual([
    'machine m Running on node n',
    'machinedeployment workers 1/1 available, 1 updated',
  ]);
  expect(lines.next(fleet([], 1), NOW)).toEqual(['machine m gone']);
});
