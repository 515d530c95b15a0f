import { Annotations, Labels, type Machine } from '@mcm/api';
import { AutoscalerError, type NamedNode } from '@mcm/core';
import { sleep, type VirtualClock } from '@mcm/kube';
import { createNodeGroups, type NodeGroupContext, type ServedNodeGroups } from '@mcm/machine-controller-manager';
import type { Caller } from '../network/network.ts';
import { drawFaultChances } from '../network/random-faults.ts';
import { slowWire } from '../network/slow-wire.ts';
import { BOUNDS } from '../record/bounds.ts';
import { Dice } from '../script/dice.ts';
import { type Plan, Script } from '../script/script.ts';
import { ScalerVerifier } from '../verifiers/scaler-verifier.ts';
import { DEPLOYMENT } from '../world/fleet.ts';
import { NAMESPACE, type ProcessName, World } from '../world/world.ts';
import { GroupVerifier } from './group-verifier.ts';
import { strategyOf } from './modes.ts';
import type { HistoryOptions, Outcome } from './outcome.ts';
import type { FleetHistoryOptions } from './random-history.ts';

const ID = `${NAMESPACE}/${DEPLOYMENT}`;
const FIRST_REPLICAS = 5;
const MAX_REPLICAS = 8;
const MAX_ACTS = 12;
const MAX_PAUSE_MS = 40_000;
const MAX_CUT_MS = 90_000;
/** The maximum latency of a request of the autoscaler, and of its response. */
const MAX_WIRE_MS = 4_000;
/** The maximum latency of a manager's request in each direction. With latencies, the manager accepts a scale-in later. */
const MAX_MANAGER_WIRE_MS = 600;
/** The interval in which the autoscaler repeats a request without a response. */
const REPEAT_MS = 10_000;

const PROCESSES: readonly ProcessName[] = ['manager', 'machine-controller'];
const GROUPS: readonly (readonly Caller[])[] = [['manager'], ['manager', 'machine-controller']];

const OFTEN = ['remove', 'remove', 'remove twice', 'remove again', 'increase', 'increase twice'] as const;
type ActName = (typeof OFTEN)[number] | 'kill' | 'endanger' | 'cut' | 'silence';

type Groups = ServedNodeGroups['groups'];

/** The outcome of a request: a success, an error of the manager, or a lost response. */
type Answer = 'OK' | 'lost' | AutoscalerError['code'];

interface Removal {
  readonly nodes: readonly NamedNode[];
  readonly uids: readonly string[];
  answer: Answer;
}

/** The port of the manager. The port closes when the process of the manager ends. */
class GroupPort {
  #served: (ServedNodeGroups & { readonly signal: AbortSignal }) | undefined;

  readonly serve = (context: NodeGroupContext, signal: AbortSignal): void => {
    const served = createNodeGroups(context);
    this.#served = { ...served, signal };
    void served.run(signal);
  };

  /** Sends a request with random latencies. A response is lost if the process ends, or if `loses` is true. */
  async send(clock: VirtualClock, dice: Dice, request: (groups: Groups) => Promise<void>): Promise<Answer> {
    const [thereMs, backMs] = [dice.pause(MAX_WIRE_MS), dice.pause(MAX_WIRE_MS)];
    const isLost = dice.number(8) === 0;
    await sleep(clock, thereMs);
    const served = this.#served;
    if (!served?.ready() || served.signal.aborted) return 'UNAVAILABLE';
    const { promise: ended, resolve: end } = Promise.withResolvers<Answer>();
    served.signal.addEventListener('abort', () => end('lost'), { once: true });
    const answered = request(served.groups).then(
      (): Answer => 'OK',
      (error: unknown): Answer => (error instanceof AutoscalerError ? error.code : 'UNAVAILABLE'),
    );
    const answer = await Promise.race([ended, answered]);
    await sleep(clock, backMs);
    return isLost ? 'lost' : answer;
  }
}

/** A fleet whose size the upstream autoscaler changes through the port of the manager. */
class GroupHistory {
  readonly #world: World;
  readonly #port: GroupPort;
  readonly #dice: Dice;
  readonly #verifier: GroupVerifier;
  readonly #scaler: ScalerVerifier;
  readonly #script: Script;
  readonly #removals: Removal[] = [];
  /** The requests without a response. */
  readonly #open = new Set<Promise<void>>();
  #silenced = false;

  constructor(
    { world, port, verifier, scaler }: GroupHistoryParts,
    { seed, plan }: Pick<HistoryOptions, 'seed' | 'plan'>,
  ) {
    this.#world = world;
    this.#port = port;
    this.#dice = new Dice(seed + 2_000_000);
    this.#verifier = verifier;
    this.#scaler = scaler;
    this.#script = new Script({
      dice: this.#dice,
      acts: [...OFTEN, ...OFTEN, 'kill', 'kill', 'endanger', 'cut', 'silence'],
      maxPauseMs: MAX_PAUSE_MS,
      wait: (ms) => world.clock.advance(ms),
      act: (name) => this.#act(name as ActName),
      plan,
    });
  }

  get plan(): Plan {
    return this.#script.plan;
  }

  async run(): Promise<void> {
    const world = this.#world;
    await world.createDeployment(FIRST_REPLICAS);
    await world.untilSettled(FIRST_REPLICAS, 'blue');
    await this.#script.play(2 + this.#dice.number(MAX_ACTS));
    await this.#calm();
  }

  async #act(name: ActName): Promise<void> {
    const acts: Readonly<Record<ActName, () => Promise<void> | void>> = {
      remove: () => this.#remove(),
      'remove twice': () => this.#removeTwice(),
      'remove again': () => this.#removeAgain(),
      increase: () => this.#increase(),
      'increase twice': () => this.#increaseTwice(),
      kill: () => this.#kill(),
      endanger: () => this.#endanger(),
      cut: () => this.#cut(),
      silence: () => this.#silence(),
    };
    await acts[name]();
  }

  #note(text: string): void {
    this.#world.reporter.note('act', text);
  }

  /** Runs a request while the history continues. */
  #start(request: Promise<void>): void {
    const open = request
      .catch((error: unknown) => this.#world.reporter.violate(`the simulation failed: ${String(error)}`))
      .finally(() => this.#open.delete(open));
    this.#open.add(open);
  }

  async #choose(): Promise<Removal | undefined> {
    const { reporter } = this.#world;
    const running = (await this.#world.machines()).filter(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined &&
        status?.currentStatus?.phase === 'Running' &&
        !this.#scaler.isNamed(metadata.name),
    );
    const most = Math.min(1 + this.#dice.number(2), running.length - 1);
    if (most <= 0) return undefined;
    const chosen = Array.from({ length: most }, () => running.splice(this.#dice.number(running.length), 1)).flat();
    for (const { metadata } of chosen) reporter.deletesByHand(metadata.uid);
    this.#scaler.names(chosen.map(({ metadata }) => metadata.name));
    const removal = {
      nodes: chosen.map(nodeOf),
      uids: chosen.map(({ metadata }) => metadata.uid),
      answer: 'lost',
    } as const;
    this.#removals.push({ ...removal });
    return this.#removals.at(-1);
  }

  async #request(removal: Removal): Promise<void> {
    const names = removal.nodes.map(({ name }) => name);
    this.#note(`the autoscaler requests the removal of ${names}`);
    const { clock } = this.#world;
    const answer = await this.#port.send(clock, this.#dice, (groups) => groups.remove(ID, removal.nodes));
    this.#note(`the response for the removal of ${names} is ${answer}`);
    if (removal.answer !== 'OK') removal.answer = answer;
  }

  async #remove(): Promise<void> {
    const removal = await this.#choose();
    if (removal) this.#start(this.#request(removal));
  }

  /**
   * Sends a second removal request while the first one is in progress: for the same machine, or for another machine.
   */
  async #removeTwice(): Promise<void> {
    const removal = await this.#choose();
    if (!removal) return;
    this.#start(this.#request(removal));
    const other = this.#dice.number(2) === 0 ? await this.#choose() : removal;
    if (other) this.#start(this.#request(other));
    if (this.#dice.number(2) === 0) await this.#increase();
  }

  async #removeAgain(): Promise<void> {
    const removal = this.#dice.one(this.#removals.slice(-2)) ?? (await this.#choose());
    if (removal) this.#start(this.#request(removal));
  }

  async #increase(): Promise<void> {
    const by = 1 + this.#dice.number(2);
    if (this.#verifier.replicas + by > MAX_REPLICAS) return;
    const increase = this.#verifier.requests(by);
    this.#note(`the autoscaler requests ${by} more machines`);
    const { clock } = this.#world;
    const send = async (): Promise<void> => {
      const answer = await this.#port.send(clock, this.#dice, (groups) => groups.increase(ID, by));
      this.#note(`the response for ${by} more machines is ${answer}`);
      if (answer !== 'OK') return;
      // The verifier has its own watch, which can deliver the change of the replicas a little later.
      await sleep(clock, 1);
      this.#verifier.confirms(increase);
    };
    this.#start(send());
  }

  async #increaseTwice(): Promise<void> {
    await this.#increase();
    await this.#world.clock.advance(this.#dice.pause(1_000));
    await this.#increase();
  }

  #kill(): void {
    const victims = this.#dice.one([['manager'], PROCESSES] as const) ?? [];
    for (const victim of victims) this.#world.kill(victim);
  }

  #cut(): void {
    const callers = this.#dice.one(GROUPS) ?? [];
    const ms = this.#dice.pause(MAX_CUT_MS);
    this.#note(`the API server is unreachable for ${callers.join(', ')} for ${ms} ms`);
    this.#world.network.cut(...callers);
    this.#world.clock.setTimeout(() => this.#world.network.mend(), ms);
  }

  #silence(): void {
    this.#note('the watches of the manager receive no further events');
    this.#silenced = true;
    this.#world.network.silence('manager');
  }

  #endanger(): void {
    const { chances, ms } = drawFaultChances({ dice: this.#dice, note: (text) => this.#note(text) });
    this.#world.network.setFaultChances(chances, {});
    this.#world.clock.setTimeout(() => this.#world.network.setFaultChances({}), ms);
  }

  /** Removes all faults. The autoscaler repeats its requests until the named machines are gone. */
  async #calm(): Promise<void> {
    const world = this.#world;
    this.#note('all faults end');
    world.network.calm();
    if (this.#silenced || world.network.silencesWatches) await world.clock.advance(BOUNDS.reopened.ms);
    await world.until(async () => this.#open.size === 0);
    const there = async (): Promise<ReadonlySet<string>> =>
      new Set((await world.machines()).map(({ metadata }) => metadata.uid));
    await world.until(async () => {
      const uids = await there();
      const late = this.#removals.filter((one) => one.uids.some((uid) => uids.has(uid)));
      if (late.length === 0) return true;
      if (this.#open.size === 0)
        for (const removal of late) if (removal.answer !== 'OK') this.#start(this.#requestLater(removal));
      return false;
    }, BOUNDS.settled.ms);
    await world.until(async () => this.#open.size === 0);
    await world.untilSettled(this.#verifier.replicas, 'blue', BOUNDS.settled.ms);
    await world.clock.advance(BOUNDS.quiet.ms);
    await world.untilSettled(this.#verifier.replicas, 'blue', 1);
  }

  async #requestLater(removal: Removal): Promise<void> {
    await sleep(this.#world.clock, REPEAT_MS);
    await this.#request(removal);
  }
}

interface GroupHistoryParts {
  readonly world: World;
  readonly port: GroupPort;
  readonly verifier: GroupVerifier;
  readonly scaler: ScalerVerifier;
}

const nodeOf = ({ metadata, spec }: Machine): NamedNode => ({
  name: metadata.labels?.[Labels.Node] ?? metadata.name,
  providerID: spec.providerID ?? '',
});

/** Runs a history in which the autoscaler uses the external gRPC protocol of the manager. */
export async function playGroups(options: FleetHistoryOptions): Promise<Outcome> {
  const { seed, profile, wrap = (_, transport) => transport } = options;
  const port = new GroupPort();
  const wireMs = new Dice(seed).number(MAX_MANAGER_WIRE_MS);
  let world: World | undefined;
  const slow: typeof wrap = (name, transport) =>
    name === 'manager' ? slowWire(transport, () => world?.clock, wireMs) : transport;
  world = await World.start({
    seed,
    profile,
    machine: { creationTimeout: '30m', healthTimeout: '30m' },
    kubelets: { joinDelay: 500 * (seed % 7) },
    ...strategyOf('scaler', seed),
    annotations: { [Annotations.AutoscalerMinSize]: '0', [Annotations.AutoscalerMaxSize]: String(MAX_REPLICAS) },
    restartAfterMs: 1_000 * (seed % 11),
    wrap: (name, transport) => wrap(name, slow(name, transport)),
    journal: options.journal,
    serveGroups: port.serve,
  });
  const end = new AbortController();
  const scaler = ScalerVerifier.watch(world, FIRST_REPLICAS, end.signal);
  const verifier = GroupVerifier.watch(world, scaler, FIRST_REPLICAS, end.signal);
  const violations: string[] = [];
  const played = new GroupHistory({ world, port, verifier, scaler }, options);
  try {
    await world.reporter.until(played.run(), options);
  } catch (error) {
    violations.push(error instanceof Error ? error.message : String(error));
  }
  violations.push(...world.violations);
  const history = JSON.stringify(world.reporter.history);
  const story = world.reporter.tell();
  end.abort(new Error('closed'));
  await world.close();
  return { violations, story, history, plan: played.plan };
}
