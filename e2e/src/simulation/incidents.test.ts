import { type Machine, type MachineDeployment, machineClasses, machineDeployments, machines } from '@mcm/api';
import { events, nodes } from '@mcm/kube';
import { isThorough } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { holdAll, holdNode } from './world/workload.ts';
import { NAMESPACE, World, type WorldOptions } from './world/world.ts';

/**
 * Tests for incidents of the original, with the whole system. The numbers refer to the table of incidents in
 * docs/compatibility/findings.md.
 */

async function inWorld(options: WorldOptions, story: (world: World) => Promise<void>): Promise<void> {
  const world = await World.start(options);
  try {
    await story(world);
    expect(world.violations, world.reporter.tell()).toEqual([]);
  } finally {
    await world.close();
  }
}

const MINUTE = 60_000;

const phases = async (world: World): Promise<string[]> =>
  (await world.machines()).map(({ status }) => status?.currentStatus?.phase ?? 'new');

const reported = async (world: World, reason: string, kind = 'Machine'): Promise<number[]> =>
  (await world.admin.resource(events, NAMESPACE).list()).items
    .filter((event) => event.reason === reason && event.involvedObject.kind === kind)
    .map(({ count }) => count ?? 1);

test('throttled requests do not extend a drain beyond its timeout [#2]', async () => {
  await inWorld({}, async (world) => {
    await world.createMachine('slow', { drainTimeout: '10m' });
    await world.until(async () => String(await phases(world)) === 'Running');
    await holdNode(world, 'slow');
    await holdAll(world, 1);
    await world.clock.advance(2_000);
    world.network.setFaultChances({ throttled: 0.7 });
    await world.deleteMachine('slow');
    const took = await world.until(async () => (await world.machines()).length === 0);
    expect(took).toBeGreaterThanOrEqual(10 * MINUTE);
    expect(took).toBeLessThan(12 * MINUTE);
    expect(world.vms()).toEqual([]);
  });
});

test('a large scale-up creates no surplus machine, despite lost answers and outdated caches [#3]', async () => {
  await inWorld({ seed: 3 }, async (world) => {
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    // At first, the API server executes each creation, but the manager gets no response.
    world.network.loseAnswers('manager', /\/machines([/?]|$)/);
    await world.change({ replicas: 25 });
    await world.clock.advance(20_000);
    world.network.mend();
    world.network.setFaultChances({ lost: 0.2, conflict: 0.1, 'killed after': 0.05 });
    await world.clock.advance(10_000);
    world.network.silence('manager');
    await world.clock.advance(4 * MINUTE);
    world.network.setFaultChances({});
    await world.untilSettled(25, 'blue');
    expect(world.vmsMade).toBe(25);
  });
});

test('a repeated creation without an answer, also to its live read, creates no second machine [#3]', async () => {
  await inWorld({ seed: 3 }, async (world) => {
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    world.network.loseAnswers('manager', /\/machines([/?]|$)/);
    await world.change({ replicas: 5 });
    await world.clock.advance(20_000);
    expect((await world.machines()).length).toBeGreaterThan(3);
    world.network.mend();
    await world.untilSettled(5, 'blue');
    expect(world.vmsMade).toBe(5);
  });
});

test('when all kubelets cannot reach the API server, the fleet is not replaced [#12]', async () => {
  await inWorld({ machine: { healthTimeout: '5m' } }, async (world) => {
    await world.createDeployment(6);
    await world.untilSettled(6, 'blue');
    world.network.cut('kubelets');
    await world.clock.advance(30 * MINUTE);
    expect(await phases(world)).toEqual(Array(6).fill('Unknown'));
    expect(world.vmsMade).toBe(6);
    world.network.mend();
    await world.untilSettled(6, 'blue');
    expect(world.vmsMade).toBe(6);
  });
});

test('when half of a fleet is unreachable, the replacement of each machine is delayed and later continued with one event each [#13]', async () => {
  await inWorld({ machine: { healthTimeout: '5m' } }, async (world) => {
    await world.createDeployment(6);
    await world.untilSettled(6, 'blue');
    const running = [...world.cloud.instances.list()].slice(0, 3);
    for (const { id } of running) world.cloud.kubelets.order(id, { silent: true });
    await world.clock.advance(40 * MINUTE);
    expect((await phases(world)).sort()).toEqual([...Array(3).fill('Running'), ...Array(3).fill('Unknown')]);
    expect(await reported(world, 'ReplacementHeld')).toEqual([1, 1, 1]);
    expect(await reported(world, 'ReplacementHeld', 'MachineDeployment')).toEqual([1]);
    expect((await world.deployment()).status?.conditions?.map(({ type }) => type)).toContain('ReplacementHeld');
    expect(await reported(world, 'ReplacementResumed')).toEqual([]);
    for (const { id } of running) world.cloud.kubelets.order(id, { silent: false });
    await world.untilSettled(6, 'blue');
    await world.clock.advance(MINUTE);
    expect(await reported(world, 'ReplacementResumed')).toEqual([1, 1, 1]);
    expect(await reported(world, 'ReplacementResumed', 'MachineDeployment')).toEqual([1]);
    const types = (await world.deployment()).status?.conditions?.map(({ type }) => type);
    expect(types?.toSorted()).toEqual(['Available', 'Progressing']);
    expect(world.vmsMade).toBe(6);
  });
});

test('an operator confirms that unreachable machines are dead, and they are replaced [#13]', async () => {
  await inWorld({ machine: { healthTimeout: '5m' } }, async (world) => {
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    for (const { id } of [...world.cloud.instances.list()]) world.cloud.kubelets.order(id, { silent: true });
    await world.clock.advance(20 * MINUTE);
    expect(await phases(world)).toEqual(Array(3).fill('Unknown'));
    const until = new Date(world.clock.now().getTime() + 300 * MINUTE).toISOString();
    const annotations = { 'node.machine.sapcloud.io/replace-despite-common-silence': `${until} power cut` };
    await world.admin
      .resource(machineClasses, NAMESPACE)
      .patch('blue', { type: 'merge', body: { metadata: { annotations } } });
    await world.untilSettled(3, 'blue', 300 * MINUTE);
    expect(world.vmsMade).toBe(6);
  });
});

test('the drain of a Failed machine stops when other machines become unreachable, also after a restart [#13]', async () => {
  await inWorld({ machine: { healthTimeout: '1m' } }, async (world) => {
    await world.createDeployment(4);
    await world.untilSettled(4, 'blue');
    const [first, ...others] = [...world.cloud.instances.list()];
    const name = first?.name ?? '';
    await holdNode(world, name);
    await holdAll(world, 1);
    world.cloud.kubelets.order(first?.id ?? '', { silent: true });
    const going = async () => (await world.machines()).find(({ metadata }) => metadata.name === name);
    const stepOf = async () => (await going())?.status?.lastOperation?.description ?? '';
    await world.until(async () => (await stepOf()).includes('disruption budget'), 4 * MINUTE);
    for (const { id } of others) world.cloud.kubelets.order(id, { silent: true });
    await world.until(async () => (await stepOf()).includes('too many machines'), 3 * MINUTE);
    world.kill('machine-controller');
    // After this time, mcm would normally delete the pods of a NotReady Node instead of evicting them.
    await world.clock.advance(15 * MINUTE);
    expect(await stepOf()).toContain('too many machines');
    expect(world.vms()).toContain(name);
    for (const { id } of world.cloud.instances.list()) world.cloud.kubelets.order(id, { silent: false });
    await world.until(async () => !world.vms().includes(name), 30 * MINUTE);
  });
});

test('a rollout and a scale-up in one write, followed by another scale-up [#11]', async () => {
  await inWorld({ maxSurge: 1 }, async (world) => {
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    await world.change({ replicas: 8, template: { spec: { class: { name: 'green' } } } });
    await world.clock.advance(2_000);
    await world.change({ replicas: 10 });
    await world.untilSettled(10, 'green');
  });
});

test.runIf(isThorough)(
  'a rollout whose new machine never joins does not prevent the replacement of a dead machine [#14]',
  async () => {
    await inWorld({ machine: { healthTimeout: '5m', creationTimeout: '3h' }, maxSurge: 1 }, async (world) => {
      await world.createDeployment(4);
      await world.untilSettled(4, 'blue');
      const [dead] = world.cloud.instances.list();
      world.cloud.faults.order({ operation: 'instances.create', error: { code: 'InsufficientCapacity' } });
      await world.change({ template: { spec: { class: { name: 'green' } } } });
      await world.clock.advance(MINUTE);
      world.cloud.kubelets.order(dead?.id ?? '', { silent: true });
      await world.until(async () => !world.vms().includes(dead?.name ?? ''), 20 * MINUTE);
      world.cloud.faults.clear();
      await world.untilSettled(4, 'green', 180 * MINUTE);
    });
  },
);

test('terminating machines count towards the surge, so the quota of VMs is never exceeded [#24]', async () => {
  const annotations = { 'rollout.machine.sapcloud.io/count-terminating-towards-surge': 'true' };
  await inWorld({ maxSurge: 1, annotations }, async (world) => {
    await world.createDeployment(4);
    await world.untilSettled(4, 'blue');
    // The deletion of a VM takes some time.
    const slow = world.cloud.faults.order({ operation: 'instances.delete', latency: 40_000 });
    const seen = { most: 0, leaving: 0 };
    const look = async () => {
      const all = await world.machines();
      seen.most = Math.max(seen.most, world.vms().length, all.length);
      seen.leaving = Math.max(seen.leaving, all.filter(({ metadata }) => metadata.deletionTimestamp).length);
    };
    const until = (done: () => Promise<boolean>) =>
      world.until(async () => {
        await look();
        return done();
      });
    const settled = (machineClass: string) => async () => {
      const all = await world.machines();
      const well = all.filter(
        ({ spec, status }) => spec.class?.name === machineClass && status?.currentStatus?.phase === 'Running',
      );
      return all.length === 4 && well.length === 4;
    };
    const names = (await world.machines()).map(({ metadata }) => metadata.name);
    for (const name of names.slice(0, 2)) await world.deleteMachine(name);
    await until(settled('blue'));
    await world.change({ template: { spec: { class: { name: 'green' } } } });
    await until(settled('green'));
    world.cloud.faults.clear();
    expect(seen.most).toBe(5);
    expect(seen.leaving).toBeGreaterThan(0);
    expect(slow.acted).toBeGreaterThanOrEqual(6);
  });
});

test('a healthy deployment has exactly the conditions of the original', async () => {
  await inWorld({}, async (world) => {
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    await world.clock.advance(MINUTE);
    const deployment = await world.admin.resource<MachineDeployment>(machineDeployments, NAMESPACE).get('workers');
    const types = deployment.status?.conditions?.map(({ type, status }) => `${type}=${status}`).sort();
    expect(types).toEqual(['Available=True', 'Progressing=True']);
  });
});

test('a machine controller that starts during an outage of the API server treats no VM as an orphan [#15]', async () => {
  await inWorld({}, async (world) => {
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    world.network.cut('manager', 'machine-controller');
    world.kill('machine-controller');
    world.kill('manager');
    await world.clock.advance(40 * MINUTE);
    world.network.mend();
    await world.clock.advance(20 * MINUTE);
    await world.untilSettled(3, 'blue');
    expect(world.vmsMade).toBe(3);
  });
});

test('a Node of an earlier VM with the same name is not used for the new machine [#17]', async () => {
  await inWorld({}, async (world) => {
    const left = { metadata: { name: 'reborn' }, spec: { providerID: 'local:///local-a/i-00000000' } };
    await world.admin.resource(nodes).create(left);
    await world.clock.advance(MINUTE);
    await world.createMachine('reborn', { creationTimeout: '5m' });
    await world.clock.advance(10 * MINUTE);
    const [machine] = await world.machines();
    const node = (await world.admin.resource(nodes).list()).items.find(({ metadata }) => metadata.name === 'reborn');
    expect(machine?.status?.currentStatus?.phase).toBe('Running');
    expect(node?.spec.providerID).toBe(machine?.spec.providerID);
  });
});

test('a zone without capacity gets few requests [#23]', async () => {
  await inWorld({ machine: { creationTimeout: '3h' } }, async (world) => {
    world.cloud.faults.order({
      operation: 'instances.create',
      zone: 'local-a',
      error: { code: 'InsufficientCapacity' },
    });
    await world.createDeployment(5);
    await world.clock.advance(60 * MINUTE);
    const asked = world.cloud.requests.recent().filter(({ operation }) => operation === 'instances.create');
    // Before the cloud refuses the first driver call, four or five machines have called the cloud.
    expect(asked.length).toBeLessThanOrEqual(7);
    world.cloud.faults.clear();
    await world.untilSettled(5, 'blue');
  });
});

test.runIf(isThorough)('VM and Node of a machine whose finalizer was removed manually are deleted [#6]', async () => {
  await inWorld({}, async (world) => {
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    const [victim] = await world.machines();
    const name = victim?.metadata.name ?? '';
    world.network.cut('machine-controller');
    await world.deleteMachine(name);
    const body = { metadata: { finalizers: null } };
    await world.admin.resource<Machine>(machines, NAMESPACE).patch(name, { type: 'merge', body });
    world.network.mend();
    // The orphan collection deletes the VM after two passes.
    await world.untilSettled(2, 'blue', 180 * MINUTE);
  });
});
