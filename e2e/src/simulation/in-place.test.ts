import {
  Annotations,
  Labels,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  Taints,
} from '@mcm/api';
import { type EventObject, events, type Node, nodes } from '@mcm/kube';
import { isThorough, sampled } from '@mcm/kube/testing';
import type { KubeletBehaviour } from '@mcm/provider-local';
import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { Workload } from './world/workload.ts';
import { NAMESPACE, World, type WorldOptions } from './world/world.ts';

/** Tests in-place updates with both controllers, the cloud, and kubelets that simulate the agents of nodes. */

const MINUTE = 60_000;

async function inWorld(options: WorldOptions, story: (world: World) => Promise<void>): Promise<void> {
  const world = await World.start({ inPlace: 'Auto', maxSurge: 0, maxUnavailable: 1, ...options });
  try {
    await story(world);
    expect(world.violations, world.reporter.tell()).toEqual([]);
  } finally {
    await world.close();
  }
}

const allNodes = async (world: World): Promise<Node[]> => (await world.admin.resource(nodes).list()).items;
const allSets = async (world: World): Promise<MachineSet[]> =>
  (await world.admin.resource<MachineSet>(machineSets, NAMESPACE).list()).items;

async function sizeOf(world: World, machineClass: string): Promise<number> {
  const sets = (await allSets(world)).filter(({ spec }) => spec.template?.spec?.class?.name === machineClass);
  return sets.reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0);
}

const marksOf = ({ metadata }: Node): string[] =>
  Object.keys(metadata.labels ?? {}).filter((key) =>
    ([Labels.CandidateForUpdate, Labels.SelectedForUpdate, Labels.UpdateResult] as string[]).includes(key),
  );

async function isUpdated(world: World, replicas: number, machineClass: string): Promise<boolean> {
  const all = await world.machines();
  const sets = await allSets(world);
  const current = sets.find(({ spec }) => spec.template?.spec?.class?.name === machineClass);
  if (all.length !== replicas || current?.spec.replicas !== replicas || current.status?.replicas !== replicas)
    return false;
  if (sets.some((set) => set !== current && (set.spec.replicas ?? 0) > 0)) return false;
  const settled = all.every(
    ({ metadata, status }) =>
      status?.currentStatus?.phase === 'Running' &&
      metadata.labels?.[Labels.UpdateResult] === undefined &&
      metadata.ownerReferences?.[0]?.uid === current.metadata.uid,
  );
  const found = await allNodes(world);
  return (
    settled &&
    found.length === replicas &&
    found.every((node) => marksOf(node).length === 0 && !node.spec.unschedulable)
  );
}

async function untilUpdated(world: World, replicas: number, machineClass: string): Promise<void> {
  try {
    await world.until(() => isUpdated(world, replicas, machineClass), 6 * 60 * MINUTE);
  } catch (error) {
    throw new Error(world.reporter.tell(80), { cause: error });
  }
}

const vmIds = (world: World): string[] =>
  [...world.cloud.instances.list()]
    .filter(({ state }) => state !== 'terminated')
    .map(({ id }) => id)
    .sort();

async function expectQuiet(world: World): Promise<void> {
  await world.clock.advance(20_000);
  const written = world.writes.length;
  await world.clock.advance(10 * MINUTE);
  expect(world.writes.slice(written)).toEqual([]);
}

/** Creates a fleet of blue machines, and changes its template to green. */
async function begin(world: World, replicas: number): Promise<string[]> {
  await world.createDeployment(replicas);
  await world.untilSettled(replicas, 'blue');
  await world.clock.advance(10_000);
  const before = vmIds(world);
  await world.change({ template: { spec: { class: { name: 'green' } } } });
  return before;
}

const selectedNames = async (world: World): Promise<string[]> =>
  (await allNodes(world))
    .filter(({ metadata }) => metadata.labels?.[Labels.SelectedForUpdate])
    .map(({ metadata }) => metadata.name);

/** Removes the taint after the start of a node's critical components, as Gardener's resource manager does. */
async function criticalComponentsCome(world: World): Promise<void> {
  const { key } = Taints.CriticalComponentsNotReady;
  for (const { metadata, spec } of await allNodes(world)) {
    const taints = spec.taints?.filter((taint) => taint.key !== key);
    if (taints?.length === spec.taints?.length) continue;
    await world.admin.resource(nodes).patch(metadata.name, { type: 'merge', body: { spec: { taints } } });
  }
}

const phaseOf = async (world: World, name: string): Promise<string | undefined> =>
  (await world.machines()).find(({ metadata }) => metadata.name === name)?.status?.currentStatus?.phase;

function order(world: World, name: string, behaviour: KubeletBehaviour): void {
  const instance = [...world.cloud.instances.list()].find((each) => each.name === name && each.state !== 'terminated');
  if (!instance) throw new Error(`no VM ${name}`);
  world.cloud.kubelets.order(instance.id, behaviour);
}

async function firstSelected(world: World): Promise<string> {
  await world.until(async () => (await selectedNames(world)).length > 0, 10 * MINUTE);
  return (await selectedNames(world))[0] ?? '';
}

test('Auto: machines are updated in place one after another, and their pods are evicted within the budget', async () => {
  await inWorld({}, async (world) => {
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    const workload = await Workload.create(world, { replicas: 4, minAvailable: 3 });
    const before = vmIds(world);
    await world.change({ template: { spec: { class: { name: 'green' } } } });
    let most = 0;
    await world.until(async () => {
      const cordoned = (await allNodes(world)).filter(({ spec }) => spec.unschedulable).length;
      most = Math.max(most, cordoned);
      await criticalComponentsCome(world);
      return isUpdated(world, 3, 'green');
    }, 60 * MINUTE);
    expect(vmIds(world)).toEqual(before);
    expect(most).toBe(1);
    expect(workload.evictions.length).toBeGreaterThan(0);
    expect(workload.fewest).toBeGreaterThanOrEqual(3);
    workload.close();
    await expectQuiet(world);
  });
});

test('Auto with surge: one machine is created, and the last old one is deleted [P-23]', async () => {
  await inWorld({ maxSurge: 1, maxUnavailable: 0 }, async (world) => {
    const before = await begin(world, 3);
    await untilUpdated(world, 3, 'green');
    expect(vmIds(world).filter((id) => before.includes(id))).toHaveLength(2);
    expect(world.vmsMade).toBe(4);
    await expectQuiet(world);
  });
});

test('Manual: nothing happens until a user selects a node [P-22]', async () => {
  await inWorld({ inPlace: 'Manual' }, async (world) => {
    const before = await begin(world, 2);
    await world.clock.advance(30 * MINUTE);
    expect([await selectedNames(world), await sizeOf(world, 'blue')]).toEqual([[], 2]);
    await selectAll(world);
    await untilUpdated(world, 2, 'green');
    expect(vmIds(world)).toEqual(before);
    await expectQuiet(world);
  });
});

async function selectAll(world: World): Promise<void> {
  for (const name of await world.nodeNames()) {
    const body = { metadata: { labels: { [Labels.SelectedForUpdate]: 'true' } } };
    await world.admin.resource(nodes).patch(name, { type: 'merge', body });
  }
}

test.runIf(isThorough)(
  'Manual twice in a row: the selection of an updated node does not count for the next template',
  async () => {
    await inWorld({ inPlace: 'Manual' }, async (world) => {
      const before = await begin(world, 2);
      await selectAll(world);
      await untilUpdated(world, 2, 'green');
      for (const machineClass of ['blue', 'green']) {
        await selectAll(world);
        await world.until(async () => (await selectedNames(world)).length === 0, MINUTE);
        await world.change({ template: { spec: { class: { name: machineClass } } } });
        await world.clock.advance(30 * MINUTE);
        expect([await selectedNames(world), await sizeOf(world, machineClass)]).toEqual([[], 0]);
        await selectAll(world);
        await untilUpdated(world, 2, machineClass);
      }
      const reported = (await world.admin.resource<EventObject>(events, NAMESPACE).list()).items.filter(
        ({ reason }) => reason === 'SelectionTakenOff',
      );
      expect(reported.length).toBeGreaterThan(0);
      expect(vmIds(world)).toEqual(before);
      await expectQuiet(world);
    });
  },
);

test.each(sampled([1, 2, 3, 4, 5, 6], 6))(
  'kills, conflicts and lost answers (seed %i): the VMs stay, and then there are no further writes',
  async (seed) => {
    await inWorld({ seed, maxUnavailable: 2, kubelets: { updateDelay: 20_000 } }, async (world) => {
      await world.createDeployment(4);
      await world.untilSettled(4, 'blue');
      const before = vmIds(world);
      world.network.setFaultChances({
        lost: 0.1,
        conflict: 0.1,
        internal: 0.05,
        'killed before': 0.05,
        'killed after': 0.05,
      });
      await world.change({ template: { spec: { class: { name: 'green' } } } });
      await world.clock.advance(5 * MINUTE);
      world.network.setFaultChances({});
      await untilUpdated(world, 4, 'green');
      expect(vmIds(world)).toEqual(before);
      await expectQuiet(world);
    });
  },
);

test.runIf(isThorough)(
  'a failing agent delays the other nodes, and the rollout continues when it succeeds',
  async () => {
    await inWorld({ machine: { disableHealthTimeout: true } }, async (world) => {
      await world.createDeployment(3);
      await world.untilSettled(3, 'blue');
      const before = vmIds(world);
      for (const name of world.vms()) order(world, name, { update: 'fail', updateFailure: 'disk full' });
      await world.change({ template: { spec: { class: { name: 'green' } } } });
      const name = await firstSelected(world);
      await world.until(async () => (await phaseOf(world, name)) === 'InPlaceUpdateFailed', 10 * MINUTE);
      await world.clock.advance(60 * MINUTE);
      expect([await selectedNames(world), vmIds(world)]).toEqual([[name], before]);
      await expectQuiet(world);
      for (const each of world.vms()) order(world, each, { update: 'succeed' });
      await untilUpdated(world, 3, 'green');
      expect(vmIds(world)).toEqual(before);
    });
  },
);

test.runIf(isThorough)(
  'an agent that does not answer exceeds the timeouts, and only its machine is replaced',
  async () => {
    await inWorld({ machine: { inPlaceUpdateTimeout: '5m', healthTimeout: '5m' } }, async (world) => {
      await world.createDeployment(3);
      await world.untilSettled(3, 'blue');
      const before = vmIds(world);
      const victim = world.vms()[0] ?? '';
      order(world, victim, { update: 'hang' });
      await world.change({ template: { spec: { class: { name: 'green' } } } });
      await untilUpdated(world, 3, 'green');
      expect(vmIds(world).filter((id) => before.includes(id))).toHaveLength(2);
      expect(world.vms()).not.toContain(victim);
      expect(world.vmsMade).toBe(4);
      await expectQuiet(world);
    });
  },
);

test.runIf(isThorough)('the result of a slow agent counts even after its timeout', async () => {
  await inWorld(
    { machine: { inPlaceUpdateTimeout: '5m', healthTimeout: '60m' }, kubelets: { updateDelay: 8 * MINUTE } },
    async (world) => {
      const before = await begin(world, 2);
      await untilUpdated(world, 2, 'green');
      expect(vmIds(world)).toEqual(before);
      await expectQuiet(world);
    },
  );
});

test('scaled up during the update: new machines have the new template, and old ones are updated', async () => {
  await inWorld({ kubelets: { updateDelay: 30_000 } }, async (world) => {
    const before = await begin(world, 3);
    await firstSelected(world);
    await world.change({ replicas: 5 });
    await untilUpdated(world, 5, 'green');
    expect(vmIds(world).filter((id) => before.includes(id))).toEqual(before);
    expect(world.vmsMade).toBe(5);
    await expectQuiet(world);
  });
});

test('scaled down during the update: at most the requested number of machines, and the others are updated', async () => {
  await inWorld({ kubelets: { updateDelay: 30_000 } }, async (world) => {
    const before = await begin(world, 4);
    await world.until(async () => (await sizeOf(world, 'green')) === 1, 60 * MINUTE);
    await world.change({ replicas: 2 });
    await world.clock.advance(10_000);
    expect((await sizeOf(world, 'green')) + (await sizeOf(world, 'blue'))).toBe(2);
    await untilUpdated(world, 2, 'green');
    expect(vmIds(world).every((id) => before.includes(id))).toBe(true);
    expect(world.vmsMade).toBe(4);
    await expectQuiet(world);
  });
});

test.runIf(isThorough)(
  'paused during the update: selected nodes finish, no other update starts, and a resume continues',
  async () => {
    await inWorld({ kubelets: { updateDelay: 30_000 } }, async (world) => {
      const before = await begin(world, 3);
      const name = await firstSelected(world);
      await world.change({ paused: true });
      await world.clock.advance(30 * MINUTE);
      expect([await selectedNames(world), vmIds(world)]).toEqual([[name], before]);
      await world.change({ paused: false });
      await untilUpdated(world, 3, 'green');
      expect(vmIds(world)).toEqual(before);
      await expectQuiet(world);
    });
  },
);

test('a deployment that is deleted during the update leaves nothing', async () => {
  await inWorld({ kubelets: { updateDelay: 30_000 } }, async (world) => {
    await begin(world, 3);
    await firstSelected(world);
    await world.deleteDeployment();
    await world.until(async () => world.vms().length === 0 && (await allSets(world)).length === 0, 60 * MINUTE);
    expect(await world.nodeNames()).toEqual([]);
    await expectQuiet(world);
  });
});

test('a machine that is deleted during its update is replaced from the new template', async () => {
  await inWorld({ kubelets: { updateDelay: 30_000 } }, async (world) => {
    const before = await begin(world, 3);
    const name = await firstSelected(world);
    await world.until(async () => (await phaseOf(world, name)) === 'InPlaceUpdating', 10 * MINUTE);
    await world.deleteMachine(name);
    await untilUpdated(world, 3, 'green');
    expect(vmIds(world).filter((id) => before.includes(id))).toHaveLength(2);
    expect(world.vmsMade).toBe(4);
    await expectQuiet(world);
  });
});

const third = { template: { metadata: { labels: { generation: 'third' } } } };

const isThird = async (world: World): Promise<boolean> => {
  const current = (await allSets(world)).find(({ spec }) => spec.template?.metadata?.labels?.generation === 'third');
  const all = await world.machines();
  return (
    current?.spec.replicas === 3 &&
    all.length === 3 &&
    all.every(
      ({ metadata, status }) =>
        metadata.ownerReferences?.[0]?.uid === current.metadata.uid && status?.currentStatus?.phase === 'Running',
    ) &&
    (await allNodes(world)).every((node) => marksOf(node).length === 0 && !node.spec.unschedulable)
  );
};

test('another template during an update: the result counts for the template of the selection', async () => {
  await inWorld({ kubelets: { updateDelay: 30_000 } }, async (world) => {
    const before = await begin(world, 3);
    const name = await firstSelected(world);
    await world.until(async () => (await phaseOf(world, name)) === 'InPlaceUpdating', 10 * MINUTE);
    await world.change(third);
    const began: number[] = [];
    let wasUpdating = true;
    await world.until(async () => {
      const updating = (await phaseOf(world, name)) === 'InPlaceUpdating';
      if (updating && !wasUpdating) began.push(world.clock.now().getTime());
      wasUpdating = updating;
      return isThird(world);
    }, 60 * MINUTE);
    expect(began, world.reporter.tell()).toHaveLength(1);
    expect(vmIds(world)).toEqual(before);
    for (const { metadata } of await allNodes(world)) {
      expect(metadata.annotations?.[Annotations.SelectedForTemplate]).toBeUndefined();
    }
    await expectQuiet(world);
  });
});

test.runIf(isThorough)(
  'a failed update is reported on the deployment, and a corrected template starts it again [ODD-19]',
  async () => {
    await inWorld(
      { machine: { disableHealthTimeout: true }, kubelets: { update: 'fail', updateFailure: 'disk full' } },
      async (world) => {
        const before = await begin(world, 3);
        const name = await firstSelected(world);
        await world.until(async () => (await phaseOf(world, name)) === 'InPlaceUpdateFailed', 10 * MINUTE);
        await world.clock.advance(MINUTE);
        const blocked = async () =>
          (
            await world.admin.resource<MachineDeployment>(machineDeployments, NAMESPACE).list()
          ).items[0]?.status?.conditions?.find(({ type }) => (type as string) === 'RolloutBlocked');
        expect(await blocked()).toMatchObject({ status: 'True', reason: 'InPlaceUpdateFailed' });
        expect((await blocked())?.message).toContain(`${name} (disk full)`);
        const reported = (await world.admin.resource<EventObject>(events, NAMESPACE).list()).items.filter(
          ({ reason, involvedObject }) =>
            reason === 'InPlaceUpdateFailed' && involvedObject?.kind === 'MachineDeployment',
        );
        expect(reported).toHaveLength(1);
        for (const vm of world.vms()) order(world, vm, { update: 'hang' });
        await world.change(third);
        await world.clock.advance(MINUTE);
        expect((await allNodes(world)).map(({ metadata }) => metadata.labels?.[Labels.UpdateResult])).not.toContain(
          'failed',
        );
        expect([await selectedNames(world), await blocked()]).toEqual([[name], undefined]);
        for (const vm of world.vms()) order(world, vm, { update: 'succeed' });
        await world.until(() => isThird(world), 60 * MINUTE);
        expect(vmIds(world)).toEqual(before);
        await expectQuiet(world);
        expect(await blocked()).toBeUndefined();
      },
    );
  },
);

test.runIf(isThorough)(
  'Manual, back to the first template: an updated node is updated back once, when it is selected',
  async () => {
    await inWorld({ inPlace: 'Manual', kubelets: { updateDelay: 30_000 } }, async (world) => {
      const before = await begin(world, 2);
      const name = world.vms()[0] ?? '';
      const select = { metadata: { labels: { [Labels.SelectedForUpdate]: 'true' } } };
      await world.admin.resource(nodes).patch(name, { type: 'merge', body: select });
      await world.until(async () => (await phaseOf(world, name)) === 'InPlaceUpdating', 10 * MINUTE);
      await world.change({ template: { spec: { class: { name: 'blue' } } } });
      await world.until(async () => (await selectedNames(world)).length === 0, 60 * MINUTE);
      await world.clock.advance(30 * MINUTE);
      const waiting = (await allNodes(world))
        .filter((node) => marksOf(node).length > 0)
        .map((node) => node.metadata.name);
      expect([waiting, await selectedNames(world)]).toEqual([[name], []]);
      await world.admin.resource(nodes).patch(name, { type: 'merge', body: select });
      await untilUpdated(world, 2, 'blue');
      expect(vmIds(world)).toEqual(before);
      await expectQuiet(world);
    });
  },
);

test('back to the first template: an updated node is updated back, and other nodes are not changed', async () => {
  await inWorld({ kubelets: { updateDelay: 30_000 } }, async (world) => {
    const before = await begin(world, 3);
    const name = await firstSelected(world);
    await world.until(async () => (await phaseOf(world, name)) === 'InPlaceUpdating', 10 * MINUTE);
    await world.change({ template: { spec: { class: { name: 'blue' } } } });
    await untilUpdated(world, 3, 'blue');
    expect(vmIds(world)).toEqual(before);
    await expectQuiet(world);
  });
});

test('a template that returns during the start of an update leaves no candidate and no phase of an update', async () => {
  const steps = [
    { act: 'agents', pauseMs: 0, drawn: 3 },
    { act: 'roll', pauseMs: 0, drawn: 8 },
    { act: 'delete', pauseMs: 0, drawn: 10 },
    { act: 'agents', pauseMs: 0, drawn: 13 },
  ];
  const plan = { steps, lastPauseMs: 0, drawn: 43 };
  const { violations, story } = await play('in-place', { seed: 1_800_012, profile: 'slow', plan });
  expect(violations, story).toEqual([]);
});
