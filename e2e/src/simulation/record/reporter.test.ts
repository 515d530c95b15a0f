import { type Machine, machines } from '@mcm/api';
import { Reporter } from '@mcm/conformance/fleet';
import { VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { NAMESPACE, World } from '../world/world.ts';

/** Each test violates one rule of the verifiers on purpose. */

test('a machine without a request is reported', async () => {
  const world = await World.start();
  await world.createDeployment(1);
  await world.untilSettled(1, 'blue');
  const resource = world.admin.resource<Machine>(machines, NAMESPACE);
  const spec = { class: { kind: 'MachineClass', name: 'blue' } };
  for (const name of ['one-more', 'too-many']) {
    expect(world.violations).toEqual([]);
    await resource.create({ metadata: { name, namespace: NAMESPACE }, spec });
    await world.clock.settle();
  }
  expect(world.violations).toEqual(['3 machines are not terminating, more than the limit of 2']);
  await world.close();
});

test('a machine with the name of an earlier machine is reported', async () => {
  const world = await World.start();
  await world.createDeployment(1);
  await world.untilSettled(1, 'blue');
  const [machine] = await world.machines();
  const { name = '', labels, ownerReferences } = machine?.metadata ?? {};
  await world.deleteMachine(name);
  await world.untilSettled(1, 'blue');
  expect(world.violations).toEqual([]);
  await world.admin
    .resource<Machine>(machines, NAMESPACE)
    .create({ metadata: { name, namespace: NAMESPACE, labels, ownerReferences }, spec: machine?.spec } as never);
  await world.clock.settle();
  expect(world.violations).toContain(`machine ${name} has the name of an earlier machine`);
  await world.close();
});

test('an available machine that is deleted without a request of the user is reported', async () => {
  const world = await World.start();
  await world.createDeployment(2);
  await world.untilSettled(2, 'blue');
  const [first, second] = await world.machines();
  await world.deleteMachine(first?.metadata.name ?? '');
  await world.untilSettled(2, 'blue');
  await world.clock.advance(60_000);
  expect(world.violations).toEqual([]);
  await world.admin.resource<Machine>(machines, NAMESPACE).delete(second?.metadata.name ?? '');
  await world.clock.settle();
  expect(world.violations).toHaveLength(1);
  expect(world.violations[0]).toContain(
    'was deleted while 1 other machines are available and 0 just became unavailable',
  );
  await world.close();
});

test.each([
  ['that may not have read it', 20_000, 0],
  ['that has read it', 5_000, 1],
] as const)(
  'a name is used twice, and the set wrote its record after the end of the machine, from a manager %s',
  async (_, lagMs, violations) => {
    const clock = new VirtualClock();
    const reporter = new Reporter(clock, { recordedAt: () => 8, lagMs: () => lagMs });
    reporter.wishes('workers', { replicas: 1, maxSurge: 1, maxUnavailable: 0 });
    const machine = (uid: string, resourceVersion: string) =>
      partial<Machine>({
        metadata: { name: 'a', uid, resourceVersion, ownerReferences: [{ uid: 'set', controller: true }] },
        spec: { class: { kind: 'MachineClass', name: 'blue' } },
      });
    reporter.managerStarts();
    reporter.onChange({ type: 'added', key: 'a', object: machine('first', '5') });
    reporter.managerStarts();
    await clock.advance(10_000);
    reporter.onChange({ type: 'deleted', key: 'a', object: machine('first', '7') });
    reporter.onChange({ type: 'added', key: 'a', object: machine('second', '9') });
    expect(reporter.violations).toHaveLength(violations);
  },
);

test.each([
  ['before the first machine, and its manager ended', { recordedAt: 4, restarts: true }, 0],
  ['after the first machine', { recordedAt: 6, restarts: true }, 1],
  ['before the first machine, and its manager still runs', { recordedAt: 4, restarts: false }, 1],
  ['after the first machine, which no manager has read', { recordedAt: 6, restarts: false, unread: true }, 0],
])('a name is used twice, and the set wrote its last record %s', (_, rules, violations) => {
  const { recordedAt, restarts, unread = false }: typeof rules & { readonly unread?: boolean } = rules;
  const reporter = new Reporter(new VirtualClock(), { recordedAt: () => recordedAt, repeatsUnread: () => unread });
  reporter.wishes('workers', { replicas: 1, maxSurge: 1, maxUnavailable: 0 });
  const machine = (uid: string, resourceVersion: string) =>
    partial<Machine>({
      metadata: { name: 'a', uid, resourceVersion, ownerReferences: [{ uid: 'set', controller: true }] },
      spec: { class: { kind: 'MachineClass', name: 'blue' } },
    });
  reporter.managerStarts();
  reporter.onChange({ type: 'added', key: 'a', object: machine('first', '5') });
  reporter.onChange({ type: 'deleted', key: 'a', object: machine('first', '7') });
  if (restarts) reporter.managerStarts();
  reporter.onChange({ type: 'added', key: 'a', object: machine('second', '9') });
  expect(reporter.violations).toHaveLength(violations);
});
