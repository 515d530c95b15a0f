import { Annotations, Labels, type Machine } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { controllerOf } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { label, rounds, strategy } from './testing/in-place-agents.ts';
import { ScaleRecorder } from './testing/scale-recorder.ts';
import { World } from './testing/world.ts';

const SETTLES_S = 30;

async function namesOf(world: World, className: string): Promise<string[]> {
  const [set] = (await world.sets()).filter(({ spec }) => spec.template.spec.class.name === className);
  const mine = (machine: Machine) => controllerOf(machine)?.uid === set?.metadata.uid;
  return (await world.machines()).filter(mine).map(({ metadata }) => metadata.name);
}

async function midway(world: World, how: 'paused' | 'in place'): Promise<void> {
  await world.deploy(6, how === 'in place' ? strategy('Manual', 0, 2) : {});
  await world.until(() => world.complete(), 120);
  await world.changeClass('large');
  if (how === 'in place') {
    await rounds(world, 1);
    for (const name of (await namesOf(world, 'small')).slice(0, 2))
      await label(world, name, 'true', Labels.SelectedForUpdate);
    await rounds(world, 6);
    return;
  }
  await world.until(async () => (await namesOf(world, 'large')).length >= 2, 300);
  await world.change({ spec: { paused: true } });
  await world.pass(SETTLES_S);
}

type Form = 'list' | 'priority';

async function scaleIn(world: World, form: Form, names: readonly string[]): Promise<void> {
  if (form === 'priority')
    for (const name of names)
      await world.patchMachine(name, { metadata: { annotations: { [Annotations.Priority]: '1' } } });
  const { metadata, spec } = await world.deployment();
  const list = [metadata.annotations?.[Annotations.TriggerDeletion] ?? [], names].flat().join(',');
  await world.change({
    metadata: { annotations: form === 'list' ? { [Annotations.TriggerDeletion]: list } : {} },
    spec: { replicas: (spec.replicas ?? 0) - names.length },
  });
  await world.pass(SETTLES_S);
}

describe.each(['paused', 'in place'] as const)('a scale-in during a rollout: %s', (how) => {
  test.each([
    ['of the new set', 'list', 0, 1],
    ['of the new set', 'priority', 0, 1],
    ['of the old set', 'list', 2, 0],
    ['of both sets', 'list', 1, 1],
    ['of both sets', 'priority', 2, 1],
  ] as const)(
    'the named machines %s (%s) are deleted, no other one, and none is created',
    async (_t, form, old, fresh) => {
      await using world = await World.start(startControlPlane, {});
      await midway(world, how);
      const named = [
        ...(await namesOf(world, 'small')).slice(-old || 99),
        ...(await namesOf(world, 'large')).slice(-fresh || 99),
      ];
      const recorder = new ScaleRecorder(world.truth);
      await scaleIn(world, form, named);
      expect([recorder.deleted.toSorted(), recorder.created]).toEqual([named.toSorted(), []]);
    },
  );
});

describe('a scale-in during a pause names all machines of one set', () => {
  test.each(['list', 'priority'] as const)('the other set keeps its surge machine (%s)', async (form) => {
    await using world = await World.start(startControlPlane, {});
    await midway(world, 'paused');
    const named = await namesOf(world, 'large');
    const before = (await world.machines()).length;
    expect([named.length, before]).toEqual([2, 7]);
    const recorder = new ScaleRecorder(world.truth);
    await scaleIn(world, form, named);
    expect([recorder.deleted.toSorted(), recorder.created]).toEqual([named.toSorted(), []]);
    const [next = ''] = await namesOf(world, 'small');
    await scaleIn(world, form, [next]);
    expect([recorder.deleted.toSorted(), recorder.created]).toEqual([[...named, next].toSorted(), []]);
    await world.change({ spec: { paused: false } });
    await world.until(() => world.complete(), 900);
    expect(await world.machines()).toHaveLength(3);
  });

  test.each([1, 2])('a manager that is killed after write %i of a set deletes no unnamed machine', async (last) => {
    let left = Number.POSITIVE_INFINITY;
    await using world = await World.start(startControlPlane, {
      fault: async (request, answer) => {
        const isUpdate = request.method === 'PUT' && /\/machinesets\/[^/]+$/.test(new URL(request.url).pathname);
        if (isUpdate && left-- <= 0) return new Promise(() => undefined);
        return answer();
      },
    });
    await midway(world, 'paused');
    const named = await namesOf(world, 'large');
    const recorder = new ScaleRecorder(world.truth);
    left = last;
    await scaleIn(world, 'list', named);
    left = Number.POSITIVE_INFINITY;
    await world.restart();
    await world.pass(SETTLES_S);
    expect([recorder.deleted.toSorted(), recorder.created]).toEqual([named.toSorted(), []]);
  });
});
