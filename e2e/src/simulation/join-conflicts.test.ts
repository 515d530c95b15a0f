import { Annotations, Labels, PreserveValues, Taints } from '@mcm/api';
import { type Node, nodes, podDisruptionBudgets } from '@mcm/kube';
import { isThorough, sampled } from '@mcm/kube/testing';
import { machineConfigPools, NodeAnnotations } from '@mcm/machine-config';
import type { KubeletBehaviour } from '@mcm/provider-local';
import { expect, test } from 'vitest';
import { JoinVerifier } from './verifiers/join-verifier.ts';
import { ConfigWorld, fileOf } from './world/config-world.ts';
import { holdAll, holdNode } from './world/workload.ts';
import { NAMESPACE, type WorldOptions } from './world/world.ts';

const { CurrentConfig, DesiredConfig, DesiredDrain, State } = NodeAnnotations;
const MINUTE = 60_000;
const refTo = (name: string) => ({ kind: 'MachineDeployment' as const, namespace: NAMESPACE, name });
const DISABLED = Annotations.ScaleDownDisabled;
const CONFIGS_TAINT = 'UpdateInProgress';

class Story {
  readonly config: ConfigWorld;
  readonly verifier: JoinVerifier;
  limit: number;
  written = 0;

  constructor(config: ConfigWorld, verifier: (story: Story) => JoinVerifier, limit: number) {
    [this.config, this.limit] = [config, limit];
    this.verifier = verifier(this);
  }

  get world() {
    return this.config.world;
  }

  async allow(maxUnavailable: number): Promise<void> {
    this.limit = maxUnavailable;
    await this.patchPool({ maxUnavailable });
  }

  patchPool = (spec: object, name = 'workers') =>
    this.world.admin.resource(machineConfigPools).patch(name, { type: 'merge', body: { spec } });

  change(): Promise<void> {
    this.written += 1;
    return this.config.change({ files: [fileOf('/etc/a', `v${this.written}`)] });
  }

  roll = () => this.world.change({ template: { spec: { class: { name: 'green' } } } });

  rollBack = () => this.world.change({ template: { spec: { class: { name: 'blue' } } } });

  order(name: string, behaviour: KubeletBehaviour): void {
    const found = [...this.world.cloud.instances.list()].find(
      (each) => each.name === name && each.state !== 'terminated',
    );
    if (!found) throw new Error(`no VM ${name}`);
    this.world.cloud.kubelets.order(found.id, behaviour);
  }

  async node(name: string): Promise<Node | undefined> {
    return (await this.config.nodes()).find(({ metadata }) => metadata.name === name);
  }

  async names(): Promise<string[]> {
    return (await this.world.machines()).map(({ metadata }) => metadata.name).toSorted();
  }

  phase = async (name: string): Promise<string | undefined> =>
    (await this.world.machines()).find(({ metadata }) => metadata.name === name)?.status?.currentStatus?.phase;

  untilNode = (holds: (node: Node) => boolean): Promise<number> =>
    this.world.until(async () => (await this.config.nodes()).some(holds));

  patchNode = (name: string, body: object) => this.world.admin.resource(nodes).patch(name, { type: 'merge', body });
}

async function play(
  options: WorldOptions & { readonly limit?: number; readonly pool?: object },
  tell: (story: Story) => Promise<void>,
): Promise<void> {
  const { limit = 1, pool = {}, ...others } = options;
  const config = await ConfigWorld.start({ machineRef: refTo('workers'), maxUnavailable: limit, ...pool }, others);
  const stop = new AbortController();
  const story = new Story(
    config,
    (self) =>
      new JoinVerifier(config.world, {
        poolOf: (deployment) => (deployment === 'others' ? 'others' : 'workers'),
        limitOf: () => self.limit,
      }),
    limit,
  );
  try {
    story.verifier.watch(stop.signal);
    await tell(story);
    expect(config.world.violations, config.world.reporter.tell()).toEqual([]);
  } finally {
    stop.abort();
    await config.close();
  }
}

const stateOf = (node: Node | undefined): string => node?.metadata.annotations?.[State] ?? '';
const drainOf = (node: Node | undefined): string => node?.metadata.annotations?.[DesiredDrain] ?? '';
const hasTaint = (node: Node | undefined, key: string): boolean =>
  node?.spec?.taints?.some((taint) => taint.key === key) ?? false;

const untilPhase = ({ world }: Story, phase: string): Promise<number> =>
  world.until(async () => (await world.machines()).some(({ status }) => status?.currentStatus?.phase === phase));

const AWAY: readonly [string, WorldOptions, (story: Story) => Promise<unknown>][] = [
  [
    'a roll of the deployment',
    { maxSurge: 0, maxUnavailable: 1, kubelets: { joinDelay: 3 * MINUTE } },
    async (story) => {
      await story.roll();
      await untilPhase(story, 'Pending');
    },
  ],
  [
    'an update in place by MCM',
    { inPlace: 'Auto', maxSurge: 0, maxUnavailable: 1, kubelets: { updateDelay: 4 * MINUTE } },
    async (story) => {
      await story.roll();
      await story.untilNode(({ spec }) => spec.unschedulable === true);
    },
  ],
  [
    'a repair',
    { machine: { healthTimeout: '4m' }, kubelets: { joinDelay: 2 * MINUTE } },
    async (story) => {
      story.order((await story.names())[0] ?? '', { silent: true });
      await untilPhase(story, 'Unknown');
    },
  ],
  [
    'a drain that a budget holds',
    { machine: { drainTimeout: '4m' } },
    async (story) => {
      const [name = ''] = await story.names();
      await holdAll(story.world, 1);
      await holdNode(story.world, name);
      await story.world.deleteMachine(name);
      await story.untilNode(({ spec }) => spec.unschedulable === true);
    },
  ],
];

test.each(sampled(AWAY, 4))(
  'disruption budget counted twice: %s uses a slot of the pool [10.5]',
  (_, options, takesAway) =>
    play(options, async (story) => {
      const { config, world, verifier } = story;
      await world.createDeployment(3);
      const first = await config.untilUpdated(3);
      await takesAway(story);
      await world.clock.advance(2_000);
      await story.change();
      await world.clock.advance(MINUTE);
      expect((await config.pool()).spec?.configuration?.name).not.toBe(first);
      expect(verifier.reported).toEqual([]);
      // If two nodes may be updated at once, a second node gets the target configuration, but a third node does not.
      await story.allow(2);
      await world.clock.advance(1_500);
      expect(verifier.reported).toHaveLength(1);
      await config.untilUpdated(3, (name) => name !== first);
    }),
);

test.runIf(isThorough)('a preserved Failed machine uses a slot, gets no target, and is not replaced twice [10.5]', () =>
  play({ machine: { healthTimeout: '1m' } }, async (story) => {
    const { config, world, verifier } = story;
    await world.createDeployment(3);
    const first = await config.untilUpdated(3);
    const [machine] = await world.machines();
    const { name: kept = '', uid } = machine?.metadata ?? {};
    const preserve = (value: string | null) =>
      story.patchNode(kept, { metadata: { annotations: { [Annotations.Preserve]: value } } });
    await preserve(PreserveValues.WhenFailed);
    // The kubelet still reports Ready, so only the machine controller detects that the node is unhealthy.
    story.order(kept, { conditions: { KernelDeadlock: 'True' } });
    await world.until(async () =>
      (await world.machines()).some(({ status }) => status?.currentStatus?.preserveExpiryTime !== undefined),
    );
    await world.clock.advance(MINUTE);
    await story.change();
    await world.clock.advance(3 * MINUTE);
    expect([await story.phase(kept), verifier.reported]).toEqual(['Failed', []]);
    await story.allow(2);
    await world.clock.advance(3 * MINUTE);
    expect(new Set(verifier.reported)).toEqual(new Set((await story.names()).filter((name) => name !== kept)));
    expect((await story.node(kept))?.metadata.annotations?.[DesiredConfig]).toBe(first);
    await preserve(null);
    await config.untilUpdated(3, (name) => name !== first);
    expect((await world.machines()).map(({ metadata }) => metadata.uid)).not.toContain(uid);
  }),
);

test.runIf(isThorough)(
  'orphan protection: a node without a machine belongs to the pool of its selector, and not to MCM or a machine pool [10.5]',
  () =>
    play({}, async (story) => {
      const { config, world } = story;
      const role = 'node-role.kubernetes.io/control-plane';
      await config.createPool('control', { nodeSelector: { matchLabels: { [role]: '' } } });
      await world.createDeployment(1);
      const first = await config.untilUpdated(1);
      const control = async () => world.admin.resource(machineConfigPools).get('control');
      const booted = (await control()).spec?.configuration?.name ?? '';
      const given = { [CurrentConfig]: booted, [DesiredConfig]: booted, [State]: 'Done' };
      await world.admin.resource(nodes).create({
        metadata: { name: 'control-0', labels: { [role]: '' }, annotations: given },
        spec: {},
      });
      const beat = async (): Promise<void> => {
        const lastHeartbeatTime = world.clock.now().toISOString();
        const body = { status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime }] } };
        await world.admin.resource(nodes).patch('control-0', { type: 'strategic', body }, { subresource: 'status' });
        world.clock.setTimeout(() => void beat().catch(() => undefined), 20_000);
      };
      await beat();
      await world.clock.advance(35 * MINUTE);
      expect((await story.node('control-0'))?.metadata.annotations).toHaveProperty([Annotations.NotManagedByMCM]);
      await story.change();
      await config.untilUpdated(1, (name) => name !== first);
      await story.untilNode(
        ({ metadata: { name, annotations } }) => name === 'control-0' && annotations?.[DesiredConfig] !== booted,
      );
      expect((await story.node('control-0'))?.metadata.annotations?.[DesiredConfig]).toBe(
        (await control()).spec?.configuration?.name,
      );
      await world.clock.advance(16 * MINUTE);
      expect((await story.node('control-0'))?.metadata).toMatchObject({
        annotations: { [Annotations.NotManagedByMCM]: '1', [CurrentConfig]: booted },
      });
      expect([(await config.pool()).status?.machineCount, (await control()).status?.machineCount]).toEqual([1, 1]);
    }),
);

test('MCM’s taint PreferNoSchedule and the pool’s taint UpdateInProgress coexist, and each owner removes its own [10.5]', () =>
  play({ maxSurge: 1, maxUnavailable: 0, kubelets: { joinDelay: 5 * MINUTE, configDelay: MINUTE } }, async (story) => {
    const { config, world } = story;
    await world.createDeployment(2);
    const first = await config.untilUpdated(2);
    const old = await story.names();
    const foreign = { key: 'example.com/kept', effect: 'NoSchedule' };
    for (const name of old) await story.patchNode(name, { spec: { taints: [foreign] } });
    await story.roll();
    const { key: ofMcm } = Taints.PreferNoSchedule;
    await world.until(async () => (await config.nodes()).every((node) => hasTaint(node, ofMcm)));
    await story.change();
    // One machine needs five minutes to join. Until then, this machine uses up the limit of unavailable nodes.
    await world.until(async () => (await config.nodes()).every((node) => hasTaint(node, CONFIGS_TAINT)));
    for (const node of await config.nodes()) {
      expect(node.spec?.taints?.map(({ key }) => key).toSorted()).toEqual(
        [CONFIGS_TAINT, ofMcm, foreign.key].toSorted(),
      );
    }
    await story.allow(2);
    await story.untilNode(({ metadata }) => metadata.annotations?.[DesiredConfig] !== first);
    const reported = (await config.nodes()).find(({ metadata }) => metadata.annotations?.[DesiredConfig] !== first);
    expect([ofMcm, CONFIGS_TAINT, foreign.key].filter((key) => hasTaint(reported, key)).toSorted()).toEqual(
      [ofMcm, foreign.key].toSorted(),
    );
    await config.untilUpdated(2, (name) => name !== first);
    await world.untilSettled(2, 'green');
    for (const node of await config.nodes()) {
      expect([hasTaint(node, ofMcm), hasTaint(node, CONFIGS_TAINT)]).toEqual([false, false]);
    }
  }));

test('both drain the same node: a machine that must be deleted gets no target, even before its drain begins [10.5]', () =>
  play({ limit: 3, restartAfterMs: 3 * MINUTE }, async (story) => {
    const { config, world, verifier } = story;
    await world.createDeployment(2);
    const first = await config.untilUpdated(2);
    const [victim = '', other = ''] = await story.names();
    world.kill('machine-controller');
    await world.deleteMachine(victim);
    await world.clock.advance(2_000);
    await story.change();
    await world.clock.advance(MINUTE);
    expect([(await story.node(victim))?.spec?.unschedulable ?? false, verifier.reported]).toEqual([false, [other]]);
    await config.untilUpdated(2, (name) => name !== first);
  }));

test.each(sampled(['reboot', 'drain'] as const, 2))(
  'a machine that is deleted in the %s of its node’s update is removed, and the pool continues [10.5]',
  (when) =>
    play({ kubelets: { configDelay: 30_000, rebootDelay: 3 * MINUTE } }, async (story) => {
      const { config, world } = story;
      await world.createDeployment(3);
      const first = await config.untilUpdated(3);
      if (when === 'drain') {
        await holdAll(world, 3);
        for (const name of await story.names()) await holdNode(world, name);
      }
      await story.change();
      const isThere = (node: Node) =>
        when === 'drain'
          ? drainOf(node).startsWith('drain-') && node.spec?.unschedulable === true
          : node.metadata.annotations?.[NodeAnnotations.PostConfigAction] === 'Rebooting';
      await story.untilNode(isThere);
      const victim = (await config.nodes()).find(isThere)?.metadata.name ?? '';
      await world.deleteMachine(victim);
      await world.clock.advance(MINUTE);
      if (when === 'drain') {
        await world.admin.resource(podDisruptionBudgets, NAMESPACE).delete('held');
      }
      await config.untilUpdated(3, (name) => name !== first);
      expect((await config.nodes()).every(({ spec }) => spec?.unschedulable !== true)).toBe(true);
    }),
);

test('one orchestrator per pool: Replace over a deployment with in-place updates reports the conflict and starts nothing [10.4]', () =>
  play({ inPlace: 'Auto', maxSurge: 0, maxUnavailable: 1, pool: { updateStrategy: 'Replace' } }, async (story) => {
    const { config, world, verifier } = story;
    await world.createDeployment(2);
    const first = await config.untilUpdated(2);
    await story.change();
    await world.clock.advance(5 * MINUTE);
    const resolved = (await config.pool()).status?.conditions?.find(({ type }) => type === 'MachineRefResolved');
    expect([resolved?.status, resolved?.reason, resolved?.message]).toEqual([
      ...['False', 'Forbidden'],
      expect.stringContaining(`${NAMESPACE}/workers replaces no machine: its spec.strategy.type is InPlaceUpdate`),
    ]);
    expect((await config.deployment()).spec.template.metadata?.annotations).toBeUndefined();
    expect([world.reporter.selections, verifier.reported]).toEqual([0, []]);
    await story.patchPool({ updateStrategy: 'InPlace' });
    await config.untilUpdated(2, (name) => name !== first);
    expect(world.reporter.selections).toBe(0);
  }));

test.each([
  ['MCM', { configDelay: 4 * MINUTE, updateDelay: 30_000 }],
  ['the pool', { configDelay: 30_000, updateDelay: 5 * MINUTE }],
])(
  'both drain the same node: %s ends first, and the node stays unschedulable until the other ends [10.5]',
  (_, kubelets) =>
    play({ inPlace: 'Auto', maxSurge: 0, maxUnavailable: 1, kubelets }, async (story) => {
      const { config, world } = story;
      await world.createDeployment(1);
      const first = await config.untilUpdated(1);
      await story.change();
      await story.untilNode((node) => drainOf(node).startsWith('drain-') && node.spec?.unschedulable === true);
      await story.roll();
      await story.untilNode(({ metadata }) => metadata.labels?.[Labels.SelectedForUpdate] !== undefined);
      await config.untilUpdated(1, (name) => name !== first);
      await story.untilNode(({ metadata }) => metadata.labels?.[Labels.CandidateForUpdate] === undefined);
      await world.clock.advance(10_000);
      expect((await config.nodes()).map(({ spec }) => spec?.unschedulable ?? false)).toEqual([false]);
    }),
);

test('a scale-down during the rollout of a pool: the pool updates at most as many nodes as there are requested machines [10.5]', () =>
  play({ limit: 3, machine: { drainTimeout: '20m' }, kubelets: { configDelay: MINUTE } }, async (story) => {
    const { config, world, verifier } = story;
    await world.createDeployment(4);
    const first = await config.untilUpdated(4);
    // Two machines are in deletion, but their pods block the drain.
    const names = await story.names();
    await holdAll(world, 4);
    for (const name of names) await holdNode(world, name);
    story.limit = 2;
    await world.change({ replicas: 2 });
    await world.until(
      async () =>
        (await world.machines()).filter(({ metadata }) => metadata.deletionTimestamp !== undefined).length === 2,
    );
    await story.change();
    await world.clock.advance(5 * MINUTE);
    expect(verifier.reported).toEqual([]);
    await world.admin.resource(podDisruptionBudgets, NAMESPACE).delete('held');
    await config.untilUpdated(2, (name) => name !== first);
    expect(names.filter((name) => verifier.reported.includes(name)).length).toBeGreaterThan(0);
  }));

test.runIf(isThorough)(
  'two pools over two MachineDeployments roll out independently, and one pool over both rolls out one after another [10.5]',
  () =>
    play({ pool: {}, kubelets: { configDelay: 20_000 } }, async (story) => {
      const { config, world } = story;
      await config.createPool('others', { machineRef: refTo('others'), maxUnavailable: 1 });
      await world.createDeployment(2);
      await world.createDeployment(2, 'others');
      const others = () => world.admin.resource(machineConfigPools).get('others');
      const bothAt = async (target: (name: string) => boolean): Promise<string> => {
        const name = await config.untilUpdated(2, target);
        await world.until(
          async () =>
            (await others()).status?.updatedMachineCount === 2 &&
            target((await others()).status?.configuration?.name ?? ''),
        );
        return name;
      };
      const first = await bothAt(() => true);
      const firstOthers = (await others()).spec?.configuration?.name ?? '';
      await story.change();
      let most = 0;
      await world.until(async () => {
        most = Math.max(most, (await config.nodes()).filter((node) => stateOf(node) === 'Working').length);
        return most === 2;
      });
      await bothAt((name) => name !== first && name !== firstOthers);
      await world.admin.resource(machineConfigPools).delete('others');
      await story.patchPool({ machineRef: null, machineRefs: [refTo('workers'), refTo('others')] });
      const second = await config.untilUpdated(4);
      const alone = new JoinVerifier(world, { poolOf: () => 'workers', limitOf: () => 1 });
      const stop = new AbortController();
      alone.watch(stop.signal);
      await story.change();
      await config.untilUpdated(4, (name) => name !== second);
      stop.abort();
      expect(alone.reported).toHaveLength(4);
    }),
);

test('cluster autoscaler: a node in use stays protected, regardless of which controller releases it first [10.5]', () =>
  play({ limit: 2, kubelets: { configDelay: 3 * MINUTE, joinDelay: 10 * MINUTE } }, async (story) => {
    const { config, world } = story;
    await world.createDeployment(2);
    await world.clock.advance(15 * MINUTE);
    const first = await config.untilUpdated(2);
    const isReported = ({ metadata }: Node) => metadata.annotations?.[DesiredConfig] !== first;
    const marks = async (key: string) =>
      (await config.nodes()).filter(isReported).map(({ metadata }) => metadata.annotations?.[key]);
    const byMcm = () => marks(Annotations.ScaleDownDisabledByMCM);
    // A rollout with a slow new machine starts.
    await story.roll();
    await untilPhase(story, 'Pending');
    await world.clock.advance(5_000);
    await story.change();
    await story.untilNode((node) => stateOf(node) === 'Working');
    expect([await byMcm(), await marks(Annotations.ScaleDownDisabledByMCC)]).toEqual([['true'], [undefined]]);
    await story.allow(1);
    await story.rollBack();
    await world.until(async () => (await byMcm())[0] === undefined, 2 * MINUTE);
    await world.clock.advance(5_000);
    expect(await marks(Annotations.ScaleDownDisabledByMCC)).toEqual(['true']);
    // A second rollout starts, and the update of the node ends.
    await story.roll();
    await story.untilNode((node) => isReported(node) && stateOf(node) === 'Done');
    await world.clock.advance(2_000);
    const done = (await config.nodes()).find((node) => isReported(node) && stateOf(node) === 'Done')?.metadata
      .annotations;
    expect([done?.[DISABLED], done?.[Annotations.ScaleDownDisabledByMCC]]).toEqual(['true', undefined]);
  }));
