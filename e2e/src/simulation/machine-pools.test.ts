import { Annotations, Labels, machineSets, machines } from '@mcm/api';
import { nodes } from '@mcm/kube';
import { isThorough } from '@mcm/kube/testing';
import { conditionOf, machineConfigPools, machineConfigs, NodeAnnotations } from '@mcm/machine-config';
import { expect, test } from 'vitest';
import { TargetVerifier } from './histories/pool-history.ts';
import { ConfigWorld, type ConfigWorldOptions, fileOf } from './world/config-world.ts';
import { NAMESPACE } from './world/world.ts';

const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;
const MINUTE = 60_000;
const REF = { kind: 'MachineDeployment' as const, namespace: NAMESPACE, name: 'workers' };
const CONFIG_STATE = 'machineconfiguration.openshift.io/config-state';
const UNTIL = 'machineconfiguration.openshift.io/update-in-progress-until';

async function inWorld(
  pool: object,
  options: ConfigWorldOptions,
  story: (config: ConfigWorld) => Promise<void>,
): Promise<void> {
  const config = await ConfigWorld.start({ machineRef: REF, maxUnavailable: 1, ...pool }, options);
  try {
    await story(config);
    expect(config.world.violations, config.world.reporter.tell()).toEqual([]);
  } finally {
    await config.close();
  }
}

const conditions = async (config: ConfigWorld, type: string) =>
  conditionOf((await config.pool()).status?.conditions, type);
const uids = async ({ world }: ConfigWorld) => (await world.machines()).map(({ metadata }) => metadata.uid).toSorted();

test('a pool over a MachineDeployment finds its nodes by owner references, and updates files in place [10.2]', () =>
  inWorld({}, {}, async (config) => {
    const { world } = config;
    await world.clock.advance(MINUTE);
    expect(await conditions(config, 'MachineRefResolved')).toMatchObject({ status: 'False', reason: 'NotFound' });
    expect((await conditions(config, 'Updated'))?.status).toBe('False');
    await world.createDeployment(3);
    const first = await config.untilUpdated(3);
    expect((await config.pool()).status).toMatchObject({
      machineCount: 3,
      pendingMachineCount: 0,
      machineRefs: [{ ...REF, machines: 3, nodes: 3, pending: 0 }],
    });
    expect((await conditions(config, 'MachineRefResolved'))?.status).toBe('True');
    const before = await uids(config);
    await config.change({ files: [fileOf('/etc/a', 'two')] });
    const second = await config.untilUpdated(3, (name) => name !== first);
    expect((await config.nodes()).map(({ metadata }) => metadata.annotations?.[CurrentConfig])).toEqual([
      ...[second, second, second],
    ]);
    expect(await uids(config)).toEqual(before);
    for (const { metadata } of await world.machines()) {
      expect([metadata.annotations?.[CONFIG_STATE], metadata.annotations?.[UNTIL]]).toEqual(['Done', undefined]);
    }
    const versions = async () => (await config.nodes()).map(({ metadata }) => metadata.annotations);
    const still = await versions();
    await world.clock.advance(10 * MINUTE);
    expect(await versions()).toEqual(still);
  }));

test('a machine that is created later boots with the target [10.3]', () =>
  inWorld({}, {}, async (config) => {
    await config.world.createDeployment(2);
    const target = await config.untilUpdated(2);
    await config.world.change({ replicas: 4 });
    expect(await config.untilUpdated(4)).toBe(target);
    for (const { metadata } of await config.nodes()) expect(metadata.annotations?.[DesiredConfig]).toBe(target);
  }));

test('Replace leaves the target to MCM: old nodes never get it, and new machines boot with it [10.4]', () =>
  inWorld({ updateStrategy: 'Replace' }, {}, async (config) => {
    await config.world.createDeployment(2);
    const first = await config.untilUpdated(2);
    const old = await uids(config);
    const oldNodes = new Set((await config.nodes()).map(({ metadata }) => metadata.uid));
    const reported = new Set<string>();
    await config.change({ files: [fileOf('/etc/a', 'two')] });
    await config.world.until(async () => {
      const left = (await config.nodes()).filter(({ metadata }) => oldNodes.has(metadata.uid));
      for (const { metadata } of left) reported.add(metadata.annotations?.[DesiredConfig] ?? '');
      return left.length === 0;
    });
    expect([...reported]).toEqual([first]);
    const second = await config.untilUpdated(2, (name) => name !== first);
    expect((await config.deployment()).spec.template.metadata?.annotations).toMatchObject({
      'machineconfiguration.openshift.io/config': second,
    });
    expect((await uids(config)).filter((uid) => old.includes(uid))).toEqual([]);
    const sets = await config.sets();
    expect(sets.filter(({ spec }) => (spec.replicas ?? 0) > 0)).toHaveLength(1);
    const paused = { type: 'merge', body: { spec: { paused: true } } } as const;
    await config.world.admin.resource(machineConfigPools).patch('workers', paused);
    await config.world.clock.advance(MINUTE);
    expect((await config.deployment()).spec.paused).toBe(true);
  }));

test('InPlaceElseReplace changes files in place, and replaces machines for other changes [10.4]', () =>
  inWorld({ updateStrategy: 'InPlaceElseReplace' }, {}, async (config) => {
    await config.world.createDeployment(2);
    const first = await config.untilUpdated(2);
    const old = await uids(config);
    await config.change({ files: [fileOf('/etc/a', 'two')] });
    const second = await config.untilUpdated(2, (name) => name !== first);
    expect(await uids(config)).toEqual(old);
    await config.change({ links: [{ path: '/etc/link', target: '/etc/motd' }] });
    await config.untilUpdated(2, (name) => name !== second);
    expect((await uids(config)).filter((uid) => old.includes(uid))).toEqual([]);
    expect((await conditions(config, 'RequiresReplacement'))?.status).toBe('False');
  }));

test.runIf(isThorough)('a reboot that takes longer than the health timeout replaces no machine [10.5]', () =>
  inWorld({}, { kubelets: { rebootDelay: 25 * MINUTE } }, async (config) => {
    const { world } = config;
    await world.createDeployment(2);
    await config.untilUpdated(2);
    const before = await uids(config);
    await config.change({ files: [fileOf('/etc/a', 'two')] });
    await world.clock.advance(20 * MINUTE);
    const updating = (await world.machines()).find(({ metadata }) => metadata.annotations?.[UNTIL] !== undefined);
    expect(updating?.status?.currentStatus?.phase).toBe('Unknown');
    await config.untilUpdated(2, () => true);
    expect(await uids(config)).toEqual(before);
  }),
);

test.runIf(isThorough)('a machine that dies during an update is replaced after its timeout [10.5]', () =>
  inWorld({}, {}, async (config) => {
    const { world } = config;
    await world.createDeployment(2);
    const first = await config.untilUpdated(2);
    for (const { id } of world.cloud.instances.list()) world.cloud.kubelets.order(id, { reboot: 'never' });
    const before = await uids(config);
    await config.change({ files: [fileOf('/etc/a', 'two')] });
    await world.clock.advance(150 * MINUTE);
    const after = await uids(config);
    expect(after.filter((uid) => before.includes(uid)).length).toBeLessThan(2);
    expect((await config.pool()).spec?.configuration?.name).not.toBe(first);
  }),
);

test('Replace with a bad configuration stops at the first new machine, and continues when it is corrected [10.4]', () =>
  inWorld({ updateStrategy: 'Replace' }, { kubelets: { configDelay: 5_000 } }, async (config) => {
    const { world } = config;
    await world.createDeployment(3);
    const first = await config.untilUpdated(3);
    const old = await uids(config);
    await config.change({ files: [fileOf('/etc/hostname/below', 'x')] });
    await world.clock.advance(60 * MINUTE);
    const now = await uids(config);
    expect([now.length, now.filter((uid) => old.includes(uid)).length]).toEqual([4, 3]);
    expect((await conditions(config, 'NodeDegraded'))?.message).toContain('cannot write /etc/hostname/below');
    const bad = (await config.pool()).spec?.configuration?.name;
    await config.change({ files: [fileOf('/etc/a', 'good')] });
    await config.untilUpdated(3, (name) => name !== first && name !== bad);
    expect((await uids(config)).filter((uid) => now.includes(uid))).toEqual([]);
  }));

test('the circuit breaker stops an update in place while an updated node is not Ready, although the limit allows more [10.4]', () => {
  const options = { kubelets: { configDelay: 120_000 }, configControllers: { haltDegraded: 1 } };
  return inWorld({ maxUnavailable: 2 }, options, async (config) => {
    const { world } = config;
    await world.createDeployment(6);
    const first = await config.untilUpdated(6);
    const changed = async (key: string) =>
      (await config.nodes()).filter(({ metadata }) => metadata.annotations?.[key] !== first);
    await config.change({ files: [fileOf('/etc/a', 'two')] });
    await world.until(async () => (await changed(CurrentConfig)).length > 0);
    const [sick] = await changed(CurrentConfig);
    const vm = [...world.cloud.instances.list()].find(({ name }) => name === sick?.metadata.name);
    world.cloud.kubelets.order(vm?.id ?? '', { silent: true });
    await world.until(async () => (await conditions(config, 'RolloutHalted'))?.status === 'True');
    expect((await conditions(config, 'RolloutHalted'))?.message).toContain(`: ${sick?.metadata.name}. `);
    const targets = (await changed(DesiredConfig)).length;
    await world.clock.advance(6 * MINUTE);
    expect([targets, (await changed(DesiredConfig)).length]).toEqual([4, 4]);
    world.cloud.kubelets.order(vm?.id ?? '', { silent: false });
    await config.untilUpdated(6, (name) => name !== first);
    expect((await conditions(config, 'RolloutHalted'))?.status).toBe('False');
  });
});

test.runIf(isThorough)(
  'a new machine that joins during a long outage of the controller gets its configuration afterwards [10.4]',
  () =>
    inWorld({ updateStrategy: 'Replace' }, {}, async (config) => {
      const { world } = config;
      await world.createDeployment(2);
      const first = await config.untilUpdated(2);
      await config.change({ files: [fileOf('/etc/a', 'two')] });
      await world.until(async () => (await world.machines()).length === 3);
      config.controllers.freeze(25 * MINUTE);
      await world.clock.advance(24 * MINUTE);
      expect((await config.nodes()).map(({ metadata }) => metadata.annotations?.[State])).toContain('Waiting');
      await config.untilUpdated(2, (name) => name !== first);
    }),
);

test('a node that cannot reach the target of a new pool is replaced [10.4]', () =>
  inWorld({ updateStrategy: 'InPlaceElseReplace' }, {}, async (config) => {
    const { world } = config;
    await world.createDeployment(2);
    const first = await config.untilUpdated(2);
    const old = await uids(config);
    await world.admin.resource(machineConfigPools).delete('workers');
    await config.change({ links: [{ path: '/etc/link', target: '/etc/motd' }] });
    await world.clock.advance(MINUTE);
    // The configuration of the nodes was deleted together with the pool.
    await config.createPool('workers', { machineRef: REF, maxUnavailable: 1, updateStrategy: 'InPlaceElseReplace' });
    await config.untilUpdated(2, (name) => name !== first);
    expect((await uids(config)).filter((uid) => old.includes(uid))).toEqual([]);
  }));

test.runIf(isThorough)(
  'after a restore that loses an update, the nodes return to the restored configuration in turn, and updates continue',
  () =>
    inWorld({}, { restorable: true, kubelets: { configDelay: 20_000 } }, async (config) => {
      const { world } = config;
      const stop = new AbortController();
      new TargetVerifier(
        world,
        () => 1,
        () => 0,
      ).watch(stop.signal);
      await world.createDeployment(3);
      const first = await config.untilUpdated(3);
      const machinesBefore = await uids(config);
      const backup = world.backup();
      await config.change({ files: [fileOf('/etc/a', 'two')] });
      await config.untilUpdated(3, (name) => name !== first);
      await world.restore(backup);
      let most = 0;
      const updated = new Set<string>();
      await world.until(async () => {
        const all = await config.nodes();
        const away = all.filter((node) => node.spec?.unschedulable || node.metadata.annotations?.[State] !== 'Done');
        most = Math.max(most, away.length);
        for (const { metadata } of away) updated.add(metadata.name);
        return updated.size === 3 && away.length === 0;
      });
      expect(most).toBe(1);
      expect(await config.untilUpdated(3)).toBe(first);
      await config.change({ files: [fileOf('/etc/a', 'three')] });
      await config.untilUpdated(3, (name) => name !== first);
      expect(await uids(config)).toEqual(machinesBefore);
      stop.abort();
    }),
);

test('a node whose machine is being deleted gets no target, and stays unschedulable [10.5]', () =>
  inWorld({ maxUnavailable: 3 }, { kubelets: { configDelay: 30_000 } }, async (config) => {
    const { world } = config;
    await world.createDeployment(3);
    const first = await config.untilUpdated(3);
    await config.change({ files: [fileOf('/etc/a', 'two')] });
    await world.until(async () =>
      (await config.nodes()).some(({ metadata }) => metadata.annotations?.[State] === 'Working'),
    );
    const [victim] = await world.machines();
    const name = victim?.metadata.name ?? '';
    const uid = (await config.nodes()).find(({ metadata }) => metadata.name === name)?.metadata.uid;
    await world.deleteMachine(name);
    let uncordoned = false;
    let cordoned = false;
    await world.until(async () => {
      const node = (await config.nodes()).find(({ metadata }) => metadata.uid === uid);
      cordoned ||= node?.spec?.unschedulable === true;
      uncordoned ||= cordoned && node !== undefined && node.spec?.unschedulable !== true;
      return node === undefined;
    });
    expect([cordoned, uncordoned]).toEqual([true, false]);
    await config.untilUpdated(3, (target) => target !== first);
  }));

test('the autoscaler does not remove a node during its update, and first removes a node that cannot be updated [10.5]', () =>
  inWorld({}, { kubelets: { configDelay: 30_000 } }, async (config) => {
    const { world } = config;
    await world.createDeployment(3);
    const first = await config.untilUpdated(3);
    await config.change({ files: [fileOf('/etc/a', 'two')] });
    const working = async () =>
      (await config.nodes()).find(({ metadata }) => metadata.annotations?.[State] === 'Working');
    await world.until(async () => (await working())?.metadata.annotations?.[Annotations.ScaleDownDisabled] === 'true');
    await config.untilUpdated(3, (name) => name !== first);
    await world.clock.advance(5_000);
    const annotations = (await config.nodes()).map(
      ({ metadata }) => metadata.annotations?.[Annotations.ScaleDownDisabled],
    );
    expect(annotations).toEqual([undefined, undefined, undefined]);
    const [node] = await config.nodes();
    const name = node?.metadata.name ?? '';
    const pause = (paused: boolean) =>
      world.admin.resource(machineConfigPools).patch('workers', { type: 'merge', body: { spec: { paused } } });
    await pause(true);
    const storage = { links: [{ path: '/etc/link', target: '/etc/motd' }] };
    const spec = { config: { ignition: { version: '3.5.0' }, storage } };
    await world.admin.resource(machineConfigs).create({ metadata: { name: 'odd' }, spec });
    const body = { metadata: { annotations: { [DesiredConfig]: 'odd' } } };
    await world.admin.resource(nodes).patch(name, { type: 'merge', body });
    const priority = async () =>
      (await world.admin.resource(machines, NAMESPACE).get(name)).metadata.annotations?.[Annotations.Priority];
    await world.until(async () => (await priority()) === '1');
    await pause(false);
    await world.until(async () => (await priority()) === '3');
  }));

test('a frozen MachineSet prevents new targets, which is reported [10.5]', () =>
  inWorld({}, { restartAfterMs: 2 * MINUTE }, async (config) => {
    const { world } = config;
    await world.createDeployment(2);
    const first = await config.untilUpdated(2);
    const [set] = await config.sets();
    const freeze = { type: 'merge', body: { metadata: { labels: { [Labels.Freeze]: 'True' } } } } as const;
    world.kill('manager');
    await world.admin.resource(machineSets, NAMESPACE).patch(set?.metadata.name ?? '', freeze);
    await config.change({ files: [fileOf('/etc/a', 'two')] });
    await world.clock.advance(MINUTE);
    expect((await config.pool()).spec?.configuration?.name).not.toBe(first);
    expect(await conditions(config, 'Updating')).toMatchObject({
      status: 'False',
      message: expect.stringContaining('is frozen'),
    });
    for (const { metadata } of await config.nodes()) expect(metadata.annotations?.[DesiredConfig]).toBe(first);
    await config.untilUpdated(2, (name) => name !== first);
  }));

test('a machine with references from two pools is in neither [10.2]', () =>
  inWorld({}, {}, async (config) => {
    const { world } = config;
    await world.createDeployment(1);
    await config.untilUpdated(1);
    const { spec } = await config.pool();
    await world.admin.resource(machineConfigPools).create({
      metadata: { name: 'others' },
      spec: { machineConfigSelector: spec?.machineConfigSelector ?? {}, machineRefs: [REF] },
    });
    await world.until(async () => (await conditions(config, 'MachineRefResolved'))?.reason === 'Ambiguous');
    expect((await conditions(config, 'MachineRefResolved'))?.message).toContain('belongs to the pools others, workers');
    await world.clock.advance(5_000);
    expect((await config.pool()).status?.machineCount).toBe(0);
  }));

test('a pool that is deleted during an update removes its marks from machines and nodes [10.5]', () =>
  inWorld({}, { kubelets: { configDelay: 3_600_000 } }, async (config) => {
    const { world } = config;
    await world.createDeployment(2);
    await world.clock.advance(2 * MINUTE);
    const marks = async () => {
      const ours = [Annotations.ScaleDownDisabled, CONFIG_STATE, UNTIL];
      const found = [...(await world.machines()), ...(await config.nodes())].flatMap(({ metadata }) =>
        Object.entries(metadata.annotations ?? {}).flatMap(([key, value]) =>
          ours.includes(key) ? [[key, value]] : [],
        ),
      );
      return Object.fromEntries(found);
    };
    await world.until(async () => (await marks())[UNTIL] !== undefined);
    expect(await marks()).toMatchObject({ [Annotations.ScaleDownDisabled]: 'true', [CONFIG_STATE]: 'Working' });
    const [machine] = await world.machines();
    const [node] = await config.nodes();
    // The pool must keep an annotation that a foreign program has written.
    const foreign = { metadata: { annotations: { 'example.com/kept': 'yes' } } };
    await world.admin.resource(nodes).patch(node?.metadata.name ?? '', { type: 'merge', body: foreign });
    await world.admin.resource(machineConfigPools).delete('workers');
    await world.clock.advance(MINUTE);
    expect(await marks()).toEqual({});
    expect((await config.nodes())[0]?.metadata.annotations).toMatchObject({ 'example.com/kept': 'yes' });
    const version = async () =>
      (await world.admin.resource(machines, NAMESPACE).get(machine?.metadata.name ?? '')).metadata.annotations;
    const still = await version();
    await world.clock.advance(10 * MINUTE);
    expect(await version()).toEqual(still);
  }));
