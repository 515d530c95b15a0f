import { type Machine, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { describe, expect, test } from 'vitest';
import { rolling } from '../deployment/testing/transcript.ts';
import { World } from '../deployment/testing/world.ts';
import type { Journal } from '../journal/journal.ts';
import { NAMESPACE } from '../run/testing/rig.ts';
import { createRig, startRig } from '../run/testing/start.ts';
import type { Json } from './codec.ts';
import { repeatDecision } from './kinds.ts';
import { readJournal } from './read-journal.ts';
import { type Repeat, replayJournal } from './replay.ts';
import { replayed, testJournal, textOf } from './testing.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const kindsOf = (journal: Journal) => [...new Set(journal.entries().map(({ kind }) => kind))].sort();

async function machineLife(): Promise<Journal> {
  const journal = testJournal();
  const { rig } = await createRig({ controller: { journal } });
  await rig.createClass();
  rig.start();
  await rig.createMachine('m-1');
  await rig.until(async () => (await rig.phase('m-1')) === 'Running');
  await rig.createPod('p-1', 'm-1');
  await rig.clock.advance(MINUTE);
  await rig.deleteMachine('m-1');
  await rig.clock.advance(20_000);
  return journal;
}

test('the decisions about the life of a machine and its drain are repeated without a difference', async () => {
  const journal = await machineLife();
  expect(journal.entries().map(({ because }) => because)).toEqual([
    'checking whether a VM already exists',
    "the driver's status call is in progress",
    'the machine has no VM yet',
    "the driver's create call is in progress",
    'the VM exists',
    'the VM exists and needs no initialization',
    'the machine waits until its node joins',
    'the machine waits until its node joins',
    'Machine m-1 successfully joined the cluster',
    'nothing to check',
    'a user or controller deleted the Machine',
    'cordoning the Node',
    'reading the API kinds that the API server supports',
    'evicting the pods that can be evicted now',
    '1 pod is terminating',
  ]);
  expect(replayed(journal)).toEqual({ repeated: journal.size, differences: [], problems: [] });
});

test('the decisions about a rollout with a failed machine are repeated without a difference', async () => {
  const journal = testJournal();
  await using world = await World.start(startControlPlane, { journal, birthMs: () => MINUTE, deathMs: () => 1_000 });
  await world.deploy(4, rolling(1, 1));
  await world.until(() => world.complete(), 3_600);
  await world.changeClass('large');
  await world.pass(90);
  const [one] = world.truth.store.list();
  if (one) await world.setPhase(one.metadata.name, 'Failed');
  await world.until(() => world.complete(), 3_600);
  expect(kindsOf(journal)).toEqual(['machinedeployment', 'machineset', 'overshoot']);
  expect(journal.entries().flatMap(({ actions }) => actions)).toContainEqual(expect.stringMatching(/^scale .* to \d$/));
  expect(replayed(journal)).toEqual({ repeated: journal.size, differences: [], problems: [] });
});

test('a rollback of a deployment that kubectl apply wrote is repeated without a difference', async () => {
  const journal = testJournal();
  await using world = await World.start(startControlPlane, { journal });
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{"spec":{"replicas":2}}' };
  await world.deploy(2, rolling(1, 1), { annotations });
  await world.until(() => world.complete(), 3_600);
  await world.changeClass('large');
  await world.until(() => world.complete(), 3_600);
  await world.change({ spec: { rollbackTo: { revision: 1 } } });
  await world.until(() => world.complete(), 3_600);
  expect(journal.entries().map(({ because }) => because)).toContainEqual(expect.stringMatching(/^Rolled back/));
  expect(replayed(journal)).toEqual({ repeated: journal.size, differences: [], problems: [] });
});

test('the decisions about an orphan VM and the drain of its Node are repeated without a difference', async () => {
  const journal = testJournal();
  const rig = await startRig({ eventTtlMs: 0, controller: { journal } });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.createPod('web', 'm-0');
  await rig.kill();
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  await client.patch('m-0', { type: 'merge', body: { metadata: { finalizers: null } } });
  await client.delete('m-0');
  rig.start();
  await rig.clock.advance(2 * HOUR);
  expect(kindsOf(journal)).toEqual(['drain', 'machine', 'orphanvm']);
  expect(replayed(journal)).toEqual({ repeated: journal.size, differences: [], problems: [] });
});

test('the decisions about an orphan Node are repeated without a difference', async () => {
  const journal = testJournal();
  const rig = await startRig({ eventTtlMs: 0, controller: { journal } });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.clock.advance(30 * MINUTE);
  await rig.kill();
  await rig.conditions('m-0', [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }]);
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  await client.patch('m-0', { type: 'merge', body: { metadata: { finalizers: null } } });
  rig.cloud.lose('m-0');
  await client.delete('m-0');
  rig.start();
  await rig.until(async () => (await rig.nodes()).length === 0, 2 * HOUR);
  const ofNode = journal.entries().filter(({ kind }) => kind === 'orphannode');
  expect(ofNode.map(({ because }) => because)).toEqual([
    'the minimum time since the deletion of the Machine has not passed',
    'mcm has not listed the VMs of MachineClass default/small since the loss of the Machine',
    'no machine and no VM belongs to the Node',
  ]);
  expect(replayed(journal)).toEqual({ repeated: journal.size, differences: [], problems: [] });
});

describe('a version that decides otherwise', () => {
  const changed =
    (change: (decision: { readonly [key: string]: Json }) => Json): Repeat =>
    (kind, input, now) =>
      change(repeatDecision(kind, input, now) as { readonly [key: string]: Json });

  test('a different decision is reported with the first object, time and field that differ', async () => {
    const journal = await machineLife();
    const other = changed((decision) =>
      JSON.stringify(decision).includes('"do":"cordon"') ? { ...decision, actions: [{ do: 'releaseNode' }] } : decision,
    );
    const { differences } = replayed(journal, other);
    expect(differences).toHaveLength(1);
    expect(differences[0]).toMatchObject({
      record: { kind: 'machine', subject: { name: 'm-1' }, because: 'cordoning the Node' },
      difference: { field: 'actions[0].do', recorded: 'cordon', present: 'releaseNode' },
      because: '',
    });
  });

  test('a different decision is reported for a drain that is part of the decision about a machine', async () => {
    const journal = await machineLife();
    const other = changed((decision) => {
      const { drain } = decision;
      return drain === undefined ? decision : { ...decision, drain: { ...(drain as object), evict: [] } };
    });
    expect(replayed(journal, other).differences[0]).toMatchObject({
      difference: { field: 'drain.evict[0]', recorded: expect.objectContaining({ name: 'p-1' }), present: undefined },
    });
  });

  test('a version with empty fields and a version without these fields decide the same', async () => {
    const journal = await machineLife();
    const other = changed((decision) => ({ ...decision, ofAnotherVersion: [], alsoNew: { inside: null }, off: false }));
    expect(replayed(journal, other).differences).toEqual([]);
  });
});

test('a kind of decision that this version does not make is reported and not repeated', async () => {
  const journal = await machineLife();
  const lines = textOf(journal).map((line) => line.replace('"kind":"machine",', '"kind":"astrology",'));
  const { repeated, differences, problems } = replayJournal(readJournal(lines).records);
  expect([repeated, differences.length, problems]).toEqual([0, journal.size, []]);
  expect(differences[0]?.because).toBe('this version of mcm makes no decisions of this kind');
});

test('a decision that asks for more than its record contains is reported', async () => {
  const journal = testJournal();
  await using world = await World.start(startControlPlane, { journal, birthMs: () => 1_000, deathMs: () => 1_000 });
  await world.deploy(1);
  await world.until(() => world.complete(), 3_600);
  const lines = textOf(journal).map((line) =>
    line.replace(/"classes":\{"\$map":\[\[.*?\]\]\}/, '"classes":{"$map":[]}'),
  );
  expect(replayJournal(readJournal(lines).records).differences[0]?.because).toBe(
    'this version of mcm needs more input: the record does not contain MachineClass small',
  );
});
