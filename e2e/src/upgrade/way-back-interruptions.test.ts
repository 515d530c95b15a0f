import type { Machine } from '@mcm/api';
import { podDisruptionBudgets, pods } from '@mcm/kube';
import { expect, test } from 'vitest';
import { holdAll, holdNode } from '../simulation/world/workload.ts';
import { NAMESPACE, type World } from '../simulation/world/world.ts';
import { type Feature, goAndReturn, isRunning, MINUTE } from './way-back.ts';

const NOTICE = 30 * MINUTE;
let victim = { name: '', deadline: 0 };

const podsOfVictim = async ({ admin }: World): Promise<readonly string[]> =>
  (await admin.resource(pods, NAMESPACE).list()).items.flatMap(({ metadata, spec }) =>
    spec.nodeName === victim.name ? [metadata.name] : [],
  );

const vmOfVictim = ({ cloud }: World) => [...cloud.instances.list()].find(({ name }) => name === victim.name);

const victimOf = async (world: World): Promise<Machine | undefined> =>
  (await world.machines()).find(({ metadata }) => metadata.name === victim.name);

/** Interrupts a machine: its replacement runs, one pod is evicted, and a budget keeps the other pod. */
const interrupt = async (world: World): Promise<void> => {
  const [machine] = await world.machines();
  victim = { name: machine?.metadata.name ?? '', deadline: world.clock.now().getTime() + NOTICE };
  await holdNode(world, victim.name);
  await world.admin.resource(pods, NAMESPACE).create({
    metadata: { name: 'free', namespace: NAMESPACE },
    spec: { nodeName: victim.name, containers: [{ name: 'main', image: 'pause' }] },
  });
  await holdAll(world, 1);
  await world.clock.advance(MINUTE);
  const before = new Set((await world.machines()).map(({ metadata }) => metadata.uid));
  const notice = { kind: 'Terminate', noticeMs: NOTICE - MINUTE, detail: 'spot' } as const;
  world.cloud.interruptions.announce(vmOfVictim(world)?.id ?? '', notice);
  await world.until(async () => {
    const all = await world.machines();
    const replacement = all.find(({ metadata }) => !before.has(metadata.uid));
    return isRunning(replacement) && !(await podsOfVictim(world)).includes('free');
  }, NOTICE);
  await verifyHeld(world);
};

/** Verifies that the pod with the budget runs, and that the original deletes neither the pod nor the VM. */
const verifyHeld = async (world: World): Promise<void> => {
  expect((await victimOf(world))?.metadata.deletionTimestamp).toBeDefined();
  expect([await podsOfVictim(world), vmOfVictim(world)?.state]).toEqual([[`held-${victim.name}`], 'running']);
};

const verifyDrained = async (world: World): Promise<void> => {
  await world.clock.advance(15 * MINUTE);
  expect([await victimOf(world), await podsOfVictim(world)]).toEqual([undefined, []]);
};

const isInTime = ({ clock }: World): boolean => clock.now().getTime() < victim.deadline;

const INTERRUPTIONS: Readonly<Record<string, Feature>> = {
  'an interrupted machine whose drain continues': {
    options: { interruptions: true },
    act: interrupt,
    during: async (world) => {
      await world.clock.advance(5 * MINUTE);
      await verifyHeld(world);
      await world.admin.resource(podDisruptionBudgets, NAMESPACE).delete('held');
      await verifyDrained(world);
      expect(isInTime(world)).toBe(true);
    },
  },
  // The original does not know the deadline, so the cloud stops the VM during the drain.
  'an interrupted machine whose VM the cloud stops': {
    options: { interruptions: true },
    act: interrupt,
    during: async (world) => {
      await world.clock.advance(NOTICE - 5 * MINUTE);
      await verifyHeld(world);
      await verifyDrained(world);
      expect(isInTime(world)).toBe(false);
    },
  },
  'an interrupted machine for five minutes': {
    options: { interruptions: true },
    act: interrupt,
    isShort: true,
    during: async (world) => {
      await world.clock.advance(5 * MINUTE);
      await verifyHeld(world);
    },
    // mcm knows the deadline again, and deletes the pod and the VM in time.
    after: (world) => expect(isInTime(world)).toBe(true),
  },
};

test.each(Object.entries(INTERRUPTIONS))(
  'the original takes a fleet with %s back, and mcm takes over again',
  async (_name, feature) => {
    await goAndReturn(feature);
  },
);
