import type { Machine, MachineDeployment, MachineSet } from '@mcm/api';
import type { EventObject } from '@mcm/kube';
import { expect, test } from 'vitest';
import type { DeploymentReading } from '../cluster/deployment-reading.ts';
import { eventLines, eventRows } from './events.ts';
import { scopeOfDeployment, scopeOfObject } from './scope.ts';

const NOW = new Date('2026-01-01T12:00:00Z');

const event = (kind: string, name: string, minutesAgo: number, more: object = {}) =>
  ({
    metadata: { name: `${name}.1`, creationTimestamp: NOW.toISOString() },
    involvedObject: { kind, name },
    reason: 'Told',
    message: ` ${name} did something\n`,
    type: 'Normal',
    lastTimestamp: new Date(NOW.getTime() - minutesAgo * 60_000).toISOString(),
    source: { component: 'machine-controller' },
    ...more,
  }) as EventObject;

const reported = [
  event('Machine', 'web-a-gone', 50),
  event('MachineDeployment', 'web', 40),
  event('Machine', 'web-api-x-1', 3),
  event('Machine', 'web-a-1', 2, { type: 'Warning', count: 7 }),
  event('Node', 'ip-10', 1),
  event('Pod', 'web-a-1', 1),
];

const reading = {
  deployment: { metadata: { name: 'web' } } as MachineDeployment,
  sets: [{ metadata: { name: 'web-a' } } as MachineSet],
  machines: new Map([['u', [{ metadata: { name: 'web-a-1', labels: { node: 'ip-10' } } } as unknown as Machine]]]),
} as unknown as DeploymentReading;

test('lists all events of machine kinds, oldest first', () => {
  expect(eventRows(reported).map(({ object }) => object)).toEqual([
    'machine/web-a-gone',
    'machinedeployment/web',
    'machine/web-api-x-1',
    'machine/web-a-1',
    'node/ip-10',
  ]);
});

test('for a deployment, lists its own events and those of its sets, nodes and machines, also deleted ones', () => {
  expect(eventRows(reported, scopeOfDeployment(reading)).map(({ object }) => object)).toEqual([
    'machine/web-a-gone',
    'machinedeployment/web',
    'machine/web-a-1',
    'node/ip-10',
  ]);
});

test('lists the events of one machine', () => {
  expect(eventRows(reported, scopeOfObject('Machine', 'web-a-1')).map(({ object }) => object)).toEqual([
    'machine/web-a-1',
  ]);
});

test('prints events as text', () => {
  const rows = eventRows(reported, scopeOfObject('Machine', 'web-a-1'));
  expect(eventLines(rows, NOW, false)).toEqual([
    'LAST SEEN  TYPE     REASON  OBJECT           MESSAGE',
    '2m         Warning  Told    machine/web-a-1  web-a-1 did something (×7)',
  ]);
  expect(eventLines(rows, NOW, true)[1]).toBe(
    '2m         Warning  Told    machine/web-a-1  machine-controller  web-a-1 did something (×7)',
  );
  const all = eventRows(
    [event('Machine', 'm', 2, { involvedObject: { kind: 'Machine', name: 'm', namespace: 'zoo' } })],
    undefined,
    {
      allNamespaces: true,
    },
  );
  expect(eventLines(all, NOW, false)[1]).toMatch(/^zoo +2m/);
  const none = 'no events; the API server deletes events after an hour';
  expect(eventLines([], NOW, false)).toEqual([none]);
  const before = (seconds: number): string => new Date(NOW.getTime() - seconds * 1000).toISOString();
  expect(eventLines([], NOW, false, before(3600))).toEqual([none]);
  expect(eventLines([], NOW, false, before(4))).toEqual([
    'no events yet; the object is 4s old. To follow new events, add --watch',
  ]);
});
