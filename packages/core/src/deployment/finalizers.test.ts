import { Finalizers, machineDeployments, machineSets } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { NAMESPACE, World } from './testing/world.ts';

const FOREIGN = 'example.com/backup';

const KINDS = [
  ['MachineSet', 'machinesets', (world: World) => world.keeper.resource(machineSets, NAMESPACE)],
  ['MachineDeployment', 'machinedeployments', (world: World) => world.keeper.resource(machineDeployments, NAMESPACE)],
] as const;

test.each(KINDS)(
  'a finalizer that another client adds to a %s survives the manager adding its own',
  async (_kind, plural, clientOf) => {
    let raced = false;
    const world: World = await World.start(startControlPlane, {
      fault: async (request, answer) => {
        const isPatch = request.method === 'PATCH' && request.url.includes(`/${plural}/alone`);
        if (!raced && isPatch && (await request.clone().text()).includes('"finalizers"')) {
          raced = true;
          const body = { metadata: { finalizers: [FOREIGN] } };
          await clientOf(world).patch('alone', { type: 'merge', body });
        }
        return answer();
      },
    });
    await using _ = world;
    await clientOf(world).create({
      metadata: { name: 'alone' },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'alone' } },
        template: { metadata: { labels: { app: 'alone' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
      },
    });
    await world.pass(30);
    expect(raced).toBe(true);
    const { finalizers = [] } = (await clientOf(world).get('alone')).metadata;
    expect(finalizers.toSorted()).toEqual([FOREIGN, Finalizers.MachineControllerManager].toSorted());
  },
);
