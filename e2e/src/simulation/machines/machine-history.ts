import { Annotations, type Machine } from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { FaultRule, OrderedFault } from '@mcm/provider-local';
import { Dice } from '../dice.ts';
import type { Mishap } from '../network.ts';
import type { Outcome } from '../random-history.ts';
import { type FaultTally, tallyFaults } from './fault-tally.ts';
import { type Defect, DRAIN_TIMEOUT_MS, MachineWorld } from './machine-world.ts';
import { MuteJudge } from './mute-judge.ts';

const MAX_ACTS = 12;
const MAX_MACHINES = 4;
const MAX_APPS = 2;
const MAX_PAUSE_MS = 40_000;
const MINUTE = 60_000;
/** A silent watch is opened anew within this. */
const SILENCE_MS = 200_000;
/** A client that was refused tries again within this. */
const RECONNECT_MS = 25_000;
/** The longest that a machine takes to be Running or Failed once all is well: a driver call that hangs, then a birth. */
const CALM_MS = 60 * MINUTE;
/** The longest life of a bootstrap token: two hours of creation, and a margin. */
const TOKEN_MS = 180 * MINUTE;
/** Longer than anything that looks again by the clock, shorter than a drain. */
const BLOCKED_MS = 260_000;
const QUIET_MS = 10 * MINUTE;
/** Beside what is stuck, a machine with nothing in its way is born, and is gone, within this after its kubelet joined. */
const PROMPT_MS = 5_000;

const MISHAPS: readonly Mishap[] = ['conflict', 'throttled', 'internal', 'lost', 'killed before', 'killed after'];
const OPERATIONS = ['instances.create', 'instances.delete', 'instances.get', 'instances.list', 'instances.*'] as const;
const FAILURES: readonly Pick<FaultRule, 'error' | 'timeout' | 'effect' | 'stale' | 'latency' | 'zone'>[] = [
  { error: { code: 'InternalError' } },
  { error: { code: 'InternalError' }, effect: true },
  { error: { code: 'RequestLimitExceeded', retryAfterSeconds: 20 } },
  { error: { code: 'InsufficientCapacity' }, zone: 'local-a' },
  { timeout: {} },
  { timeout: {}, effect: true },
  { latency: 8_000 },
  { stale: 15_000 },
];

/** One fault that a history begins with, whatever else befalls it. */
export type Storm =
  /** Of the cloud: the call that it befalls is provoked. */
  | { readonly cloud: FaultRule & { readonly operation: (typeof OPERATIONS)[number] } }
  /** Of the wire; `toCloud`: of the wire to the cloud. */
  | { readonly wire: Mishap; readonly toCloud?: true }
  /** Of anything else. */
  | { readonly act: StormAct };

/** What may befall all at once. */
export type StormAct =
  | 'silent kubelet'
  | 'lost VM'
  | 'late kubelet'
  | 'no kubelet'
  | 'expired watches'
  | 'silent watches'
  | 'no API server'
  | 'killed'
  | 'two controllers'
  | 'clock forward'
  | 'clock back';

/** How far a clock jumps in a storm. */
const STORM_JUMP_MS = 90_000;

/** How likely a mishap is while its storm lasts, and how long it does. */
const STORM_CHANCE = 0.4;
const STORM_MS = 20_000;

const phaseOf = (machine: Machine | undefined): string => machine?.status?.currentStatus?.phase || 'new';
const isGoing = ({ metadata }: Machine): boolean => metadata.deletionTimestamp !== undefined;
const saidBy = (machine: Machine): string => machine.status?.lastOperation?.description ?? '';

/** Machines with pods on them and everything that befalls them, drawn from one seed. */
class MachineHistory {
  readonly #world: MachineWorld;
  readonly #dice: Dice;
  readonly #acts: readonly (() => Promise<void> | void)[];
  readonly #mute: MuteJudge;
  /** Faults of the cloud, with how often each has acted. */
  readonly ordered: OrderedFault[] = [];
  #named = 0;
  #silenced = false;

  constructor(world: MachineWorld, seed: number) {
    this.#world = world;
    this.#mute = new MuteJudge(world.clock, world.eyes);
    this.#dice = new Dice(seed + 2_000_000);
    const often = [() => this.#create(), () => this.#delete(), () => this.#delete(), () => this.#faultyCloud()];
    this.#acts = [
      ...often,
      ...often,
      () => this.#app(),
      () => this.#app(),
      () => this.#budget(),
      () => this.#budget(),
      () => this.#force(),
      () => this.#cut(),
      () => this.#silence(),
      () => this.#expire(),
      () => this.#boots(),
      () => this.#silentKubelet(),
      () => this.#lostVm(),
      () => this.#endanger(),
      () => this.#endanger(),
      () => this.#kill(),
      () => this.#twoControllers(),
      () => this.#clockJump(),
    ];
  }

  async run(storm?: Storm): Promise<void> {
    const { clock } = this.#world;
    await this.#create();
    await this.#create();
    await this.#app();
    if (storm) await this.#storm(storm);
    const acts = 1 + this.#dice.number(MAX_ACTS);
    for (let act = 0; act < acts; act += 1) {
      await clock.advance(this.#dice.pause(MAX_PAUSE_MS));
      await this.#dice.one(this.#acts)?.();
    }
    await clock.advance(this.#dice.pause(MAX_PAUSE_MS));
    await this.#calm();
    await this.#promptBesideStuck();
    await this.#quiet();
    await this.#end();
  }

  #note(text: string): void {
    this.#world.witness.note('act', text);
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

  async #force(): Promise<void> {
    const machine = this.#dice.one(this.#world.machines().filter(isGoing));
    if (machine) await this.#world.labelMachine(machine.metadata.name, { 'force-deletion': 'true' });
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
    const operation = this.#dice.one(OPERATIONS) ?? '*';
    const rule = { operation, ...this.#dice.one(FAILURES), count: 1 + this.#dice.number(4) };
    this.#note(`the cloud will fail: ${JSON.stringify(rule)}`);
    this.ordered.push(this.#world.cloud.faults.order(rule));
  }

  async #storm(storm: Storm): Promise<void> {
    const { clock, cloud, network } = this.#world;
    await clock.advance(5_000);
    this.#note(`a storm: ${JSON.stringify(storm)}`);
    if ('cloud' in storm) {
      this.ordered.push(cloud.faults.order(storm.cloud));
      return this.#provoke(storm.cloud.operation);
    }
    if ('act' in storm) return this.#stormAct(storm.act);
    if (storm.toCloud) network.endanger({}, { [storm.wire]: STORM_CHANCE });
    else network.endanger({ [storm.wire]: STORM_CHANCE });
    await this.#delete();
    await this.#create();
    await clock.advance(STORM_MS);
    network.endanger({});
  }

  async #stormAct(act: StormAct): Promise<void> {
    const { clock } = this.#world;
    const acts: Readonly<Record<StormAct, () => void>> = {
      'silent kubelet': () => this.#silentKubelet(),
      'lost VM': () => this.#lostVm(),
      'late kubelet': () => this.#bootsWith({ joinDelay: 90_000 }),
      'no kubelet': () => this.#bootsWith({ join: 'never' }),
      'expired watches': () => this.#expire(),
      'silent watches': () => this.#silence(),
      'no API server': () => this.#cut(),
      killed: () => this.#kill(),
      'two controllers': () => this.#twoControllers(),
      'clock forward': () => this.#jump(STORM_JUMP_MS),
      'clock back': () => this.#jump(-STORM_JUMP_MS),
    };
    // A node must be there for its kubelet to be lost, and a VM to be terminated.
    await clock.advance(5_000);
    acts[act]();
    await this.#create();
    await this.#delete();
    await clock.advance(STORM_MS);
  }

  /** Has the controller make the call that is to fail, or the fault befalls nobody before all is well again. */
  async #provoke(operation: (typeof OPERATIONS)[number]): Promise<void> {
    if (operation === 'instances.delete') return this.#delete();
    // The first that a new process does is to list.
    if (operation === 'instances.list') {
      this.#kill();
      await this.#world.clock.advance(2 * MINUTE);
      return;
    }
    // An instance is asked for by its id when its machine has failed.
    const looks = operation === 'instances.get';
    if (looks) this.#world.cloud.faults.order({ operation: 'instances.boot', kubelet: { join: 'never' }, count: 1 });
    await this.#create();
    if (looks) await this.#world.clock.advance(6 * MINUTE);
  }

  #cut(): void {
    const ms = this.#dice.pause(120_000);
    this.#note(`the API server is gone for ${ms} ms`);
    this.#world.oracle.blind(ms);
    this.#world.network.cut('machine-controller');
    this.#world.clock.setTimeout(() => this.#world.network.mend(), ms);
  }

  #silence(): void {
    this.#note('watches go silent');
    this.#silenced = true;
    this.#world.oracle.blind(SILENCE_MS);
    this.#world.network.silence('machine-controller');
  }

  #expire(): void {
    this.#note('watches end with 410');
    this.#world.network.expire('machine-controller');
  }

  #boots(): void {
    const kubelet = this.#dice.one([{ join: 'never' as const }, { joinDelay: 90_000 }, { joinDelay: 400_000 }]);
    if (kubelet) this.#bootsWith(kubelet);
  }

  #bootsWith(kubelet: NonNullable<FaultRule['kubelet']>): void {
    this.#note(`the next VM boots with ${JSON.stringify(kubelet)}`);
    this.ordered.push(this.#world.cloud.faults.order({ operation: 'instances.boot', kubelet, count: 1 }));
  }

  #silentKubelet(): void {
    const { hollow, clock } = this.#world;
    const name = this.#dice.one(hollow.names);
    if (!name) return;
    const ms = this.#dice.pause(900_000);
    this.#note(`the kubelet of ${name} is silent for ${ms} ms`);
    hollow.silence(name, true);
    clock.setTimeout(() => hollow.silence(name, false), ms);
  }

  #lostVm(): void {
    const running = [...this.#world.cloud.instances.list()].filter(({ state }) => state === 'running');
    const vm = this.#dice.one(running);
    if (!vm) return;
    this.#note(`VM ${vm.name} is terminated behind our back`);
    this.#world.cloud.instances.terminate(vm.id, 'by hand');
  }

  #endanger(): void {
    const mishaps = [this.#dice.one(MISHAPS), this.#dice.one(MISHAPS)].flatMap((mishap) => mishap ?? []);
    const chances = Object.fromEntries(mishaps.map((mishap) => [mishap, 0.05 + this.#dice.number(20) / 100]));
    const ms = this.#dice.pause(120_000);
    this.#note(`for ${ms} ms writes meet ${JSON.stringify(chances)}`);
    this.#world.network.endanger(chances);
    this.#world.clock.setTimeout(() => this.#world.network.endanger({}), ms);
  }

  #kill(): void {
    this.#world.kill();
  }

  /** One whose lease another has taken goes on until it notices. */
  #twoControllers(): void {
    const ms = this.#dice.pause(20_000);
    this.#note(`for ${ms} ms there are two machine controllers`);
    this.#world.startProcess();
    this.#world.clock.setTimeout(() => this.#world.killOldest(), ms);
  }

  #clockJump(): void {
    this.#jump(this.#dice.number(2 * 120_000) - 120_000);
  }

  #jump(ms: number): void {
    this.#note(`the clock of the controller goes ${ms} ms ahead`);
    this.#world.skew(ms);
  }

  /** Nothing is broken from now on: every machine is Running or Failed, or says what it waits for. */
  async #calm(): Promise<void> {
    const world = this.#world;
    this.#note('all is well from now on');
    world.network.mend();
    world.network.endanger({});
    world.cloud.faults.clear();
    world.skew(0);
    world.killOldest();
    for (const name of world.hollow.names) world.hollow.silence(name, false);
    await world.clock.advance(this.#silenced ? SILENCE_MS : RECONNECT_MS);
    await this.#until('every machine is Running, Failed, or waits and says for what', () => {
      const open = world.machines().filter((machine) => !isGoing(machine) && !this.#isAtRest(machine));
      const mute = world.machines().filter((machine) => isGoing(machine) && !/Waiting: /.test(saidBy(machine)));
      const described = [...open, ...mute].map((each) => `${each.metadata.name}: ${phaseOf(each)}, ${saidBy(each)}`);
      return [...described, ...this.#strays()];
    });
  }

  /**
   * Many that are silent at once are not replaced, and it is told of each; and a silent one waits while another has
   * Failed and is not replaced yet, as one at a time is (`--max-unhealthy-replacements`), and says so: here no set
   * replaces it.
   */
  #isAtRest(machine: Machine): boolean {
    const phase = phaseOf(machine);
    if (phase !== 'Unknown') return phase === 'Running' || phase === 'Failed';
    return this.#world.held.has(machine.metadata.name) || /^Waiting: /.test(saidBy(machine));
  }

  /**
   * A Node that was never taken for a machine's, as it bears the id of a VM that came of a call that failed, and went
   * before anybody knew of it: the cloud's node controller takes it away, which is not on this stage.
   */
  #isCloudsOwn({ metadata, spec }: Node): boolean {
    const id = spec.providerID?.split('/').at(-1);
    const lives = [...this.#world.cloud.instances.list()].some((vm) => vm.id === id && vm.state === 'running');
    return metadata.annotations?.[Annotations.NotManagedByMCM] !== undefined && !lives;
  }

  /** (b): VMs and Nodes without a Machine. */
  #strays(): string[] {
    const all = this.#world.machines();
    const uids = new Set(all.map(({ metadata }) => metadata.uid));
    const nodes = new Set(all.map(({ metadata }) => metadata.labels?.node ?? metadata.name));
    return [
      ...[...this.#world.vms()].flatMap(([uid, name]) => (uids.has(uid) ? [] : [`(b) VM ${name} has no Machine`])),
      ...this.#world.eyes.nodes.store
        .list()
        .filter((node) => !nodes.has(node.metadata.name) && !this.#isCloudsOwn(node))
        .map(({ metadata }) => `(b) Node ${metadata.name} has no Machine`),
    ];
  }

  async #until(what: string, missing: () => readonly string[], maxMs = CALM_MS): Promise<number> {
    const { clock, witness } = this.#world;
    const done = (): boolean => {
      for (const text of this.#mute.look()) witness.violate(`(f) ${text}`);
      return missing().length === 0;
    };
    try {
      return await clock.runUntil(done, { maxMs });
    } catch {
      witness.violate(`not within ${maxMs} ms: ${what}; ${missing().join('; ')}`);
      return maxMs;
    }
  }

  /** (g): beside a drain that never ends and a cloud call that hangs, another machine is born and dies at once. */
  async #promptBesideStuck(): Promise<void> {
    const world = this.#world;
    const { clock, hollow } = world;
    await world.createApp({ name: 'held', replicas: 1, volumes: false, minAvailable: 1 });
    await clock.advance(5_000);
    const held = world.eyes.pods.store.list().find(({ metadata }) => metadata.labels?.app === 'held');
    const stuck = world.machines().find(({ metadata }) => metadata.labels?.node === held?.spec.nodeName);
    const begins = stuck && !isGoing(stuck) && phaseOf(stuck) === 'Running';
    if (stuck && !isGoing(stuck)) await world.deleteMachine(stuck.metadata.name);
    if (begins) await this.#quietWhileBlocked(stuck.metadata.name);
    world.cloud.faults.order({ operation: 'instances.*', instance: 'hangs', timeout: {} });
    await world.createMachine('hangs', { creationTimeout: '2h' });
    await clock.advance(1_000);
    // Of a class of its own: machines of one class and zone wait together when that has no capacity.
    await world.createMachine('prompt', { class: { kind: 'MachineClass', name: 'green' } });
    const prompt = () => world.machines().find(({ metadata }) => metadata.name === 'prompt');
    const isRunning = () => (phaseOf(prompt()) === 'Running' ? [] : [phaseOf(prompt())]);
    await this.#until('(g) a machine is born beside others that are stuck', isRunning, hollow.joinDelayMs + PROMPT_MS);
    const empty = world.eyes.pods.store.byIndex('node', 'prompt').length === 0;
    await world.deleteMachine('prompt');
    const isGone = () => (prompt() ? [saidBy(prompt() as Machine)] : []);
    const maxMs = empty ? PROMPT_MS : DRAIN_TIMEOUT_MS + MINUTE;
    await this.#until('(g) a machine dies beside others that are stuck', isGone, maxMs);
    world.cloud.faults.clear();
  }

  /** (f) and (i): a drain that a budget blocks says so, once. */
  async #quietWhileBlocked(name: string): Promise<void> {
    const { clock, writes, witness, eyes } = this.#world;
    await clock.advance(60_000);
    const written = writes.length;
    // Pods with volumes go one after the other, and each says anew what holds it up.
    if (eyes.pods.store.byIndex('node', name).some((pod) => eyes.volumesOf(pod).length > 0)) return;
    const said = this.#world.machines().filter((machine) => machine.metadata.name === name && isGoing(machine));
    for (const machine of said.filter((each) => !/Waiting: \S|Drain failed due to - /.test(saidBy(each))))
      witness.violate(`(f) ${name} waits for a budget and does not say so: ${saidBy(machine)}`);
    const podsOf = (): string => String(eyes.pods.store.byIndex('node', name).map(({ metadata }) => metadata.uid));
    const before = podsOf();
    await clock.advance(BLOCKED_MS);
    // A machine that joins meanwhile takes what others of its pods waited for: they go, and what is left is told anew.
    if (podsOf() !== before) return;
    const about = writes.slice(written).filter((write) => write.split('/').includes(name));
    for (const write of about) witness.violate(`(i) written though nothing has changed: ${write}`);
  }

  /** (i): once nothing changes any more, nothing is written. */
  async #quiet(): Promise<void> {
    const world = this.#world;
    // What a drain may still do by its deadline, and a hanging call by its own, is over by then.
    await world.clock.advance(DRAIN_TIMEOUT_MS + 10 * MINUTE);
    const written = world.writes.length;
    await world.clock.advance(QUIET_MS);
    for (const write of world.writes.slice(written)) world.witness.violate(`(i) written though all was done: ${write}`);
  }

  /** (b), (f): all go, by their deadline, and leave nothing. */
  async #end(): Promise<void> {
    const world = this.#world;
    for (const machine of world.machines()) {
      if (!isGoing(machine)) await world.deleteMachine(machine.metadata.name);
    }
    await this.#until(
      '(f) every machine is gone by the deadline of its drain, and leaves nothing',
      () => [...world.machines().map((each) => `${each.metadata.name}: ${saidBy(each)}`), ...this.#strays()],
      DRAIN_TIMEOUT_MS + 5 * MINUTE,
    );
    // One whose deletion was refused, or that a killed process knew of, is the token cleaner's once it has expired.
    const tokens = () => world.eyes.tokens.store.list().map(({ metadata }) => `token ${metadata.name} is left`);
    await this.#until('no token outlives its machine for long', tokens, TOKEN_MS);
    for (const leak of await world.leaks()) world.witness.violate(`(h) ${leak}`);
  }
}

/** Plays the history of a seed. Same seed and storm, same history, to the byte. */
export async function playMachines(
  seed: number,
  defect: Defect = {},
  storm?: Storm,
): Promise<Outcome & { readonly faults: FaultTally }> {
  const world = await MachineWorld.start(seed, defect);
  const played = new MachineHistory(world, seed);
  try {
    await played.run(storm);
  } catch (error) {
    world.witness.violate(error instanceof Error ? error.message : String(error));
  }
  const outcome = {
    violations: [...world.violations],
    story: world.witness.tell(),
    history: JSON.stringify(world.witness.history),
    faults: tallyFaults(world.witness.history, played.ordered),
  };
  await world.close();
  return outcome;
}
