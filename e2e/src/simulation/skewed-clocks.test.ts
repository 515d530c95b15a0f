import { expect, test } from 'vitest';
import { World } from './world/world.ts';

/** The two processes, and the servers, differ by minutes in what they take for the time of day. */

const MINUTE = 60_000;
const GREEN = { template: { spec: { class: { name: 'green' } } } };
const MACHINE = { creationTimeout: '10m', healthTimeout: '3m' };

test.each([
  [7, -7],
  [-7, 7],
])(
  'clocks that are %i and %i minutes off: no machine goes that serves, and a roll, a repair and a scale-in end',
  async (manager, controller) => {
    const skewMs = { manager: manager * MINUTE, 'machine-controller': controller * MINUTE };
    const world = await World.start({ machine: MACHINE, skewMs, kubelets: { joinDelay: 20_000 } });
    try {
      await world.createDeployment(3);
      await world.untilSettled(3, 'blue', 10 * MINUTE);
      const made = world.vmsMade;
      await world.clock.advance(10 * MINUTE);
      // Fresh machines are neither late to join for one process, nor orphans for another.
      expect([made, world.vmsMade, world.goings]).toEqual([3, 3, []]);
      await world.change(GREEN);
      await world.untilSettled(3, 'green', 20 * MINUTE);
      const [first] = world.vms();
      const vm = [...world.cloud.instances.list()].find(({ name }) => name === first);
      // An outage of the kubelet that is shorter than the health timeout costs no machine.
      if (vm) world.cloud.kubelets.order(vm.id, { silent: true });
      await world.clock.advance(2 * MINUTE);
      if (vm) world.cloud.kubelets.order(vm.id, { silent: false });
      const goings = world.goings.length;
      await world.untilSettled(3, 'green', 10 * MINUTE);
      expect(world.goings).toHaveLength(goings);
      await world.change({ replicas: 1 });
      await world.untilSettled(1, 'green', 10 * MINUTE);
      expect(world.violations, world.reporter.tell()).toEqual([]);
    } finally {
      await world.close();
    }
  },
);
