import { Annotations, Labels, type Machine, machineSets } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { NAMESPACE, World } from './testing/world.ts';

const isWarm = ({ metadata }: Machine): boolean => metadata.annotations?.[Annotations.WarmState] !== undefined;

test('a set that lost the label with its template hash keeps and uses its warm machines', async () => {
  await using world = await World.start(startControlPlane);
  const annotations = { [Annotations.WarmMachines]: '1', [Annotations.WarmState]: 'Running' };
  await world.deploy(2, {}, { annotations });
  await world.until(async () => (await world.machines()).length === 3, 120);
  await world.pass(10);
  const [set] = await world.sets();
  const body = { metadata: { labels: { [Labels.TemplateHash]: null } } };
  await world.keeper.resource(machineSets, NAMESPACE).patch(set?.metadata.name ?? '', { type: 'merge', body });
  const warm = (await world.machines()).find(isWarm)?.metadata.uid;
  await world.change({ metadata: { annotations: { team: 'blue' } } });
  await world.pass(120);
  expect((await world.machines()).filter(isWarm).map(({ metadata }) => metadata.uid)).toEqual([warm]);
  await world.change({ spec: { replicas: 3 } });
  await world.pass(10);
  const used = (await world.machines()).find(({ metadata }) => metadata.uid === warm);
  expect(used && isWarm(used)).toBe(false);
});
