import {
  Annotations,
  type Machine,
  type MachineDeployment,
  machineDeployments,
  machines,
  phaseOf,
  Taints,
} from '@mcm/api';
import { controllerOf, events, type Node, nodes } from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import type { FakeVm } from '../driver/testing.ts';
import { powerOf, warmStateOf } from '../warm/warm-machine.ts';
import { type RunningManager, startManager } from './testing/manager.ts';
import { NAMESPACE, type Rig, type RigOptions } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

const BOOT_MS = 120_000;
const RESTART_MS = 10_000;

interface Fleet {
  readonly rig: Rig;
  readonly manager: () => RunningManager;
  readonly restartManager: () => Promise<void>;
  readonly most: () => number;
}

async function fleet(
  annotations: Record<string, string>,
  { cloud, ...options }: Partial<RigOptions> = {},
  replicas = 2,
): Promise<Fleet> {
  const onPower = (vm: FakeVm): void => {
    if (vm.stopped) return;
    rig.clock.setTimeout(() => {
      if (!vm.stopped && rig.cloud.vms.includes(vm)) void rig.join(vm);
    }, RESTART_MS);
  };
  const { rig } = await createRig({ joinAfterMs: BOOT_MS, cloud: { stops: true, onPower, ...cloud }, ...options });
  await rig.createClass();
  let manager = startManager({ clock: rig.clock, client: rig.admin });
  onTestFinished(() => manager.kill());
  let most = 0;
  manager.context.machines.onChange(() => {
    const warm = manager.context.machines.store
      .list()
      .filter((machine) => warmStateOf(machine) && !machine.metadata.deletionTimestamp);
    most = Math.max(most, warm.length);
    for (const machine of warm) expect(controllerOf(machine)?.kind).toBe('MachineDeployment');
  });
  rig.start();
  await rig.admin.resource<MachineDeployment>(machineDeployments, NAMESPACE).create({
    metadata: { name: 'pool', annotations },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'pool' } },
      template: { metadata: { labels: { app: 'pool' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    },
  });
  const restartManager = async () => {
    await manager.kill();
    manager = startManager({ clock: rig.clock, client: rig.admin });
  };
  return { rig, manager: () => manager, restartManager, most: () => most };
}

const KEEPS_TWO = { [Annotations.WarmMachines]: '2' };

const change = (rig: Rig, body: object): Promise<MachineDeployment> =>
  rig.admin.resource(machineDeployments, NAMESPACE).patch('pool', { type: 'merge', body });

const scale = (rig: Rig, replicas: number) => change(rig, { spec: { replicas } });

const warmOf = async (rig: Rig): Promise<readonly Machine[]> =>
  (await rig.machines()).filter((machine) => warmStateOf(machine) !== undefined);

const replicasOf = async (rig: Rig): Promise<readonly Machine[]> =>
  (await rig.machines()).filter((machine) => controllerOf(machine)?.kind === 'MachineSet');

const isWarmNode = ({ spec }: Node) => spec.taints?.some(({ key }) => key === Taints.Warm.key) === true;

const isStopped = (machine: Machine) => powerOf(machine)?.is === 'Stopped' && phaseOf(machine) === 'Available';

const rested = (rig: Rig, replicas: number, warm: number) =>
  rig.until(async () => {
    const [all, own, status] = [await warmOf(rig), await replicasOf(rig), await statusOf(rig)];
    return (
      status?.availableReplicas === replicas &&
      all.length === warm &&
      all.every(isStopped) &&
      own.length === replicas &&
      own.every((machine) => phaseOf(machine) === 'Running' && powerOf(machine) === undefined)
    );
  });

const statusOf = async (rig: Rig) => (await rig.admin.resource(machineDeployments, NAMESPACE).get('pool')).status;

test('a deployment keeps two stopped machines, without Nodes, next to its replicas', async () => {
  const { rig, most } = await fleet(KEEPS_TWO);
  await rested(rig, 2, 2);
  const warm = await warmOf(rig);
  const names = warm.map(({ metadata }) => metadata.name);
  expect(rig.cloud.vms.filter(({ stopped }) => stopped).map(({ machineName }) => machineName)).toEqual(names);
  expect((await rig.nodes()).map(({ metadata }) => metadata.name).sort()).toEqual(
    (await replicasOf(rig)).map(({ metadata }) => metadata.name).sort(),
  );
  expect(await statusOf(rig)).toMatchObject({ replicas: 2, availableReplicas: 2, readyReplicas: 2 });
  expect(warm.map(({ metadata }) => metadata.labels)).toEqual(names.map((name) => ({ node: name })));
  await rig.clock.advance(24 * 3_600_000);
  expect((await warmOf(rig)).every(isStopped)).toBe(true);
  expect(rig.cloud.made).toHaveLength(4);
  expect(most()).toBe(2);
});

test('a scale-up uses the stopped machines first, and the pool is filled again', async () => {
  const { rig, most } = await fleet(KEEPS_TWO);
  await rested(rig, 2, 2);
  const warm = (await warmOf(rig)).map(({ metadata }) => metadata.name);
  await rig.clock.advance(3 * 3_600_000);
  await scale(rig, 4);
  const took = await rig.until(async () => (await statusOf(rig))?.availableReplicas === 4);
  expect(took).toBeLessThan(RESTART_MS + 5_000);
  expect(rig.cloud.made.length).toBeLessThanOrEqual(6);
  const used = (await replicasOf(rig)).filter(({ metadata }) => warm.includes(metadata.name));
  expect(used).toHaveLength(2);
  for (const { metadata, spec } of used) {
    expect(metadata.labels).toMatchObject({ app: 'pool', node: metadata.name });
    expect(Object.keys(metadata.annotations ?? {}).filter((key) => key.startsWith('warm.'))).not.toContain(
      Annotations.WarmState,
    );
    expect(spec.nodeTemplate?.spec?.taints ?? []).toEqual([]);
  }
  expect((await rig.nodes()).filter(isWarmNode)).toEqual([]);
  await rested(rig, 4, 2);
  expect(rig.cloud.vms).toHaveLength(6);
  expect(most()).toBe(2);
});

test('a scale-up larger than the pool creates the rest', async () => {
  const { rig } = await fleet(KEEPS_TWO);
  await rested(rig, 2, 2);
  await scale(rig, 7);
  await rested(rig, 7, 2);
  expect(rig.cloud.vms).toHaveLength(9);
  expect(rig.cloud.made).toHaveLength(9);
});

test('a failed machine is replaced by a stopped one', async () => {
  const { rig } = await fleet(KEEPS_TWO);
  await rested(rig, 2, 2);
  const [first] = await replicasOf(rig);
  await rig.deleteMachine(first?.metadata.name ?? '');
  const took = await rig.until(
    async () => (await replicasOf(rig)).filter((machine) => phaseOf(machine) === 'Running').length === 2,
  );
  expect(took).toBeLessThan(RESTART_MS + 10_000);
  await rested(rig, 2, 2);
});

test('running warm machines have a taint, and a scale-up only removes it', async () => {
  const { rig } = await fleet({ ...KEEPS_TWO, [Annotations.WarmState]: 'Running' });
  const ready = async () => (await warmOf(rig)).filter((machine) => phaseOf(machine) === 'Running').length;
  await rig.until(async () => (await ready()) === 2);
  const tainted = (await rig.nodes()).filter(isWarmNode);
  expect(tainted.map(({ metadata }) => metadata.name).sort()).toEqual(
    (await warmOf(rig)).map(({ metadata }) => metadata.name).sort(),
  );
  await rig.clock.advance(60_000);
  expect(await statusOf(rig)).toMatchObject({ availableReplicas: 2 });
  await scale(rig, 4);
  expect(await rig.until(async () => (await statusOf(rig))?.availableReplicas === 4)).toBeLessThan(5_000);
  for (const { metadata } of await replicasOf(rig)) {
    expect(isWarmNode(await rig.admin.resource(nodes).get(metadata.name))).toBe(false);
  }
  expect(rig.cloud.calls.stop + rig.cloud.calls.start).toBe(0);
});

test('after a rollout, the warm machines of the old template are replaced', async () => {
  const { rig, most } = await fleet(KEEPS_TWO);
  await rested(rig, 2, 2);
  const before = (await warmOf(rig)).map(({ metadata }) => metadata.uid);
  await change(rig, { spec: { template: { metadata: { labels: { version: '2' } } } } });
  await rig.until(async () => (await statusOf(rig))?.updatedReplicas === 1);
  expect((await warmOf(rig)).map(({ metadata }) => metadata.uid)).toEqual(before);
  await rested(rig, 2, 2);
  await rig.until(async () => (await warmOf(rig)).every(({ metadata }) => !before.includes(metadata.uid)));
  await rested(rig, 2, 2);
  expect(rig.cloud.vms).toHaveLength(4);
  expect(most()).toBe(2);
});

test('a smaller number, no annotation and the deletion of the deployment delete warm machines', async () => {
  const { rig } = await fleet(KEEPS_TWO);
  await rested(rig, 2, 2);
  await change(rig, { metadata: { annotations: { [Annotations.WarmMachines]: '1' } } });
  await rested(rig, 2, 1);
  await change(rig, { metadata: { annotations: { [Annotations.WarmMachines]: null } } });
  await rested(rig, 2, 0);
  await change(rig, { metadata: { annotations: KEEPS_TWO } });
  await rested(rig, 2, 2);
  await rig.admin.resource(machineDeployments, NAMESPACE).delete('pool');
  await rig.until(async () => (await rig.machines()).length === 0);
  await rig.until(async () => (await rig.admin.resource(machineDeployments, NAMESPACE).list()).items.length === 0);
  expect(rig.cloud.vms).toEqual([]);
});

test('a scale-in deletes machines that still start before running ones', async () => {
  const { rig } = await fleet(KEEPS_TWO);
  await rested(rig, 2, 2);
  const running = (await replicasOf(rig)).map(({ metadata }) => metadata.name);
  await scale(rig, 4);
  await rig.until(async () => (await replicasOf(rig)).length === 4);
  await scale(rig, 2);
  await rested(rig, 2, 2);
  expect((await replicasOf(rig)).map(({ metadata }) => metadata.name)).toEqual(running);
});

test('without capacity for the start, the machine is deleted and a new one is created', async () => {
  let full = false;
  const { rig } = await fleet(KEEPS_TWO, { cloud: { room: () => !full } });
  await rested(rig, 2, 2);
  full = true;
  await scale(rig, 3);
  await rig.until(async () => rig.cloud.asked.some(({ refused }) => refused));
  full = false;
  await rested(rig, 3, 2);
  const said = (await rig.admin.resource(events, NAMESPACE).list()).items.map(({ reason }) => reason);
  expect(said).toContain('WarmStartFailed');
  expect(rig.cloud.vms).toHaveLength(5);
});

test('a lost answer of a stop or a start is repeated', async () => {
  const { rig } = await fleet(KEEPS_TWO);
  rig.cloud.fail('stop', { code: 'Unavailable', after: true }, { code: 'Unavailable' });
  await rested(rig, 2, 2);
  rig.cloud.fail('start', { code: 'Unavailable', after: true }, { code: 'Unavailable' });
  await scale(rig, 4);
  await rested(rig, 4, 2);
  expect(rig.cloud.made).toHaveLength(6);
});

test('a start that never succeeds ends with the creation timeout, counted from the start', async () => {
  const { rig } = await fleet({ [Annotations.WarmMachines]: '1' });
  await rested(rig, 2, 1);
  await rig.clock.advance(5 * 3_600_000);
  rig.cloud.fail('start', ...Array.from({ length: 1_000 }, () => ({ code: 'Unavailable' as const })));
  const [warm] = await warmOf(rig);
  await scale(rig, 3);
  const took = await rig.until(async () => (await rig.machine(warm?.metadata.name ?? '')) === undefined);
  expect(took).toBeGreaterThan(20 * 60_000);
  expect(took).toBeLessThan(25 * 60_000);
  rig.cloud.recover();
  await rested(rig, 3, 1);
  expect(rig.cloud.vms).toHaveLength(4);
});

test.each(['Stopped', 'Hibernated'])(
  'a driver that cannot stop VMs refuses the state %s and creates no VM for it',
  async (state) => {
    const { rig } = await fleet({ ...KEEPS_TWO, [Annotations.WarmState]: state }, { cloud: { stops: false } });
    await rig.until(async () => (await statusOf(rig))?.availableReplicas === 2);
    await rig.clock.advance(2 * 3_600_000);
    const warm = await warmOf(rig);
    expect(warm).toHaveLength(2);
    for (const { status } of warm) {
      expect(status?.lastOperation).toMatchObject({
        errorCode: 'Unimplemented',
        description: 'mcm creates no VM for the warm machine: the driver cannot stop VMs; use the state Running',
      });
    }
    expect(rig.cloud.made).toHaveLength(2);
    await change(rig, { metadata: { annotations: { [Annotations.WarmState]: 'Running' } } });
    await rig.until(async () => (await warmOf(rig)).filter((machine) => phaseOf(machine) === 'Running').length === 2);
  },
);

test('an invalid setting is reported, changes nothing, and is corrected', async () => {
  const { rig } = await fleet(KEEPS_TWO);
  await rested(rig, 2, 2);
  await change(rig, { metadata: { annotations: { [Annotations.WarmMachines]: 'two' } } });
  const ignored = async () => (await statusOf(rig))?.conditions?.find(({ type }) => type === 'InputIgnored');
  await rig.until(async () => (await ignored()) !== undefined);
  expect((await ignored())?.message).toContain('"two" is ignored; write a number from 0 to 500');
  await rig.clock.advance(600_000);
  await rested(rig, 2, 2);
  await change(rig, { metadata: { annotations: KEEPS_TWO } });
  await rig.until(async () => (await ignored()) === undefined);
});

test('a user who starts the VM of a warm machine causes only another stop', async () => {
  const { rig } = await fleet({ [Annotations.WarmMachines]: '1' });
  await rested(rig, 2, 1);
  const vm = rig.cloud.vms.find(({ stopped }) => stopped);
  if (!vm) throw new Error('no VM is stopped');
  vm.stopped = false;
  await rig.join(vm);
  await rig.until(async () => vm.stopped === true);
  await rested(rig, 2, 1);
  expect((await rig.nodes()).map(({ metadata }) => metadata.name)).not.toContain(vm.nodeName);
});

test('a stopped VM that the cloud lost is replaced', async () => {
  const { rig } = await fleet({ [Annotations.WarmMachines]: '1' });
  await rested(rig, 2, 1);
  const [warm] = await warmOf(rig);
  rig.cloud.lose(warm?.metadata.name ?? '');
  await rig.until(async () => (await rig.machine(warm?.metadata.name ?? '')) === undefined, 3_700_000);
  await rested(rig, 2, 1);
  expect(rig.cloud.vms).toHaveLength(3);
});

test('the end of a VM that mcm itself stopped is no interruption', async () => {
  const { rig } = await fleet(
    { [Annotations.WarmMachines]: '1' },
    { cloud: { announces: true }, controller: { interruptions: { observe: () => undefined } } },
  );
  await rested(rig, 2, 1);
  const vm = rig.cloud.vms.find(({ stopped }) => stopped);
  const noticedAt = rig.clock.now().toISOString();
  rig.cloud.announce({ id: 'n', providerId: vm?.providerId ?? '', kind: 'Ended', noticedAt, detail: 'stopped' });
  await rig.clock.advance(600_000);
  expect(rig.cloud.notices).toEqual([]);
  await rested(rig, 2, 1);
  expect(rig.cloud.made).toHaveLength(3);
});

test('both programs can restart at any time of a day', async () => {
  const { rig, restartManager } = await fleet(KEEPS_TWO);
  const restartBoth = async () => {
    await rig.kill();
    await restartManager();
    rig.start();
  };
  for (const passMs of [1_000, BOOT_MS, 1_000, 5_000, 60_000]) {
    await restartBoth();
    await rig.clock.advance(passMs);
  }
  await rested(rig, 2, 2);
  await scale(rig, 4);
  for (const passMs of [10, 100, 1_000, 5_000, 60_000]) {
    await rig.clock.advance(passMs);
    await restartBoth();
  }
  await rested(rig, 4, 2);
  expect(rig.cloud.vms).toHaveLength(6);
  expect(rig.cloud.made).toHaveLength(6);
  expect((await rig.admin.resource(machines, NAMESPACE).list()).items).toHaveLength(6);
});
