import { Annotations, Labels, type MachineDeployment, machineDeployments } from '@mcm/api';
import { ignoreNotFound, nodes } from '@mcm/kube';
import type { Instance, KubeletBehaviour } from '@mcm/provider-local';
import type { Caller } from '../network/network.ts';
import { type Draw, drawFaultChances, faultyCloud, lostVm } from '../network/random-faults.ts';
import type { Feature } from '../opt-in/feature.ts';
import { BOUNDS } from '../record/bounds.ts';
import { Dice } from '../script/dice.ts';
import { type Plan, Script } from '../script/script.ts';
import type { DriftVerifier } from '../verifiers/drift-verifier.ts';
import type { HookVerifier } from '../verifiers/hook-verifier.ts';
import type { InterruptionVerifier } from '../verifiers/interruption-verifier.ts';
import type { KeptUpdateVerifier } from '../verifiers/kept-update-verifier.ts';
import { ZONES, type ZoneVerifier } from '../verifiers/zone-verifier.ts';
import { createCrd, deleteCrd, EXCHANGED, exchangeVersion, isGone } from '../world/crd-exchange.ts';
import { DEPLOYMENT } from '../world/fleet.ts';
import { NAMESPACE, type ProcessName, type Wanted, type World } from '../world/world.ts';
import { MOST_WARM } from '../world/world-options.ts';
import { runCloudNodes } from './cloud-nodes.ts';
import type { FleetPools } from './fleet-pools.ts';
import { type FleetMode, isPlainMode, strategyOf } from './modes.ts';
import type { HistoryOptions } from './outcome.ts';
import type { Restores } from './restores.ts';

const MAX_ACTS = 10;
const MAX_REPLICAS = 4;
const MAX_SICK_REPLICAS = 7;
const MAX_LARGE_REPLICAS = 10;
const MAX_ZONE_REPLICAS = 7;
const MAX_PAUSE_MS = 60_000;

const MAX_ROLL_MS = 30_000;
/** After a longer outage, a controller lists its objects again in any case, so a compaction would test nothing. */
const MAX_GAP_MS = 25_000;
const LULL_MS = 900_000;

const SELECT_EVERY_MS = 60_000;

const DEPLOYMENTS_CRD = 'machinedeployments.machine.sapcloud.io';

const PROCESSES: readonly ProcessName[] = ['manager', 'machine-controller'];
const GROUPS: readonly (readonly Caller[])[] = [
  ['manager'],
  ['machine-controller'],
  ['manager', 'machine-controller'],
  ['manager', 'machine-controller', 'kubelets'],
];

const OFTEN = ['scale', 'roll', 'delete', 'faulty cloud'] as const;
const MISFORTUNES = [
  ...['cut', 'silence', 'boots', 'silent kubelet', 'lost VM', 'endanger', 'endanger', 'kill', 'kill', 'restart cloud'],
] as const;
const FREEZES = ['freeze', 'freeze', 'freeze', 'freeze', 'freeze', 'freeze'] as const;
const LEASE_ACTS = [...OFTEN, ...FREEZES, ...FREEZES, ...MISFORTUNES] as const;
const CRD_ACTS = [...OFTEN, ...MISFORTUNES, ...Array<'exchange'>(6).fill('exchange'), 'delete CRD'] as const;
const DISK_ACTS = [
  ...[...OFTEN, ...OFTEN, ...MISFORTUNES, ...Array<'restart cloud'>(6).fill('restart cloud')],
  ...([
    'crash plane',
    'crash plane',
    'crash plane',
    'crash plane',
    'crash plane',
    'crash plane',
    'compact',
    'compact',
  ] as const),
] as const;
const INTERRUPTION_ACTS = [...OFTEN, ...OFTEN, ...MISFORTUNES, ...Array<'interrupt'>(14).fill('interrupt')] as const;
const CAPACITY_ACTS = [...OFTEN, ...OFTEN, ...MISFORTUNES, ...Array<'empty'>(14).fill('empty')] as const;
const ZONE_ACTS = [
  ...([...OFTEN, ...OFTEN, ...MISFORTUNES, 'scale', 'scale'] as const),
  ...(['evacuate', 'evacuate', 'evacuate', 'evacuate', 'lose zone', 'lose zone', 'lose zone'] as const),
  ...(['evacuate full', 'evacuate full', 'evacuate full'] as const),
] as const;
const HOOK_ACTS = [
  ...[...OFTEN, ...OFTEN, ...OFTEN, ...MISFORTUNES.filter((act) => act !== 'lost VM')],
  ...Array<'owners away'>(8).fill('owners away'),
] as const;
const RESTORE_ACTS = [
  ...[...OFTEN, ...OFTEN, ...MISFORTUNES.filter((act) => act !== 'lost VM')],
  ...(['back up', 'back up', 'back up', ...Array<'restore'>(8).fill('restore')] as const),
] as const;
const WARM = ['warm', 'warm', 'refuse starts', 'refuse starts', 'refuse starts'] as const;
const WARM_ACTS = [...OFTEN, ...OFTEN, ...OFTEN, ...MISFORTUNES, ...WARM] as const;
const FEATURE_ACTS = [...OFTEN, ...OFTEN, ...MISFORTUNES, ...Array<'feature'>(14).fill('feature')] as const;
const REPORT_ACTS = [
  ...[...OFTEN, ...OFTEN, ...MISFORTUNES, ...OFTEN],
  ...[...Array<'sicken'>(10).fill('sicken'), ...Array<'feature'>(4).fill('feature')],
] as const;
const POOL_ACTS = ['configure', 'configure', 'direct', 'kill config'] as const;
const LARGE_ACTS = [
  ...[...OFTEN, ...OFTEN, ...OFTEN, ...MISFORTUNES, ...POOL_ACTS, ...POOL_ACTS, ...Array<'sicken'>(6).fill('sicken')],
] as const;
type ActName =
  | (typeof LEASE_ACTS)[number]
  | (typeof CRD_ACTS)[number]
  | (typeof LARGE_ACTS)[number]
  | (typeof RESTORE_ACTS)[number]
  | (typeof DISK_ACTS)[number]
  | (
      | 'agents'
      | 'select'
      | 'pause again'
      | 'postpone'
      | 'interrupt'
      | 'empty'
      | 'warm'
      | 'refuse starts'
      | 'evacuate'
      | 'lose zone'
      | 'evacuate full'
      | 'relabel'
      | 'owners away'
      | 'feature'
    );

const ACTS_OF: Readonly<Partial<Record<FleetMode, readonly ActName[]>>> = {
  leases: LEASE_ACTS,
  crds: CRD_ACTS,
  disks: DISK_ACTS,
  restores: RESTORE_ACTS,
  large: LARGE_ACTS,
  interruptions: INTERRUPTION_ACTS,
  capacity: CAPACITY_ACTS,
  warm: WARM_ACTS,
  zones: ZONE_ACTS,
  hooks: HOOK_ACTS,
  canary: FEATURE_ACTS,
  buffers: FEATURE_ACTS,
  budgets: FEATURE_ACTS,
  journal: FEATURE_ACTS,
  reports: REPORT_ACTS,
};

type Wish = { -readonly [key in keyof Wanted]-?: Wanted[key] };
const MORE_FLEETS = [
  ['builders', 3],
  ['runners', 5],
  ['caches', 6],
  ['gateways', 8],
] as const;

export const LARGE_FLEETS: readonly string[] = [DEPLOYMENT, ...MORE_FLEETS.map(([name]) => name)];

/** A fleet with random actions that the seed determines. */
export class RandomHistory {
  readonly #world: World;
  readonly #seed: number;
  readonly #dice: Dice;
  readonly #wanted: Wish[] = [{ name: DEPLOYMENT, replicas: 2, machineClass: 'blue' }];
  readonly #classes: readonly string[];
  readonly #maxReplicas: number;
  #silenced = false;
  #lost = 0;
  readonly #sick: boolean;
  readonly #inPlace: boolean;
  readonly #byHand: boolean;
  readonly #pauses: boolean;
  readonly #windows: boolean;
  readonly #script: Script;
  readonly #pools: FleetPools | undefined;
  readonly #interruptions: InterruptionVerifier | undefined;
  readonly #zones: ZoneVerifier | undefined;
  readonly #hooks: HookVerifier | undefined;
  readonly #restores: Restores | undefined;
  readonly #keptUpdates: KeptUpdateVerifier | undefined;
  readonly #drift: DriftVerifier | undefined;
  readonly #feature: Feature | undefined;

  constructor(
    world: World,
    mode: FleetMode,
    { seed, plan }: HistoryOptions,
    {
      pools,
      interruptions,
      zones,
      hooks,
      restores,
      keptUpdates,
      drift,
      feature,
    }: {
      readonly pools?: FleetPools | undefined;
      readonly interruptions?: InterruptionVerifier | undefined;
      readonly zones?: ZoneVerifier | undefined;
      readonly hooks?: HookVerifier | undefined;
      readonly restores?: Restores | undefined;
      readonly keptUpdates?: KeptUpdateVerifier | undefined;
      readonly drift?: DriftVerifier | undefined;
      readonly feature?: Feature | undefined;
    },
  ) {
    this.#world = world;
    this.#pools = pools;
    this.#interruptions = interruptions;
    this.#zones = zones;
    this.#hooks = hooks;
    this.#restores = restores;
    this.#keptUpdates = keptUpdates;
    this.#drift = drift;
    this.#feature = feature;
    this.#seed = seed;
    this.#dice = new Dice(seed + 1_000_000);
    const inPlace = strategyOf(mode, seed).inPlace;
    this.#inPlace = inPlace !== undefined;
    this.#byHand = inPlace === 'Manual';
    this.#sick = !isPlainMode(mode);
    this.#pauses = mode === 'pauses';
    this.#windows = mode === 'windows';
    if (this.#pauses || this.#windows) this.#first.replicas = MAX_REPLICAS;
    const isLarge = mode === 'large';
    this.#classes = isLarge ? ['blue', 'green', 'red'] : ['blue', 'green'];
    const small = zones ? MAX_ZONE_REPLICAS : MAX_REPLICAS;
    this.#maxReplicas = isLarge ? MAX_LARGE_REPLICAS : this.#sick ? MAX_SICK_REPLICAS : small;
    if (zones) this.#first.replicas = MAX_ZONE_REPLICAS;
    if (isLarge)
      for (const [name, replicas] of MORE_FLEETS) this.#wanted.push({ name, replicas, machineClass: 'blue' });
    this.#script = new Script({
      dice: this.#dice,
      acts: ACTS_OF[mode] ?? this.#acts(seed),
      maxPauseMs: MAX_PAUSE_MS,
      wait: (ms) => world.clock.advance(ms),
      act: (name) => this.#act(name as ActName),
      plan,
    });
  }

  #acts(seed: number): readonly ActName[] {
    const relabels = Array<'relabel'>(this.#drift ? 14 : 0).fill('relabel');
    if (!this.#sick) return [...OFTEN, ...OFTEN, ...MISFORTUNES, ...relabels];
    const agents: readonly ActName[] = this.#keptUpdates ? ['agents', 'agents'] : ['agents'];
    const more: readonly ActName[] = this.#inPlace ? ['sicken', ...agents, 'select'] : ['sicken'];
    const sick = Array.from(
      { length: this.#keptUpdates ? 32 : 12 },
      (_, index) => more[index % more.length] ?? 'sicken',
    );
    const postpone = Array<'postpone'>(6).fill('postpone');
    if (this.#windows) return [...OFTEN, 'roll', 'roll', ...MISFORTUNES, ...sick, ...postpone];
    if (!this.#pauses) return [...OFTEN, ...OFTEN, ...MISFORTUNES, ...OFTEN, ...sick];
    return [...MISFORTUNES, ...sick, ...OFTEN.slice(seed % 2 === 0 ? 1 : 0), 'pause again', 'pause again'];
  }

  get plan(): Plan {
    return this.#script.plan;
  }

  async run(): Promise<void> {
    for (const { name, replicas } of this.#wanted) await this.#world.createDeployment(replicas, name);
    if (this.#inPlace) await this.#beginUpdate();
    if (this.#pauses) await this.#beginPause();
    if (this.#windows) await this.#beginRollout();
    if (this.#restores) await this.#beginBackup();
    await this.#script.play(1 + this.#dice.number(MAX_ACTS));
    await this.#calm();
  }

  async #act(name: ActName): Promise<void> {
    const acts: Readonly<Record<ActName, () => Promise<void> | void>> = {
      scale: () => this.#scale(),
      roll: () => this.#roll(),
      delete: () => this.#deleteByHand(),
      'faulty cloud': () => this.#faultyCloud(),
      cut: () => this.#cut(),
      silence: () => this.#silence(),
      boots: () => this.#boots(),
      'silent kubelet': () => this.#silentKubelet(),
      'lost VM': () => this.#lostVm(),
      endanger: () => this.#endanger(),
      kill: () => this.#kill(),
      freeze: () => this.#freeze(),
      'restart cloud': () => this.#restartCloud(),
      'crash plane': () => this.#crashPlane(),
      compact: () => this.#compact(),
      sicken: () => this.#sicken(),
      agents: () => this.#agents(),
      select: () => this.#select(),
      'pause again': () => this.#pauseAgain(),
      postpone: () => this.#postpone(),
      interrupt: () => this.#interrupt(),
      empty: () => this.#empty(),
      warm: () => this.#warm(),
      'refuse starts': () => this.#refuseStarts(),
      evacuate: () => this.#evacuate(),
      relabel: () => this.#relabel(),
      'lose zone': () => this.#loseZone(),
      'evacuate full': () => this.#evacuateFull(),
      'owners away': () => this.#ownersAway(),
      feature: () => this.#featureAct(),
      exchange: () => this.#exchange(),
      'delete CRD': () => this.#deleteCrd(),
      configure: () => this.#pools?.change(),
      direct: () => this.#pools?.direct(),
      'kill config': () => this.#pools?.kill(),
      'back up': () => this.#restores?.backUp(this.#first),
      restore: () => this.#restores?.restore(this.#first),
    };
    await acts[name]();
  }

  /** The history must contain an in-place update, so it starts with one. */
  async #beginUpdate(): Promise<void> {
    const world = this.#world;
    await world.untilAllSettled(this.#wanted, BOUNDS.settled.ms);
    await this.#roll();
    if (this.#byHand) {
      await world.until(async () => (await this.#candidates()).length > 0);
      await this.#select();
    }
    await world.until(async () => world.reporter.selections > 0);
  }

  /** The history must contain a pause, so it starts with a pause of a rollout. */
  async #beginPause(): Promise<void> {
    const world = this.#world;
    if (!this.#inPlace) {
      await world.untilAllSettled(this.#wanted, BOUNDS.settled.ms);
      await this.#roll();
    }
    await world.clock.advance(this.#dice.number(MAX_ROLL_MS));
    await world.change({ paused: true });
  }

  /** The history must contain a rollout that a window delays, so it starts with a rollout. */
  async #beginRollout(): Promise<void> {
    await this.#world.untilAllSettled(this.#wanted, BOUNDS.settled.ms);
    await this.#roll();
  }

  /** A restore needs a backup, so the history starts with a backup. */
  async #beginBackup(): Promise<void> {
    const world = this.#world;
    const { replicas } = this.#first;
    if (!world.network.losesAnswers) await world.untilAllSettled(this.#wanted, BOUNDS.settled.ms);
    else await world.until(async () => (await world.machines()).length === replicas, BOUNDS.settled.ms);
    this.#restores?.backUp(this.#first);
  }

  async #postpone(): Promise<void> {
    const { admin, clock } = this.#world;
    const node = this.#dice.one((await admin.resource(nodes).list()).items)?.metadata.name;
    if (node === undefined) return;
    const ms = this.#dice.pause(1_200_000);
    this.#note(`Node ${node} postpones its update for ${ms} ms`);
    const label = (value: string | null) =>
      ignoreNotFound(
        admin.resource(nodes).patch(node, {
          type: 'merge',
          body: { metadata: { labels: { [Labels.RolloutPostpone]: value } } },
        }),
      );
    await label('true');
    clock.setTimeout(() => {
      void label(null).catch((error: unknown) => this.#world.reporter.violate(String(error)));
    }, ms);
  }

  async #interrupt(): Promise<void> {
    const vm = this.#anyVm();
    if (!vm || !this.#world.cloudRuns) return;
    const kind = this.#dice.one(['Terminate', 'Terminate', 'Terminate', 'Maintenance', 'Rebalance', 'Freeze'] as const);
    const noticeMs = this.#dice.one([30_000, 120_000, 120_000, 900_000]) ?? 0;
    this.#interruptions?.announce(vm, kind ?? 'Terminate', noticeMs);
    if (this.#dice.number(3) === 0) this.#interruptions?.announce(vm, kind ?? 'Terminate', noticeMs * 2);
  }

  /** Removes the capacity of one zone or of all zones for some time. */
  async #empty(): Promise<void> {
    const zone = this.#dice.one(['local-a', 'local-a', 'local-a', 'local-b', 'local-c', undefined]);
    const ms = this.#dice.pause(1_800_000);
    this.#note(`zone ${zone ?? 'every zone'} has no capacity for ${ms} ms`);
    const rule = { operation: 'instances.create', error: { code: 'InsufficientCapacity' } };
    const { faults } = this.#world.cloud;
    const { id } = faults.order(zone === undefined ? rule : { ...rule, zone });
    this.#later(ms, () => faults.cancel(id));
    await this.#dice.one([() => this.#scale(), () => this.#roll(), () => this.#deleteByHand()])?.();
  }

  async #warm(): Promise<void> {
    const number = this.#dice.number(MOST_WARM + 1);
    this.#note(`the user requests ${number} warm machines`);
    this.#world.wantsWarm = number;
    await this.#world.annotate({ [Annotations.WarmMachines]: String(number) });
  }

  /** For some time, the cloud cannot start stopped VMs while a set needs machines. */
  async #refuseStarts(): Promise<void> {
    const ms = this.#dice.pause(600_000);
    const code = this.#dice.one(['InsufficientCapacity', 'InternalError']) ?? '';
    this.#note(`the cloud starts no VM for ${ms} ms: ${code}`);
    const { faults } = this.#world.cloud;
    const { id } = faults.order({ operation: 'instances.start', error: { code } });
    this.#later(ms, () => faults.cancel(id));
    await this.#scale();
  }

  /** In every fourth history, the user evacuates two zones. */
  async #evacuate(): Promise<void> {
    const zone = this.#dice.one([...ZONES, undefined]);
    const zones = zone === undefined ? [] : this.#seed % 4 === 1 ? ZONES.filter((other) => other !== zone) : [zone];
    this.#note(zone === undefined ? 'the user returns all zones' : `the user evacuates ${zones.join(' and ')}`);
    await this.#zones?.evacuate(...zones);
  }

  /** Evacuates a zone while another zone has no capacity. */
  async #evacuateFull(): Promise<void> {
    const zone = this.#dice.one(ZONES);
    const full = this.#dice.one(ZONES.filter((each) => each !== zone));
    const ms = this.#dice.pause(3_600_000);
    this.#note(`the user evacuates ${zone ?? ''}, and zone ${full ?? ''} has no capacity for ${ms} ms`);
    const { faults } = this.#world.cloud;
    const rule = { operation: 'instances.create', zone: full ?? '', error: { code: 'InsufficientCapacity' } };
    const { id } = faults.order(rule);
    this.#later(ms, () => faults.cancel(id));
    await this.#zones?.evacuate(...(zone === undefined ? [] : [zone]));
    await this.#world.clock.advance(this.#dice.pause(ms));
  }

  /** For up to three hours, all kubelets of a zone stop, and the cloud creates no VM in the zone. */
  async #loseZone(): Promise<void> {
    const zone = this.#dice.one(ZONES) ?? '';
    const ms = this.#dice.pause(10_800_000);
    this.#note(`zone ${zone} fails for ${ms} ms`);
    if (!this.#world.cloudRuns) return;
    const { faults, instances } = this.#world.cloud;
    const { id } = faults.order({ operation: 'instances.create', zone, error: { code: 'InternalError' } });
    const lost = [...instances.list()].filter((vm) => vm.zone === zone);
    for (const vm of lost) this.#order(vm.id, { silent: true });
    this.#later(ms, () => {
      faults.cancel(id);
      for (const vm of lost) this.#order(vm.id, { silent: false });
    });
    if (this.#dice.number(2) === 0) await this.#scale();
    await this.#world.clock.advance(this.#dice.pause(ms));
  }

  async #ownersAway(): Promise<void> {
    const ms = this.#dice.pause(1_200_000);
    this.#note(`the owners of the hooks do not respond for ${ms} ms`);
    this.#hooks?.away(ms);
    await this.#dice.one([() => this.#scale(), () => this.#roll(), () => this.#deleteByHand()])?.();
  }

  async #featureAct(): Promise<void> {
    const { maxWaitMs = 0 } = this.#feature ?? {};
    await this.#feature?.act(this.#dice, this.#first);
    await this.#dice.one([() => this.#scale(), () => this.#roll(), () => this.#roll(), () => this.#deleteByHand()])?.();
    await this.#world.clock.advance(this.#dice.number(maxWaitMs));
  }

  async #pauseAgain(): Promise<void> {
    await this.#world.change({ paused: false });
    await this.#world.clock.advance(this.#dice.number(MAX_ROLL_MS));
    await this.#world.change({ paused: true });
  }

  /** Removes all faults from the simulation. */
  async #calm(): Promise<void> {
    const world = this.#world;
    this.#note('all faults end');
    world.network.calm();
    await this.#pools?.mend();
    // The cloud may need some time to start.
    await world.clock.advance(30_000);
    world.cloud.faults.clear();
    for (const { id } of world.cloud.instances.list()) {
      world.cloud.kubelets.order(id, { silent: false, update: 'succeed' });
    }
    if (this.#keptUpdates) {
      await world.clock.advance(LULL_MS);
      await this.#keptUpdates.release();
    }
    if (this.#pauses) {
      await world.clock.advance(LULL_MS);
      await world.change({ paused: false });
    }
    if (this.#windows) {
      await world.clock.advance(LULL_MS);
      const body = { metadata: { annotations: { [Annotations.RolloutOpenUntil]: '2100-01-01T00:00:00Z' } } };
      const deployments = world.admin.resource<MachineDeployment>(machineDeployments, NAMESPACE);
      for (const { name } of this.#wanted) await deployments.patch(name, { type: 'merge', body });
    }
    await this.#zones?.evacuate();
    this.#hooks?.away(0);
    await this.#feature?.calm(this.#first);
    if (this.#byHand) this.#selectAgainAndAgain();
    this.#restores?.operate();
    const stopNodes = runCloudNodes(world);
    if (this.#silenced || world.network.silencesWatches) await world.clock.advance(BOUNDS.reopened.ms);
    await world.untilAllSettled(this.#wanted, BOUNDS.settled.ms);
    this.#restores?.rest();
    stopNodes();
    await this.#interruptions?.verifyTimely();
    await this.#feature?.verifyTimely(this.#first);
    await this.#zones?.untilOpen();
    await this.#zones?.untilBalanced();
    await world.untilAllSettled(this.#wanted, BOUNDS.settled.ms);
    await this.#pools?.untilUpdated();
    await world.clock.advance(BOUNDS.lastWrites.ms);
    const written = world.writes.length;
    await world.clock.advance(BOUNDS.quiet.ms);
    for (const write of world.writes.slice(written))
      world.reporter.violate(`a controller sent a write although nothing had to change: ${write}`);
    await world.untilAllSettled(this.#wanted, 1);
    await world.verifySchedulable();
    await this.#zones?.verifyBalance();
    await this.#drift?.verifyEnd();
    await this.#feature?.verifyEnd(this.#first);
    await world.verifyDisk();
  }

  /** Adds a version to a CRD, or removes a version. */
  async #exchange(): Promise<void> {
    const name = this.#dice.one(EXCHANGED) ?? '';
    this.#note(`the simulation adds or removes a version of CRD ${name}`);
    await exchangeVersion(this.#world.admin, name);
  }

  /** Deletes the CRD of the deployments and, with it, the fleet. */
  async #deleteCrd(): Promise<void> {
    const { admin } = this.#world;
    this.#note(`${DEPLOYMENTS_CRD} is deleted`);
    for (const { name } of this.#wanted) this.#world.expectsNone(name);
    await deleteCrd(admin, DEPLOYMENTS_CRD);
    await this.#world.until(() => isGone(admin, DEPLOYMENTS_CRD));
    await this.#world.clock.advance(this.#dice.pause(MAX_PAUSE_MS));
    this.#note(`the user creates CRD ${DEPLOYMENTS_CRD} again`);
    await createCrd(admin, DEPLOYMENTS_CRD);
    for (const fleet of this.#wanted) {
      await this.#world.createDeployment(fleet.replicas, fleet.name);
      fleet.machineClass = 'blue';
    }
  }

  #note(text: string): void {
    this.#world.reporter.note('act', text);
  }

  get #draw(): Draw {
    return { dice: this.#dice, cloud: this.#world.cloud, note: (text) => this.#note(text) };
  }

  #later(ms: number, act: () => void): void {
    this.#world.clock.setTimeout(act, ms);
  }

  async #scale(): Promise<void> {
    const fleet = this.#fleet();
    fleet.replicas = this.#dice.number(this.#maxReplicas + 1);
    await this.#world.change({ replicas: fleet.replicas }, fleet.name);
  }

  async #roll(): Promise<void> {
    const fleet = this.#fleet();
    const next = this.#classes.indexOf(fleet.machineClass) + 1;
    fleet.machineClass = this.#classes[next % this.#classes.length] ?? fleet.machineClass;
    await this.#world.change({ template: { spec: { class: { name: fleet.machineClass } } } }, fleet.name);
  }

  get #first(): Wish {
    return this.#wanted[0] as Wish;
  }

  #fleet(): Wish {
    return (this.#wanted.length > 1 ? this.#dice.one(this.#wanted) : undefined) ?? this.#first;
  }

  async #deleteByHand(): Promise<void> {
    const machine = this.#dice.one(await this.#world.machines());
    if (machine && !machine.metadata.deletionTimestamp) await this.#world.deleteMachine(machine.metadata.name);
  }

  async #sicken(): Promise<void> {
    const well = (await this.#world.machines()).filter(
      ({ metadata, status }) => !metadata.deletionTimestamp && status?.currentStatus?.phase === 'Running',
    );
    for (const { metadata } of well.slice(0, 1 + this.#dice.number(3))) await this.#world.failMachine(metadata.name);
  }

  async #relabel(): Promise<void> {
    const node = this.#dice.one(await this.#world.nodeNames());
    if (node !== undefined) await this.#drift?.change(node, this.#dice.number(1_000));
  }

  /** Starts a rollout while all agents fail for up to one hour. */
  async #failUpdates(): Promise<void> {
    const ms = this.#dice.pause(3_600_000);
    this.#note(`the updates of all agents fail for ${ms} ms`);
    const vms = [...this.#world.cloud.instances.list()];
    for (const { id } of vms) this.#order(id, { update: 'fail' });
    this.#later(ms, () => {
      for (const { id } of vms) this.#order(id, { update: 'succeed' });
    });
    await this.#roll();
    await this.#world.clock.advance(this.#dice.pause(ms));
  }

  /** Makes the agents of some nodes fail or stop for some time. */
  async #agents(): Promise<void> {
    if (this.#keptUpdates && this.#dice.number(4) > 0) return this.#failUpdates();
    const vm = this.#anyVm();
    const update = this.#dice.one(['fail', 'hang'] as const);
    if (!vm || !update) return;
    const ms = this.#dice.pause(600_000);
    this.#note(`the agent of ${vm.name} will ${update} for ${ms} ms`);
    this.#order(vm.id, { update });
    this.#later(ms, () => this.#order(vm.id, { update: 'succeed' }));
  }

  /** Selects a node for an update, as a user does. mcm may select nodes too. */
  async #select(): Promise<void> {
    const node = this.#dice.one(await this.#candidates());
    if (node !== undefined && this.#byHand) await this.#mark(node);
  }

  async #candidates(): Promise<string[]> {
    const { items } = await this.#world.admin.resource(nodes).list();
    return items
      .filter(({ metadata: { labels = {} } }) => labels[Labels.CandidateForUpdate] && !labels[Labels.SelectedForUpdate])
      .map(({ metadata }) => metadata.name);
  }

  async #mark(node: string): Promise<void> {
    this.#note(`the user selects node ${node} for an update`);
    const body = { metadata: { labels: { [Labels.SelectedForUpdate]: 'true' } } };
    await this.#world.admin.resource(nodes).patch(node, { type: 'merge', body });
  }

  #selectAgainAndAgain(): void {
    this.#later(SELECT_EVERY_MS, () => {
      const select = async () => {
        for (const node of await this.#candidates()) await this.#mark(node);
      };
      void select().then(
        () => this.#selectAgainAndAgain(),
        (error: unknown) => this.#world.reporter.violate(String(error)),
      );
    });
  }

  #faultyCloud(): void {
    faultyCloud(this.#draw);
  }

  #cut(): void {
    const callers = this.#dice.one(GROUPS) ?? [];
    const ms = this.#dice.pause(120_000);
    this.#note(`the API server is unreachable for ${callers.join(', ')} for ${ms} ms`);
    this.#world.network.cut(...callers);
    this.#later(ms, () => this.#world.network.mend());
  }

  #silence(): void {
    const caller = this.#dice.one(PROCESSES) ?? 'manager';
    this.#note(`the watches of ${caller} receive no further events`);
    this.#silenced = true;
    this.#world.network.silence(caller);
  }

  #boots(): void {
    const kubelet = this.#dice.one([
      { join: 'never' as const },
      { joinDelay: 90_000 },
      { readyDelay: 90_000 },
      { joinDelay: 400_000 },
    ]);
    if (!kubelet) return;
    this.#note(`the next VM boots with ${JSON.stringify(kubelet)}`);
    this.#world.cloud.faults.order({ operation: 'instances.boot', kubelet, count: 1 });
  }

  #silentKubelet(): void {
    const vm = this.#anyVm();
    if (!vm) return;
    const ms = this.#dice.pause(900_000);
    this.#note(`the kubelet of ${vm.name} stops reporting for ${ms} ms`);
    this.#order(vm.id, { silent: true });
    this.#later(ms, () => this.#order(vm.id, { silent: false }));
  }

  #lostVm(): void {
    // If a small fleet loses most of its machines, the circuit breaker opens, and mcm replaces none until an operator
    // acts.
    if (this.#pauses && this.#lost > 0) return;
    this.#lost++;
    if (this.#world.cloudRuns) lostVm(this.#draw);
  }

  #anyVm(): Instance | undefined {
    return this.#dice.one([...this.#world.cloud.instances.list()]);
  }

  /** Changes the behavior of a simulated kubelet. */
  #order(id: string, behaviour: KubeletBehaviour): void {
    if (this.#world.cloudRuns) this.#world.cloud.kubelets.order(id, behaviour);
  }

  #endanger(): void {
    const { chances, ms } = drawFaultChances(this.#draw);
    this.#world.network.setFaultChances(chances);
    this.#later(ms, () => this.#world.network.setFaultChances({}));
  }

  #kill(): void {
    const victims = this.#dice.one([...PROCESSES.map((name) => [name]), PROCESSES]) ?? [];
    for (const victim of victims) this.#world.kill(victim);
  }

  /** Freezes a process, usually for longer than the duration of its Lease. */
  async #freeze(): Promise<void> {
    await this.#dice.one([() => this.#scale(), () => this.#roll(), () => this.#deleteByHand()])?.();
    await this.#world.clock.advance(this.#dice.pause(4_000));
    const victims = this.#dice.one([...PROCESSES.map((name) => [name]), PROCESSES]) ?? [];
    const ms = 10_000 + this.#dice.number(30_000);
    for (const victim of victims) this.#world.freeze(victim, ms);
    if (this.#dice.number(2) === 0) return;
    await this.#world.clock.advance(this.#dice.number(ms));
    await this.#dice.one([() => this.#scale(), () => this.#roll(), () => this.#deleteByHand()])?.();
  }

  /** Crashes the control plane while controllers are working. */
  async #crashPlane(): Promise<void> {
    await this.#dice.one([() => this.#scale(), () => this.#roll(), () => this.#deleteByHand()])?.();
    await this.#world.clock.advance(this.#dice.pause(4_000));
    const ms = this.#dice.pause(60_000);
    this.#note(`the control plane crashes and is unreachable for ${ms} ms`);
    await this.#world.crashPlane(ms);
  }

  /** Compacts the history of the API server while controllers are not connected, so their next watches fail. */
  async #compact(): Promise<void> {
    const world = this.#world;
    const callers = this.#dice.one(GROUPS) ?? [];
    const ms = this.#dice.pause(MAX_GAP_MS);
    this.#note(`the API server is unreachable for ${callers.join(', ')} for ${ms} ms, and compacts its history`);
    world.network.cut(...callers);
    await this.#dice.one([() => this.#scale(), () => this.#roll(), () => this.#deleteByHand()])?.();
    await world.clock.advance(ms);
    world.compact();
    world.network.mend();
  }

  async #restartCloud(): Promise<void> {
    await this.#world.verifyDisk();
    const ms = this.#dice.pause(30_000);
    this.#note(`the cloud restarts and is unreachable for ${ms} ms`);
    this.#world.restartCloud(ms);
  }
}
