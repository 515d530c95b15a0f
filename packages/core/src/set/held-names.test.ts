import { Labels } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { nodes } from '@mcm/kube';
import { expect, test } from 'vitest';
import { World } from '../deployment/testing/world.ts';
import { nextMachineNames } from '../objects/machine-names.ts';

async function scaledWhileHeld(node: (name: string) => { readonly name: string; readonly unschedulable: boolean }) {
  await using world = await World.start(startControlPlane);
  await world.deploy(2);
  await world.until(() => world.complete(), 60);
  const [set] = await world.sets();
  const before = (await world.machines()).map(({ metadata }) => metadata.name);
  const [next = ''] = set ? nextMachineNames(set, [], 1, (name) => before.includes(name)) : [];
  const { name, unschedulable } = node(next);
  await world.keeper
    .resource(nodes)
    .create({ metadata: { name, labels: { [Labels.MachineName]: next } }, spec: { unschedulable } });
  await world.clock.settle();
  await world.change({ spec: { replicas: 3 } });
  await world.until(async () => (await world.machines()).length === 3, 60);
  const made = (await world.machines()).map(({ metadata }) => metadata.name).filter((one) => !before.includes(one));
  return { next, made };
}

test('the name of a cordoned Node is not given to a new machine, with any name of the Node object', async () => {
  const { next, made } = await scaledWhileHeld(() => ({ name: 'ip-10-0-0-1', unschedulable: true }));
  expect(made).toHaveLength(1);
  expect(made).not.toContain(next);
});

test('the name of a schedulable Node is given to a new machine, which adopts the VM', async () => {
  const { next, made } = await scaledWhileHeld(() => ({ name: 'ip-10-0-0-1', unschedulable: false }));
  expect(made).toEqual([next]);
});

test('a Node with the name of the machine reserves the name as well', async () => {
  const { next, made } = await scaledWhileHeld((name) => ({ name, unschedulable: true }));
  expect(made).not.toContain(next);
});
