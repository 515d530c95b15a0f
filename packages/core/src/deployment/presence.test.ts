import { Annotations, Labels, machineSets, presenceProblem } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { describe, expect, test } from 'vitest';
import { NAMESPACE, World } from './testing/world.ts';

const start = () => World.start(startControlPlane, {});

const inputIgnored = async (world: World) =>
  (await world.events())
    .filter(({ reason }) => reason === 'InputIgnored')
    .map(({ involvedObject, message, count }) => [involvedObject.kind, message, count ?? 1]);

const patchSet = async (world: World, metadata: object): Promise<void> => {
  const sets = world.keeper.resource(machineSets, NAMESPACE);
  const [set] = (await sets.list()).items;
  await sets.patch(set?.metadata.name ?? '', { type: 'merge', body: { metadata } });
  await world.pass(5);
};

describe('keys whose presence counts', () => {
  test.for(['false', 'False', '0', 'no', ' off '])(
    'the value %j of a key whose presence counts is misleading',
    (value) => {
      const labels = { [Labels.SelectedForUpdate]: value };
      expect(presenceProblem({ metadata: { labels } }, Labels.SelectedForUpdate)).toBe(
        `metadata.labels[node.machine.sapcloud.io/selected-for-update]: ${JSON.stringify(value)} selects the Node for an update in place, because any value has this effect; remove the label`,
      );
    },
  );

  test.for(['true', '', '1', 'by hand'])('the value %j of a key whose presence counts is not misleading', (value) => {
    const annotations = { [Annotations.Unfreeze]: value };
    expect(presenceProblem({ metadata: { annotations } }, Annotations.Unfreeze)).toBeUndefined();
    expect(presenceProblem({ metadata: {} }, Annotations.Unfreeze)).toBeUndefined();
  });

  test('scale-up-disabled=false on a set causes one event, also across a restart', async () => {
    await using world = await start();
    await world.deploy(1);
    await world.until(() => world.complete(), 60);
    await patchSet(world, { labels: { [Labels.ScaleUpDisabled]: 'false' } });
    await patchSet(world, { labels: { other: 'x' } });
    await world.restart();
    await world.pass(5);
    expect(await inputIgnored(world)).toEqual([
      [
        'MachineSet',
        'metadata.labels[node.machine.sapcloud.io/scale-up-disabled]: "false" prevents the MachineSet from adding machines, because any value has this effect; remove the label',
        1,
      ],
    ]);
  });

  test('unfreeze=false ends the freeze, and an event reports the value on the set and on the deployment', async () => {
    await using world = await start();
    await world.deploy(1);
    await world.until(() => world.complete(), 60);
    const asked = { annotations: { [Annotations.Unfreeze]: 'false' } };
    await patchSet(world, asked);
    await world.change({ metadata: asked });
    await world.pass(5);
    const said =
      'metadata.annotations[safety.machine.sapcloud.io/unfreeze]: "false" ends the freeze, because any value has this effect; remove the annotation';
    expect(await inputIgnored(world)).toEqual([
      ['MachineSet', said, 1],
      ['MachineDeployment', said, 1],
    ]);
  });
});
