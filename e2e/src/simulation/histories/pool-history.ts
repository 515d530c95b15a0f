import { Annotations, Labels, PreserveValues } from '@mcm/api';
import { createInformer, isConflict, isNotFound, type Node, nodes, seededRandom, silentLogger } from '@mcm/kube';
import {
  conditionOf,
  type MachineConfigPool,
  machineConfigPools,
  machineConfigs,
  NodeAnnotations,
} from '@mcm/machine-config';
import type { Network } from '../network/network.ts';
import { BOUNDS } from '../record/bounds.ts';
import { Dice } from '../script/dice.ts';
import { type Plan, Script } from '../script/script.ts';
import { HaltVerifier } from '../verifiers/halt-verifier.ts';
import { HandoverVerifier } from '../verifiers/handover-verifier.ts';
import { JoinVerifier } from '../verifiers/join-verifier.ts';
import type { ConfigControllersOptions } from '../world/config-controllers.ts';
import { ConfigWorld, fileOf } from '../world/config-world.ts';
import { NAMESPACE } from '../world/world.ts';
import { compactsHistory } from './modes.ts';
import type { HistoryOptions, Outcome } from './outcome.ts';

const MINUTE = 60_000;
const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;
const STRATEGIES = ['InPlace', 'Replace', 'InPlaceElseReplace'] as const;
const REST = 'rest';
const REF = { kind: 'MachineDeployment' as const, namespace: NAMESPACE, name: 'workers' };

const annotation = ({ metadata }: Node, key: string): string => metadata.annotations?.[key] ?? '';
const isDone = (node: Node): boolean =>
  annotation(node, State) === 'Done' && annotation(node, CurrentConfig) === annotation(node, DesiredConfig);
const isBusy = (node: Node): boolean => !isDone(node) || node.spec?.unschedulable === true;

const hasFailed = (node: Node): boolean => ['Degraded', 'Unreconcilable'].includes(annotation(node, State));
const isStranded = (node: Node): boolean => hasFailed(node) && node.spec?.unschedulable === true;

/**
 * Returns true if a schedulable node refused an earlier configuration. This node applies nothing, so it does not count
 * for the limit.
 */
const hasRefused = (node: Node, desired: string): boolean =>
  hasFailed(node) && node.spec?.unschedulable !== true && annotation(node, DesiredConfig) !== desired;

/** Verifies that pools respect their limit of parallel updates. */
export class TargetVerifier {
  readonly #charged = new Map<string, string>();
  readonly #nodes = new Map<string, Node>();
  readonly #settled = new Set<string>();
  readonly #pausedSince = new Map<string, number>();

  readonly #world: ConfigWorld['world'];
  readonly #allowed: () => number;
  readonly #lagMs: () => number;

  constructor(world: ConfigWorld['world'], allowed: () => number, lagMs: () => number) {
    [this.#world, this.#allowed, this.#lagMs] = [world, allowed, lagMs];
  }

  watch(signal: AbortSignal): void {
    const { admin, clock } = this.#world;
    const options = { clock, random: seededRandom(5), log: silentLogger };
    const informer = createInformer<Node>(admin, nodes, options);
    informer.onChange(({ type, object }) => this.#changed(type, object));
    const pools = createInformer<MachineConfigPool>(admin, machineConfigPools, options);
    pools.onChange(({ type, object }) => this.#poolChanged(type, object));
    for (const one of [informer, pools]) {
      void one.run(signal).catch((error: unknown) => this.#world.reporter.violate(String(error)));
    }
  }

  #poolChanged(type: string, { metadata: { name }, spec }: MachineConfigPool): void {
    if (type === 'deleted' || spec?.paused !== true) this.#pausedSince.delete(name);
    else if (!this.#pausedSince.has(name)) this.#pausedSince.set(name, this.#world.clock.now().getTime());
  }

  #isPaused(config: string): boolean {
    const pool = /^rendered-(.+)-[0-9a-f]{32}$/.exec(config)?.[1] ?? '';
    const since = this.#pausedSince.get(pool);
    return since !== undefined && this.#world.clock.now().getTime() - since > this.#lagMs();
  }

  /** Must be called after nodes were moved to another pool. */
  forget(): void {
    this.#charged.clear();
  }

  #changed(type: string, node: Node): void {
    const { name, uid } = node.metadata;
    const old = this.#nodes.get(uid);
    if (type === 'deleted') {
      for (const one of [this.#charged, this.#nodes, this.#settled]) one.delete(uid);
      return;
    }
    this.#nodes.set(uid, node);
    const desired = annotation(node, DesiredConfig);
    if (old && this.#settled.has(uid) && annotation(old, DesiredConfig) !== desired) {
      this.#charged.set(uid, desired);
      if (this.#isPaused(desired))
        this.#world.reporter.violate(`node ${name} gets configuration ${desired} although its pool is paused`);
      const busy = [...this.#charged.keys()].flatMap((one) => {
        const found = this.#nodes.get(one);
        return found && isBusy(found) && !hasRefused(found, desired) ? [found.metadata.name] : [];
      });
      if (busy.length > this.#allowed() && !isStranded(old)) {
        this.#world.reporter.violate(
          `node ${name} gets configuration ${desired} while ${busy.length} nodes apply a configuration: ${busy.join(', ')}`,
        );
      }
    }
    if (isBusy(node)) return;
    this.#settled.add(uid);
    this.#charged.delete(uid);
  }
}

const ACTS = [
  ...['change', 'change', 'change', 'irreconcilable', 'strategy', 'strategy', 'scale', 'deleteMachine', 'failMachine'],
  ...['pool', 'pool', 'pause', 'bad', 'limit', 'kill', 'kill', 'killManager', 'harm', 'silence', 'expire'],
] as const;
/**
 * The modes of pool histories.
 * - `join`: users change machines and configurations at the same time.
 * - `config-leases`: two machine-config-controllers with different clocks compete for a Lease, and the leader is frozen
 *   at times.
 */
export const POOL_MODES = ['pools', 'join', 'config-leases'] as const;
export type PoolMode = (typeof POOL_MODES)[number];
const JOIN_ACTS = [...ACTS, 'roll', 'roll', 'preserve'] as const;
const LEASE_ACTS = [...JOIN_ACTS, 'freeze', 'freeze', 'freeze', 'freeze', 'change', 'bad'] as const;
type Act = (typeof LEASE_ACTS)[number] | 'allowMore';
const ACTS_OF = { pools: ACTS, join: JOIN_ACTS, 'config-leases': LEASE_ACTS } as const;
/** If a seed has this remainder when divided by 8, users also raise the limit after a bad configuration. */
const RAISES_LIMIT = { every: 8, remainder: 5 };
const BREAKER_ACTS = Array<'allowMore'>(8).fill('allowMore');
/** The number of nodes in a history of `RAISES_LIMIT`, and the limit of parallel updates after users have raised it. */
const RAISED_LIMIT = 4;
const SKEW_MS = 2 * MINUTE;

class PoolHistory {
  readonly #dice: Dice;
  readonly #config: ConfigWorld;
  readonly #verifier: TargetVerifier;
  readonly #stop = new AbortController();
  #limits: { readonly limit: number; until: number }[] = [{ limit: 1, until: Number.POSITIVE_INFINITY }];
  #replicas = 2;
  #written = 0;
  #class = 'blue';
  readonly #compacts: boolean;

  readonly #script: Script;

  constructor(config: ConfigWorld, dice: Dice, acts: readonly Act[], { seed, plan }: HistoryOptions) {
    [this.#config, this.#dice] = [config, dice];
    this.#compacts = compactsHistory(seed);
    const { clock } = config.world;
    this.#script = new Script({
      dice,
      acts,
      plan,
      maxPauseMs: 10 * MINUTE,
      beginsAtOnce: true,
      wait: (ms) => clock.advance(ms),
      act: (name) => this.#try(name as Act),
    });
    const allowed = () => {
      const since = config.world.clock.now().getTime() - config.lagMs();
      return Math.max(...this.#limits.filter(({ until }) => until >= since).map(({ limit }) => limit));
    };
    this.#verifier = new TargetVerifier(config.world, allowed, () => config.lagMs());
  }

  async play(haltDegraded: number): Promise<void> {
    const { world } = this.#config;
    this.#verifier.watch(this.#stop.signal);
    new HaltVerifier(world, { haltDegraded, lagMs: () => this.#config.lagMs() }).watch(this.#stop.signal);
    const rules = {
      poolOf: () => 'workers',
      limitOf: () => this.#replicas + 3,
      protects: false,
      lagMs: () => this.#config.lagMs(),
    };
    new JoinVerifier(world, rules).watch(this.#stop.signal);
    new HandoverVerifier(world, world.lagMs).watch(this.#stop.signal);
    await this.#config.createPool(REST, { nodeSelector: { matchLabels: { 'kubernetes.io/os': 'linux' } } });
    await world.createDeployment(this.#replicas);
    await this.#config.untilUpdated(this.#replicas).catch((error: unknown) => {
      // If the network repeatedly loses renewals of the Lease, no leader may have listed all objects yet.
      if (!this.#config.network.losesAnswers) throw error;
      world.reporter.note('act', 'the nodes do not have the first configuration yet');
    });
    await this.#script.play(4 + this.#dice.number(6));
    await this.#mend();
    await this.#verifyEnd();
  }

  get plan(): Plan {
    return this.#script.plan;
  }

  async #try(act: Act): Promise<void> {
    this.#config.world.reporter.note('act', act);
    await this.#act(act).catch((error: unknown) => {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  }

  #patchPool(spec: object): Promise<unknown> {
    return this.#config.world.admin.resource(machineConfigPools).patch('workers', { type: 'merge', body: { spec } });
  }

  async #act(act: Act): Promise<unknown> {
    const { world, network } = this.#config;
    const machines = (await world.machines()).map(({ metadata }) => metadata.name);
    switch (act) {
      case 'change':
        this.#written += 1;
        return this.#config.change({ files: [fileOf('/etc/a', `v${this.#written}`)] });
      case 'irreconcilable':
        this.#written += 1;
        return this.#config.change({ links: [{ path: `/etc/link${this.#written}`, target: '/etc/motd' }] });
      case 'bad':
        return this.#config.change({ files: [fileOf('/etc/hostname/below', 'x')] });
      case 'strategy':
        return this.#patchPool({ updateStrategy: this.#dice.one(STRATEGIES) });
      case 'pause':
        return this.#patchPool({ paused: this.#dice.number(2) === 0 });
      case 'limit':
        return this.#limit(1 + this.#dice.number(2));
      case 'allowMore':
        return this.#allowMore();
      case 'scale':
        this.#replicas = 1 + this.#dice.number(3);
        return world.change({ replicas: this.#replicas });
      case 'deleteMachine':
        return world.deleteMachine(this.#dice.one(machines) ?? '');
      case 'failMachine':
        return world.failMachine(this.#dice.one(machines) ?? '');
      case 'roll':
        this.#class = this.#class === 'blue' ? 'green' : 'blue';
        return world.change({ template: { spec: { class: { name: this.#class } } } });
      case 'preserve':
        return this.#preserve(this.#dice.one(machines) ?? '');
      case 'pool':
        return this.#toggle();
      case 'kill':
        return this.#config.controllers.killTwice({
          request: 1 + this.#dice.number(30),
          when: this.#dice.one(['before', 'after']) ?? 'after',
        });
      case 'freeze':
        return this.#freezeAtWork();
      case 'killManager':
        return world.kill(this.#dice.one(['manager', 'machine-controller'] as const) ?? 'manager');
      default:
        return this.#disturb(act, network);
    }
  }

  /** A user raises the limit of parallel updates after the first node could not apply a bad configuration. */
  async #allowMore(): Promise<unknown> {
    const { world } = this.#config;
    this.#replicas = RAISED_LIMIT;
    await world.change({ replicas: RAISED_LIMIT });
    await this.#patchPool({ updateStrategy: 'InPlace', paused: false });
    await this.#limit(1);
    await world.clock.advance(10 * MINUTE);
    await this.#act('bad');
    await world.clock.advance(5 * MINUTE + this.#dice.pause(10 * MINUTE));
    return this.#limit(RAISED_LIMIT);
  }

  /** Freezes the leader between two related writes, for longer than the duration of its Lease. */
  async #freezeAtWork(): Promise<void> {
    const { controllers, world } = this.#config;
    const [afterMs, ms] = [4_900 + this.#dice.number(1_500), 20_000 + this.#dice.pause(3 * MINUTE)];
    await this.#act('change');
    world.clock.setTimeout(() => controllers.freeze(ms), afterMs);
  }

  /** Starts or ends the preservation of a machine, as a user does. */
  async #preserve(name: string): Promise<unknown> {
    const { admin } = this.#config.world;
    const { metadata } = await admin.resource(nodes).get(name);
    const value = metadata.annotations?.[Annotations.Preserve] === undefined ? PreserveValues.Now : null;
    const body = { metadata: { annotations: { [Annotations.Preserve]: value } } };
    return admin.resource(nodes).patch(name, { type: 'merge', body });
  }

  async #release(): Promise<void> {
    const { admin } = this.#config.world;
    const body = { metadata: { annotations: { [Annotations.Preserve]: null } } };
    for (const { metadata } of await this.#config.nodes()) {
      if (metadata.annotations?.[Annotations.Preserve] === undefined) continue;
      await admin.resource(nodes).patch(metadata.name, { type: 'merge', body });
    }
  }

  #disturb(act: 'harm' | 'silence' | 'expire', network: Network): void {
    const { clock } = this.#config.world;
    if (act === 'expire') this.#expire(network);
    if (act === 'silence') network.silence('manager');
    if (act !== 'harm') return;
    const chance = 0.1 + 0.1 * this.#dice.number(3);
    network.setFaultChances({
      conflict: chance,
      throttled: chance,
      internal: chance,
      lost: chance,
      'killed after': 0.02,
    });
    clock.setTimeout(() => network.setFaultChances({}), 2 * MINUTE);
  }

  #expire(network: Network): void {
    if (this.#compacts) network.outdate('manager');
    else network.expire('manager');
  }

  async #limit(limit: number): Promise<unknown> {
    const last = this.#limits.at(-1);
    if (last) last.until = this.#config.world.clock.now().getTime();
    this.#limits.push({ limit, until: Number.POSITIVE_INFINITY });
    return this.#patchPool({ maxUnavailable: limit });
  }

  async #pool(): Promise<boolean> {
    const { items } = await this.#config.world.admin.resource(machineConfigPools).list();
    return items.some(({ metadata }) => metadata.name === 'workers');
  }

  async #toggle(): Promise<unknown> {
    this.#verifier.forget();
    if (await this.#pool()) return this.#config.world.admin.resource(machineConfigPools).delete('workers');
    return this.#config.createPool('workers', { machineRef: REF, maxUnavailable: this.#limits.at(-1)?.limit ?? 1 });
  }

  async #mend(): Promise<void> {
    const { world, network } = this.#config;
    world.reporter.note('act', 'the simulation ends all faults');
    network.calm();
    world.network.calm();
    network.expire('manager');
    await this.#release();
    if (!(await this.#pool())) await this.#toggle();
    await this.#patchPool({ paused: false });
    this.#written += 1;
    await this.#config.change({ files: [fileOf('/etc/a', 'good')] });
    await this.#patchPool({ updateStrategy: 'InPlaceElseReplace' });
  }

  async #verifyEnd(): Promise<void> {
    const { world } = this.#config;
    try {
      await world.clock.advance(MINUTE);
      await world.until(() => this.#isHealed(), BOUNDS.healed.ms);
      await world.untilSettled(this.#replicas, this.#class);
    } catch (error) {
      world.reporter.violate(`the pools did not recover: ${await this.#standing()}: ${String(error).slice(0, 200)}`);
      return;
    }
    await world.clock.advance(BOUNDS.poolQuiet.ms);
    const before = world.reporter.history.length;
    await world.clock.advance(BOUNDS.poolQuiet.ms);
    const writes = world.reporter.history
      .slice(before)
      .flatMap(({ text }) =>
        /^machine-config-controller (create|update|patch|delete) (?!leases)/.test(text) ? [text] : [],
      );
    if (writes.length > 0)
      world.reporter.violate(`the controllers sent writes that change nothing: ${[...new Set(writes)].join('; ')}`);
  }

  async #isHealed(): Promise<boolean> {
    const pool = await this.#config.pool();
    const target = pool.spec?.configuration?.name;
    const all = await this.#config.nodes();
    return (
      conditionOf(pool.status?.conditions, 'Updated')?.status === 'True' &&
      pool.status?.machineCount === this.#replicas &&
      all.length === this.#replicas &&
      all.every((node) => !isBusy(node) && annotation(node, CurrentConfig) === target) &&
      (await this.#config.deployment()).spec.paused !== true
    );
  }

  async #standing(): Promise<string> {
    const { spec, status } = await this.#config.pool();
    const all = (await this.#config.nodes()).map((node) => [
      ...[
        node.metadata.name,
        annotation(node, CurrentConfig),
        annotation(node, DesiredConfig),
        annotation(node, State),
      ],
      ...[node.spec?.unschedulable ?? false, annotation(node, NodeAnnotations.Reason)],
    ]);
    const machines = (await this.#config.world.machines()).map(({ metadata, status: one }) => [
      ...[
        metadata.name,
        metadata.labels?.[Labels.Node] ?? '',
        one?.currentStatus?.phase ?? '',
        metadata.deletionTimestamp ?? '',
      ],
    ]);
    const { items } = await this.#config.world.admin.resource(machineConfigs).list();
    return JSON.stringify([spec?.configuration?.name, status?.conditions, all, machines, items.length]);
  }

  end(): void {
    this.#stop.abort();
  }
}

/**
 * Runs a history with a pool of machines.
 * @param broken a defect of the leader election
 */
export async function playPool(
  mode: PoolMode,
  options: HistoryOptions,
  broken: Pick<ConfigControllersOptions, 'unfenced'> = {},
): Promise<Outcome> {
  const { seed, profile } = options;
  const dice = new Dice(seed);
  const updateStrategy = dice.one(STRATEGIES) ?? 'InPlace';
  const raises = seed % RAISES_LIMIT.every === RAISES_LIMIT.remainder;
  const drawn = dice.number(3);
  const haltDegraded = raises ? 1 : drawn;
  const configDelay = 1_000 * (1 + dice.number(60));
  const skew = () => dice.number(2 * SKEW_MS) - SKEW_MS;
  const peers = mode === 'config-leases' ? { elections: true, skewMs: [skew(), skew()] } : {};
  const config = await ConfigWorld.start(
    { machineRef: REF, maxUnavailable: 1, updateStrategy },
    { seed, profile, kubelets: { configDelay }, configControllers: { haltDegraded, ...peers, ...broken } },
  );
  const { reporter } = config.world;
  const acts = raises ? [...ACTS_OF[mode], ...BREAKER_ACTS] : ACTS_OF[mode];
  const history = new PoolHistory(config, dice, acts, options);
  try {
    const played = history.play(haltDegraded).catch((error: unknown) => reporter.violate(String(error)));
    await reporter.until(played, options);
    return {
      violations: [...config.world.violations],
      story: reporter.tell(),
      history: JSON.stringify(reporter.history),
      plan: history.plan,
    };
  } finally {
    history.end();
    await config.close();
  }
}
