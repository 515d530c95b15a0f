import { API_VERSION, crds, type Machine, type MachineSet, machineSets } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, events, type KubeClient, VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { deletionCauseOf } from './deletion-cause.ts';

const NS = 'default';
const NOW = new Date('2026-01-01T12:00:00Z');
let client: KubeClient;
let close: () => Promise<void>;
let set: MachineSet;

beforeEach(async () => {
  const clock = new VirtualClock({ start: NOW });
  const plane = await startControlPlane({ clock, crds, controllers: false });
  close = () => plane.close();
  const transport = plane.transport;
  client = createClient({ transport, userAgent: 'test', clock });
  const labels = { app: 'a' };
  set = await client.resource(machineSets, NS).create({
    metadata: { name: 's', namespace: NS },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
    },
  } as never);
});
afterEach(() => close());

const machine = (annotations: object = {}, owned = true): Machine =>
  partial<Machine>({
    metadata: {
      name: 'm',
      namespace: NS,
      uid: 'm',
      deletionTimestamp: NOW.toISOString(),
      annotations,
      ...(owned && {
        ownerReferences: [
          { apiVersion: API_VERSION, kind: 'MachineSet', name: 's', uid: set.metadata.uid, controller: true },
        ],
      }),
    },
  });

const causeOf = (one: Machine) => deletionCauseOf({ client, namespace: NS }, one, new Set());

test('the event of the set takes precedence over the annotations of the machine', async () => {
  await client.resource(events, NS).create({
    metadata: { name: 'e', namespace: NS },
    involvedObject: { apiVersion: API_VERSION, kind: 'MachineSet', name: 's', namespace: NS, uid: set.metadata.uid },
    reason: 'SuccessfulDelete',
    type: 'Normal',
    message: 'Deleted Machine: m. Cause: rollout',
  } as never);
  expect(await causeOf(machine({ 'machinepriority.machine.sapcloud.io': '1' }))).toBe('rollout');
});

test('an interruption by the cloud is a cause, also without an owner', async () => {
  const notice = {
    kind: 'Terminate',
    id: 'n',
    noticedAt: NOW.toISOString(),
    deadline: NOW.toISOString(),
    detail: 'spot',
  };
  const annotations = { 'node.machine.sapcloud.io/interruption': JSON.stringify(notice) };
  expect(await causeOf(machine(annotations))).toBe('interruption by the cloud');
  expect(await causeOf(machine(annotations, false))).toBe('interruption by the cloud');
});

test('without an event, the machine and its owner provide the cause', async () => {
  expect(await causeOf(machine({ 'node.machine.sapcloud.io/deleted-for-health': 'True' }))).toBe('unhealthy');
  expect(await causeOf(machine({ 'machinepriority.machine.sapcloud.io': '1' }))).toBe('autoscaler');
  expect(await causeOf(machine())).toMatch(/^manual /);
  expect(await causeOf(machine({}, false))).toMatch(/^manual /);
  await client.resource(machineSets, NS).delete('s');
  expect(await causeOf(machine())).toBe('owner deleted');
});

test('a machine that is not being deleted has no cause', async () => {
  const { deletionTimestamp: _, ...metadata } = machine().metadata;
  expect(await causeOf({ ...machine(), metadata })).toBeUndefined();
});
