import { expect, test } from 'vitest';
import { World } from './world/world.ts';

/** The clocks of both controllers and of the servers differ by minutes. */

const MINUTE = 60_000;
const GREEN = { template: { spec: { class: { name: 'green' } } } };
const MACHINE = { creationTimeout: '10m', healthTimeout: '3m' };

test.each([
  [7, -7],
  [-7, 7],
])(
  'with clocks that are %i and %i minutes off, no healthy machine is deleted, and a rollout, a replacement and a scale-in complete',
  async (manager, controller) => {
    const skewMs = { manager: [manager * MINUTE], 'machine-controller': [controller * MINUTE] };
    const world = await World.start({ machine: MACHINE, skewMs, kubelets: { joinDelay: 20_000 } });
    try {
      await world.createDeployment(3);
      await world.untilSettled(3, 'blue', 10 * MINUTE);
      const made = world.vmsMade;
      await world.clock.advance(10 * MINUTE);
      // Despite the different clocks, no new machine exceeds its creation timeout, and no new VM is deleted as an
      // orphan.
      expect([made, world.vmsMade, world.deletions]).toEqual([3, 3, []]);
      await world.change(GREEN);
      await world.untilSettled(3, 'green', 20 * MINUTE);
      const [first] = world.vms();
      const vm = [...world.cloud.instances.list()].find(({ name }) => name === first);
      // The kubelet stops reporting for less than the health timeout, so the machine must not be replaced.
      if (vm) world.cloud.kubelets.order(vm.id, { silent: true });
      await world.clock.advance(2 * MINUTE);
      if (vm) world.cloud.kubelets.order(vm.id, { silent: false });
      const deletions = world.deletions.length;
      await world.untilSettled(3, 'green', 10 * MINUTE);
      expect(world.deletions).toHaveLength(deletions);
      await world.change({ replicas: 1 });
      await world.untilSettled(1, 'green', 10 * MINUTE);
      expect(world.violations, world.reporter.tell()).toEqual([]);
    } finally {
      await world.close();
    }
  },
);
