import {
  crds,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, type EventObject, events, namespaces, VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { DeploymentReading } from '../cluster/deployment-reading.ts';
import { UserError } from '../command/errors.ts';
import { eventLines, eventRows } from './events.ts';
import { readEvents } from './run.ts';
import { isInScope, LiveScope, type ObjectScope, readSelected, scopeOfDeployments, scopeOfObject } from './scope.ts';

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

const reading = partial<DeploymentReading>({
  deployment: { metadata: { name: 'web' } } as MachineDeployment,
  sets: [{ metadata: { name: 'web-a' } } as MachineSet],
  machines: new Map([['u', [partial<Machine>({ metadata: { name: 'web-a-1', labels: { node: 'ip-10' } } })]]]),
});

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
  expect(eventRows(reported, scopeOfDeployments([reading])).map(({ object }) => object)).toEqual([
    'machine/web-a-gone',
    'machinedeployment/web',
    'machine/web-a-1',
    'node/ip-10',
  ]);
});

test('lists the events of one machine', () => {
  expect(eventRows(reported, scopeOfObject('Machine', 'web-a-1', '')).map(({ object }) => object)).toEqual([
    'machine/web-a-1',
  ]);
});

test('for a machine, lists the events of its set about the creation and the deletion of the machine', () => {
  const ofSet = (message: string, namespace = '') =>
    event('MachineSet', 'web-a', 1, { message, involvedObject: { kind: 'MachineSet', name: 'web-a', namespace } });
  const about = [
    ofSet('Created 2 Machines: web-a-0, web-a-1'),
    ofSet('Deleted Machine: web-a-1. Cause: rollout'),
    ofSet('Deleted 2 Machines: web-a-1, web-a-2 and 3 more. Cause: scale-down'),
  ];
  const others = [
    ofSet('Deleted Machine: web-a-10. Cause: rollout'),
    ofSet('Deleted Machine: old-web-a-1. Cause: rollout'),
    ofSet('Deleted Machine: web-a-1.b. Cause: rollout'),
    ofSet('Deleted Machine: web-a-1. Cause: rollout', 'another'),
  ];
  const rows = eventRows([...about, ...others], scopeOfObject('Machine', 'web-a-1', ''));
  expect(rows.map(({ message }) => message)).toEqual(about.map(({ message }) => message));
});

test('prints events as text', () => {
  const rows = eventRows(reported, scopeOfObject('Machine', 'web-a-1', ''));
  expect(eventLines(rows, NOW, { wide: false })).toEqual([
    'LAST SEEN  TYPE     REASON  OBJECT           MESSAGE',
    '2m         Warning  Told    machine/web-a-1  web-a-1 did something (×7)',
  ]);
  expect(eventLines(rows, NOW, { wide: true })[1]).toBe(
    '2m         Warning  Told    machine/web-a-1  machine-controller  web-a-1 did something (×7)',
  );
  const all = eventRows(
    [event('Machine', 'm', 2, { involvedObject: { kind: 'Machine', name: 'm', namespace: 'zoo' } })],
    undefined,
    {
      allNamespaces: true,
    },
  );
  expect(eventLines(all, NOW, { wide: false })[1]).toMatch(/^zoo +2m/);
  const none = 'no events; the API server deletes events after an hour';
  expect(eventLines([], NOW, { wide: false })).toEqual([none]);
  const before = (seconds: number): string => new Date(NOW.getTime() - seconds * 1000).toISOString();
  expect(eventLines([], NOW, { wide: false, since: before(3600) })).toEqual([none]);
  expect(eventLines([], NOW, { wide: false, since: before(4) })).toEqual([
    'the object is 4s old and has no events yet. To follow new events, add --watch',
  ]);
});

describe('the scope of deployments', () => {
  const scope = (namespace: string, set: string): ObjectScope => ({
    objects: new Set([`${namespace}/MachineSet/${set}`, '/Node/ip-10']),
    machinePrefixes: [`${namespace}/${set}-`],
  });

  test('an object of the same name in another namespace is outside, and a Node has no namespace', () => {
    const own = scope('zoo', 'web-a');
    const is = (namespace: string, kind: string, name: string) => isInScope({ namespace, kind, name }, own);
    expect([is('zoo', 'MachineSet', 'web-a'), is('farm', 'MachineSet', 'web-a')]).toEqual([true, false]);
    expect([is('zoo', 'Machine', 'web-a-1'), is('farm', 'Machine', 'web-a-1')]).toEqual([true, false]);
    expect([is('', 'Node', 'ip-10'), is('default', 'Node', 'web-a-1'), is('', 'Node', 'ip-11')]).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('during a watch, a new set and its machines are added, and a foreign set is looked up once', async () => {
    let reads = 0;
    let known = scope('zoo', 'web-a');
    const live = new LiveScope(known, async () => {
      reads += 1;
      return known;
    });
    const has = (kind: string, name: string) => live.includes({ namespace: 'zoo', kind, name });
    expect([await has('MachineSet', 'db-a'), await has('Machine', 'db-a-1'), await has('Machine', 'db-a-2')]).toEqual([
      false,
      false,
      false,
    ]);
    expect(reads).toBe(1);
    known = { ...known, machinePrefixes: [...known.machinePrefixes, 'zoo/web-b-'] };
    expect([await has('Machine', 'web-b-1'), await has('Machine', 'web-b-2')]).toEqual([true, true]);
    expect(reads).toBe(2);
  });

  test('the events of a deleted deployment stay in the scope of a watch', async () => {
    const live = new LiveScope(scope('zoo', 'web-a'), async () => {
      throw new UserError('machinedeployment web does not exist');
    });
    expect(await live.includes({ namespace: 'zoo', kind: 'MachineSet', name: 'web-c' })).toBe(false);
    expect(await live.includes({ namespace: 'zoo', kind: 'MachineSet', name: 'web-a' })).toBe(true);
  });
});

test('labels select the deployments whose events are listed, also in all namespaces', async () => {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds, controllers: false });
  onTestFinished(() => plane.close());
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  await client.resource(namespaces).create({ metadata: { name: 'zoo' } });
  const template = { metadata: { labels: { a: 'b' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } };
  for (const [namespace, name, app] of [
    ['default', 'web', 'web'],
    ['default', 'db', 'db'],
    ['zoo', 'apes', 'web'],
  ] as const)
    await client.resource<MachineDeployment>(machineDeployments, namespace).create({
      metadata: { name, labels: { app } },
      spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template },
    });
  const warned: string[] = [];
  const selected = async (flags: { selector: string; allNamespaces?: true }) => [
    ...((await readSelected({ client, namespace: 'default' }, flags, (line) => void warned.push(line)))?.objects ?? []),
  ];
  expect(await selected({ selector: 'app=web' })).toEqual(['default/MachineDeployment/web']);
  expect(await selected({ selector: 'app=web', allNamespaces: true })).toEqual([
    'default/MachineDeployment/web',
    'zoo/MachineDeployment/apes',
  ]);
  expect(await selected({ selector: 'app=none' })).toEqual([]);
  expect(warned).toEqual(['mcm: no machinedeployment in namespace default has the labels app=none']);
});

test('a namespace shows the events of the Nodes of its machines, and of no other Nodes', async () => {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds, controllers: false });
  onTestFinished(() => plane.close());
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  await client.resource(namespaces).create({ metadata: { name: 'zoo' } });
  const spec = { class: { kind: 'MachineClass', name: 'small' } };
  await client
    .resource<Machine>(machines, 'zoo')
    .create({ metadata: { name: 'apes-a-1', labels: { node: 'ip-10' } }, spec });
  const labels = { a: 'b' };
  await client.resource<MachineSet>(machineSets, 'zoo').create({
    metadata: { name: 'apes-a' },
    spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  });
  for (const name of ['ip-10', 'apes-a-gone', 'web-a-1'])
    await client.resource<EventObject>(events, 'default').create({
      metadata: { name: `${name}.1` },
      involvedObject: { kind: 'Node', name },
      reason: 'NodeReady',
    } as EventObject);
  const names = async (namespace: string): Promise<readonly (string | undefined)[]> => {
    const { items } = await readEvents({ client, target: client, namespace }, new Set(), false);
    return items.map(({ involvedObject }) => involvedObject.name).toSorted();
  };
  expect(await names('zoo')).toEqual(['apes-a-gone', 'ip-10']);
  expect(await names('kube-system')).toEqual([]);
});
