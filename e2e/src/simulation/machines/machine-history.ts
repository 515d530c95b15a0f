import type { Machine } from '@mcm/api';
import type { FaultRule, OrderedFault } from '@mcm/provider-local';
import { compactsHistory } from '../histories/modes.ts';
import type { HistoryOptions, Outcome } from '../histories/outcome.ts';
import { type Draw, drawFaultChances, type FailingOperation, faultyCloud, lostVm } from '../network/random-faults.ts';
import { Dice } from '../script/dice.ts';
import { type Plan, Script } from '../script/script.ts';
import { type FaultTally, tallyFaults } from './fault-tally.ts';
import { FinalChecks } from './final-checks.ts';
import type { FirstFault, FirstFaultAct } from './first-fault.ts';
import { LOST_AFTER_MS } from './hollow-nodes.ts';
import { isForced } from './machine-verifier.ts';
import { type Defect, HEALTH_TIMEOUT_MS, MachineWorld } from './machine-world.ts';

const MAX_ACTS = 12;
const MAX_MACHINES = 4;
const MAX_APPS = 2;
const MAX_PAUSE_MS = 40_000;
const MINUTE = 60_000;

/** The kinds whose reads a role can forbid, with the paths of their requests. */
const UNREADABLE = [
  ['nodes', /\/nodes$/],
  ['pods', /\/pods$/],
] as const;

const FIRST_FAULT_JUMP_MS = 90_000;

const FORBIDDEN_MS = 60_000;

const FIRST_FAULT_CHANCE = 0.4;
const FIRST_FAULT_MS = 20_000;

const INTERNAL_ERROR = { error: { code: 'InternalError' } } as const;

const OFTEN = ['create', 'delete', 'delete', 'faulty cloud'] as const;
/** The random actions of a history. */
const ACTS = [
  ...OFTEN,
  ...OFTEN,
  ...['app', 'app', 'budget', 'budget', 'force', 'cut', 'silence', 'expire', 'boots', 'silent kubelet', 'lost VM'],
  ...['endanger', 'endanger', 'kill', 'two controllers', 'clock jump'],
  ...['lose machine', 'delete node', 'forbid', 'other finalizer'],
  ...['lost creation', 'stale health', 'unseen node', 'silent kubelets'],
] as const;
/** The random actions of a history in which drains share a limit for volumes. */
const PACED_ACTS = [...ACTS, ...Array<'drain all'>(10).fill('drain all')] as const;
type ActName = (typeof PACED_ACTS)[number];

const isGoing = ({ metadata }: Machine): boolean => metadata.deletionTimestamp !== undefined;

/** Machines with pods, and random actions that the seed determines. */
class MachineHistory {
  readonly #world: MachineWorld;
  readonly #dice: Dice;
  readonly #script: Script;
  readonly ordered: OrderedFault[] = [];
  #named = 0;
  #silenced = false;
  #cutMs = 0;
  readonly #compacts: boolean;
  readonly #isPaced: boolean;

  constructor(world: MachineWorld, { seed, plan, volumeLimit }: MachineHistoryOptions) {
    this.#world = world;
    this.#isPaced = volumeLimit !== undefined;
    this.#compacts = compactsHistory(seed);
    this.#dice = new Dice(seed + 2_000_000);
    this.#script = new Script({
      dice: this.#dice,
      acts: this.#isPaced ? PACED_ACTS : ACTS,
      maxPauseMs: MAX_PAUSE_MS,
      wait: (ms) => world.clock.advance(ms),
      act: (name) => this.#act(name as ActName),
      plan,
    });
  }

  get plan(): Plan {
    return this.#script.plan;
  }

  async run(firstFault?: FirstFault): Promise<void> {
    await this.#create();
    await this.#create();
    await this.#app();
    if (this.#isPaced) await this.#drainAll();
    if (firstFault) await this.#firstFault(firstFault);
    await this.#script.play(1 + this.#dice.number(MAX_ACTS));
    this.#note('all faults end');
    await new FinalChecks(this.#world).verify(this.#silenced, this.#cutMs);
  }

  async #act(name: ActName): Promise<void> {
    const acts: Readonly<Record<ActName, () => Promise<void> | void>> = {
      create: () => this.#create(),
      delete: () => this.#delete(),
      'faulty cloud': () => this.#faultyCloud(),
      app: () => this.#app(),
      budget: () => this.#budget(),
      force: () => this.#force(),
      cut: () => this.#cut(),
      silence: () => this.#silence(),
      expire: () => this.#expire(),
      boots: () => this.#boots(),
      'silent kubelet': () => this.#silentKubelet(),
      'lost VM': () => this.#lostVm(),
      endanger: () => this.#endanger(),
      kill: () => this.#kill(),
      'two controllers': () => this.#twoControllers(),
      'clock jump': () => this.#clockJump(),
      'lose machine': () => this.#loseMachine(),
      'delete node': () => this.#deleteNode(),
      forbid: () => this.#forbid(),
      'other finalizer': () => this.#otherFinalizer(),
      'lost creation': () => this.#lostCreation(),
      'stale health': () => this.#staleHealth(),
      'unseen node': () => this.#unseenNode(),
      'silent kubelets': () => this.#silentKubelets(),
      'drain all': () => this.#drainAll(),
    };
    await acts[name]();
  }

  #note(text: string): void {
    this.#world.reporter.note('act', text);
  }

  get #draw(): Draw {
    return { dice: this.#dice, cloud: this.#world.cloud, note: (text) => this.#note(text) };
  }

  async #create(): Promise<void> {
    if (this.#world.machines().length >= MAX_MACHINES) return;
    this.#named += 1;
    await this.#world.createMachine(`m${this.#named}`);
  }

  async #delete(): Promise<void> {
    const machine = this.#dice.one(this.#world.machines());
    if (machine && !isGoing(machine)) await this.#world.deleteMachine(machine.metadata.name);
  }

  /** Creates a StatefulSet with pods on all machines, and deletes these machines at the same time. */
  async #drainAll(): Promise<void> {
    const world = this.#world;
    for (let count = world.machines().length; count < MAX_MACHINES; count += 1) await this.#create();
    if (!world.apps.has('stateful')) {
      await world.clock.advance(5_000);
      const app = { name: 'stateful', replicas: 6, volumes: true, minAvailable: undefined, spread: true };
      await world.createApp(app);
    }
    await world.clock.advance(10_000 + this.#dice.pause(MINUTE));
    for (const { metadata } of world.machines().filter((machine) => !isGoing(machine)))
      await world.deleteMachine(metadata.name);
    await this.#create();
    await this.#create();
    await world.clock.advance(this.#dice.pause(MINUTE));
  }

  async #force(): Promise<void> {
    const machine = this.#dice.one(this.#world.machines().filter(isGoing));
    // If the Secret is not usable, `force-deletion` does not delete the VM.
    if (machine && !this.#world.secretIsBroken)
      await this.#world.labelMachine(machine.metadata.name, { 'force-deletion': 'true' });
  }

  async #app(): Promise<void> {
    const { apps } = this.#world;
    if (apps.size >= MAX_APPS) return;
    const replicas = 1 + this.#dice.number(3);
    const budget = this.#dice.number(3);
    const minAvailable = budget === 0 ? undefined : budget === 1 ? replicas : replicas - 1;
    await this.#world.createApp({
      name: `app${apps.size}`,
      replicas,
      volumes: this.#dice.number(2) === 0,
      minAvailable,
    });
  }

  async #budget(): Promise<void> {
    const app = this.#dice.one([...this.#world.apps.values()]);
    if (app) await this.#world.setBudget(app, this.#dice.number(app.replicas + 1));
  }

  #faultyCloud(): void {
    this.ordered.push(faultyCloud(this.#draw));
  }

  async #firstFault(firstFault: FirstFault): Promise<void> {
    const { clock, cloud, network } = this.#world;
    await clock.advance(5_000);
    this.#note(`first fault: ${JSON.stringify(firstFault)}`);
    if ('cloud' in firstFault) {
      this.ordered.push(cloud.faults.order(firstFault.cloud));
      return this.#provoke(firstFault.cloud.operation);
    }
    if ('act' in firstFault) return this.#firstFaultAct(firstFault.act);
    if (firstFault.toCloud) network.setFaultChances({}, { [firstFault.wire]: FIRST_FAULT_CHANCE });
    else network.setFaultChances({ [firstFault.wire]: FIRST_FAULT_CHANCE });
    await this.#delete();
    await this.#create();
    await clock.advance(FIRST_FAULT_MS);
    network.setFaultChances({});
  }

  async #firstFaultAct(act: FirstFaultAct): Promise<void> {
    const { clock } = this.#world;
    const acts: Readonly<Record<FirstFaultAct, () => Promise<void> | void>> = {
      'silent kubelet': () => this.#silentKubelet(),
      'lost VM': () => this.#lostVm(),
      'late kubelet': () => this.#bootsWith({ joinDelay: 90_000 }),
      'no kubelet': () => this.#bootsWith({ join: 'never' }),
      'expired watches': () => this.#expire(),
      'silent watches': () => this.#silence(),
      'no API server': () => this.#cut(),
      killed: () => this.#kill(),
      'two controllers': () => this.#twoControllers(),
      'clock forward': () => this.#jump(FIRST_FAULT_JUMP_MS),
      'clock back': () => this.#jump(-FIRST_FAULT_JUMP_MS),
      'lost machine': () => this.#lostMachine(),
    };
    await clock.advance(5_000);
    await acts[act]();
    await this.#create();
    await this.#delete();
    await clock.advance(FIRST_FAULT_MS);
  }

  async #provoke(operation: FailingOperation): Promise<void> {
    if (operation === 'instances.delete') return this.#delete();
    // A process lists the VMs when it starts, so a restart provokes this call.
    if (operation === 'instances.list') {
      this.#kill();
      await this.#world.clock.advance(2 * MINUTE);
      return;
    }
    const looks = operation === 'instances.get';
    if (looks) this.#world.cloud.faults.order({ operation: 'instances.boot', kubelet: { join: 'never' }, count: 1 });
    await this.#create();
    if (looks) await this.#world.clock.advance(6 * MINUTE);
  }

  #cut(): void {
    const ms = this.#dice.pause(120_000);
    this.#note(`the API server is unreachable for ${ms} ms`);
    this.#cutMs = Math.max(this.#cutMs, ms);
    const { network, clock } = this.#world;
    network.cut('machine-controller');
    clock.setTimeout(() => {
      if (this.#compacts) network.outdate('machine-controller');
      network.mend();
    }, ms);
  }

  #silence(): void {
    this.#note('watches stop delivering');
    this.#silenced = true;
    this.#world.network.silence('machine-controller');
  }

  #expire(): void {
    this.#note(
      this.#compacts
        ? 'the API server compacts its history and ends watches'
        : 'the API server ends watches with status 410',
    );
    if (this.#compacts) this.#world.network.outdate('machine-controller');
    else this.#world.network.expire('machine-controller');
  }

  #boots(): void {
    const kubelet = this.#dice.one([{ join: 'never' as const }, { joinDelay: 90_000 }, { joinDelay: 400_000 }]);
    if (kubelet) this.#bootsWith(kubelet);
  }

  #bootsWith(kubelet: NonNullable<FaultRule['kubelet']>): void {
    this.#note(`the kubelet of the next VM behaves as ${JSON.stringify(kubelet)}`);
    this.ordered.push(this.#world.cloud.faults.order({ operation: 'instances.boot', kubelet, count: 1 }));
  }

  #silentKubelet(): void {
    const { hollow, clock } = this.#world;
    const name = this.#dice.one(hollow.names);
    if (!name) return;
    const ms = this.#dice.pause(900_000);
    this.#note(`the kubelet of ${name} stops reporting for ${ms} ms`);
    hollow.silence(name, true);
    clock.setTimeout(() => hollow.silence(name, false), ms);
  }

  #busiest(): Machine | undefined {
    const { pods } = this.#world.cache;
    const all = this.#world.machines().filter((machine) => !isGoing(machine));
    return all.find(({ metadata }) => pods.store.byIndex('node', metadata.labels?.node ?? '').length > 0) ?? all[0];
  }

  /** Deletes a Machine object, but keeps its VM. */
  async #lostMachine(): Promise<void> {
    await this.#world.clock.advance(20_000);
    const lost = this.#busiest();
    if (lost) await this.#world.loseMachine(lost);
  }

  /** Deletes a Machine object but not its VM, at most once in a history. */
  async #loseMachine(): Promise<void> {
    if (this.#world.verifier.hasLost) return;
    const machine = this.#dice.one(this.#world.machines());
    if (machine && !isGoing(machine)) await this.#world.loseMachine(machine);
  }

  async #deleteNode(): Promise<void> {
    const node = this.#dice.one(this.#world.cache.nodes.store.list());
    if (node && !node.metadata.deletionTimestamp) await this.#world.deleteNode(node.metadata.name);
  }

  /** Starts a controller whose role does not allow reads of Nodes or pods. */
  async #forbid(): Promise<void> {
    const { network, clock } = this.#world;
    const [kind, paths] = this.#dice.one(UNREADABLE) ?? UNREADABLE[0];
    const ms = FORBIDDEN_MS + this.#dice.pause(10 * MINUTE);
    this.#note(`for ${ms} ms, the role of the controller does not allow reads of ${kind}`);
    this.#cutMs = Math.max(this.#cutMs, FIRST_FAULT_JUMP_MS);
    network.forbid('machine-controller', paths);
    clock.setTimeout(() => network.mend(), ms);
    this.#kill();
    await clock.advance(this.#dice.pause(FORBIDDEN_MS));
    const machine = this.#busiest();
    if (machine) await this.#world.deleteMachine(machine.metadata.name);
  }

  /** Adds the finalizer of another controller to a machine. */
  async #otherFinalizer(): Promise<void> {
    const machine = this.#dice.one(this.#world.machines());
    if (!machine || isGoing(machine)) return;
    await this.#world.addFinalizer(machine.metadata.name);
    if (this.#dice.number(2) === 0) await this.#world.deleteMachine(machine.metadata.name);
  }

  /** Lets the cloud create a VM, although the controller gets an error or no response. */
  async #lostCreation(): Promise<void> {
    const { cloud, clock } = this.#world;
    const failure = this.#dice.one([{ timeout: {} }, INTERNAL_ERROR, INTERNAL_ERROR]);
    this.ordered.push(cloud.faults.order({ operation: 'instances.create', ...failure, effect: true, count: 1 }));
    await this.#create();
    await clock.advance(this.#dice.pause(MAX_PAUSE_MS));
    if (this.#dice.number(3) > 0 && !this.#world.machines().some(isForced)) {
      await this.#world.breakSecret(true);
      const mend = (): void => void this.#world.breakSecret(false).catch((error) => this.#violate(error));
      clock.setTimeout(mend, MINUTE + this.#dice.pause(10 * MINUTE));
    }
    await clock.advance(this.#dice.pause(MAX_PAUSE_MS));
    const machine = this.#world.machines().find(({ metadata }) => metadata.name === `m${this.#named}`);
    if (machine && !isGoing(machine)) await this.#world.deleteMachine(machine.metadata.name);
  }

  #violate(error: unknown): void {
    this.#world.reporter.violate(`the simulation failed: ${String(error)}`);
  }

  /** Fails all reads of Nodes for some time. */
  #failReadsOfNodes(ms: number): void {
    const { network, clock } = this.#world;
    this.#note(`for ${ms} ms, the API server answers reads of nodes with status 500`);
    this.#cutMs = Math.max(this.#cutMs, FIRST_FAULT_JUMP_MS);
    network.failReads('machine-controller', /\/nodes$/);
    clock.setTimeout(() => network.mend(), ms);
  }

  /** Stops a kubelet until its health timeout has expired, while the controller cannot read Nodes. */
  async #staleHealth(): Promise<void> {
    const { hollow, clock } = this.#world;
    const name = this.#dice.one(hollow.names);
    if (!name) return;
    this.#note(`the kubelet of ${name} stops reporting`);
    hollow.silence(name, true);
    await clock.advance(LOST_AFTER_MS + this.#dice.number(MINUTE));
    this.#failReadsOfNodes(HEALTH_TIMEOUT_MS + MINUTE + this.#dice.number(2 * MINUTE));
    await clock.advance(this.#dice.number(MINUTE));
    hollow.silence(name, false);
    await clock.advance(HEALTH_TIMEOUT_MS);
  }

  /** Lets a machine join and get pods while the controller cannot read Nodes. */
  async #unseenNode(): Promise<void> {
    const { clock } = this.#world;
    this.#failReadsOfNodes(MINUTE + this.#dice.number(4 * MINUTE));
    await this.#create();
    await clock.advance(this.#dice.number(20_000));
    await this.#app();
    await clock.advance(this.#dice.number(20_000));
    const machine = this.#world.machines().find(({ metadata }) => metadata.name === `m${this.#named}`);
    if (machine && !isGoing(machine)) await this.#world.deleteMachine(machine.metadata.name);
  }

  async #silentKubelets(): Promise<void> {
    const { hollow, clock } = this.#world;
    const first = this.#dice.one(hollow.names);
    const second = this.#dice.one(hollow.names.filter((name) => name !== first));
    const both = [first, second].flatMap((name) => (name === undefined ? [] : [name]));
    this.#note(`the kubelets of the machines ${both} stop reporting`);
    for (const name of both) {
      hollow.silence(name, true);
      await clock.advance(this.#dice.pause(MINUTE));
    }
    await clock.advance(LOST_AFTER_MS + HEALTH_TIMEOUT_MS + MINUTE);
    for (const name of both) hollow.silence(name, false);
  }

  #lostVm(): void {
    lostVm(this.#draw);
  }

  #endanger(): void {
    const { chances, ms } = drawFaultChances(this.#draw);
    this.#world.network.setFaultChances(chances);
    this.#world.clock.setTimeout(() => this.#world.network.setFaultChances({}), ms);
  }

  #kill(): void {
    this.#world.kill();
  }

  /** Starts another controller, which acquires the Lease. */
  #twoControllers(): void {
    const ms = this.#dice.pause(20_000);
    this.#note(`for ${ms} ms, two machine controllers run`);
    this.#world.startProcess();
    this.#world.clock.setTimeout(() => this.#world.killOldest(), ms);
  }

  #clockJump(): void {
    this.#jump(this.#dice.number(2 * 120_000) - 120_000);
  }

  #jump(ms: number): void {
    this.#note(`the clock of the controller jumps forward by ${ms} ms`);
    this.#world.skew(ms);
  }
}

export interface MachineHistoryOptions extends HistoryOptions {
  readonly defect?: Defect;
  readonly firstFault?: FirstFault;
  readonly volumeLimit?: number | undefined;
}

export interface MachineOutcome extends Outcome {
  readonly faults: FaultTally;
  readonly volumes: number;
}

/** Runs a history in which all drains share a limit for moving volumes. */
export const playVolumes = (options: MachineHistoryOptions): Promise<MachineOutcome> =>
  playMachines({ ...options, volumeLimit: 1 + (options.seed % 3) });

export async function playMachines(options: MachineHistoryOptions): Promise<MachineOutcome> {
  const world = await MachineWorld.start(options);
  const played = new MachineHistory(world, options);
  try {
    await world.reporter.until(played.run(options.firstFault), options);
  } catch (error) {
    world.reporter.violate(error instanceof Error ? error.message : String(error));
  }
  const outcome = {
    violations: [...world.violations],
    story: world.reporter.tell(),
    history: JSON.stringify(world.reporter.history),
    faults: tallyFaults(world.reporter.history, played.ordered),
    plan: played.plan,
    volumes: world.volumesVerified,
  };
  await world.close();
  return outcome;
}
