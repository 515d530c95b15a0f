import type { KillPoint } from '@mcm/conformance/fleet';
import { compactsHistory } from '../histories/modes.ts';
import type { HistoryOptions, Outcome } from '../histories/outcome.ts';
import { BOUNDS } from '../record/bounds.ts';
import { Dice } from '../script/dice.ts';
import { type Plan, Script } from '../script/script.ts';
import { FleetWorld } from './fleet-world.ts';
import type { FleetDefect, Program } from './replica.ts';
import type { SimulatedBudget } from './rollout-verifier.ts';
import { type SourceActName, SourceActs, sourceActsOf, sourceOf } from './source-acts.ts';
import { SEED } from './wires.ts';

const MAX_ACTS = 14;
const MAX_PAUSE_MS = 60_000;
const MAX_FREEZE_MS = 90_000;
const MAX_FAULT_MS = 180_000;
const MAX_JUMP_MS = 300_000;
const MAX_SKEW_MS = 600_000;
const MAX_SLOW_MS = 12_000;
const MOST_MACHINES = 2;
const MOST_REQUESTS = 300;
const LARGE = 50;
const LARGE_EVERY = 20;
const QUIET_EVERY = 4;
const QUIET_LEASE_MS = 90_000;
const LOOK_MS = 1_000;

const ACTS = {
  roll: 3,
  scale: 2,
  'delete machine': 1,
  kill: 3,
  'kill later': 3,
  freeze: 2,
  stop: 1,
  jump: 1,
  'cut target': 2,
  'cut seed': 2,
  hang: 1,
  slow: 1,
  mislead: 1,
  'delete namespace': 1,
  drain: 1,
  move: 1,
} as const;
const MORE_ACTS = { 'hand over': 2, weigh: 1, empty: 2 } as const;
type ActName = keyof typeof ACTS | keyof typeof MORE_ACTS;
type AnyActName = ActName | SourceActName;
/** If the seed of a history is a multiple of this number, the history has hibernated clusters and more actions. */
const MORE_ACTS_EVERY = 6;
const HANDED_OVER_MS = 300_000;
const HIBERNATE_MS = 60_000;
/** If the seed of a history has this remainder when divided by 6, two fleets serve the clusters of the history. */
const TWO_FLEETS = 3;
/**
 * If the seed of a history is a multiple of `every`, the history has this number of clusters. These histories are the
 * largest.
 */
const LARGEST: readonly (readonly [every: number, clusters: number])[] = [
  [100_000, 1_000],
  [10_000, 500],
];

export interface FleetModeOptions extends HistoryOptions {
  readonly defect?: FleetDefect;
  readonly budget?: SimulatedBudget;
}

export interface FleetModeOutcome extends Outcome {
  readonly verified: Readonly<Record<'served' | 'fenced' | 'drained' | 'budgeted', number>>;
}

const RESTARTS_MS = [2_000, 60_000] as const;

/** Decides when processes are killed and restarted. */
class KillPoints {
  readonly #dice: Dice;
  #armed = 0;

  constructor(seed: number) {
    this.#dice = new Dice(seed + 4_000_000);
  }

  arm(): void {
    this.#armed += 1;
  }

  calm(): void {
    this.#armed = 0;
  }

  restartMs(): number {
    return this.#dice.one(RESTARTS_MS) ?? 0;
  }

  next(): KillPoint | undefined {
    if (this.#armed === 0) return undefined;
    this.#armed -= 1;
    return { request: 1 + this.#dice.number(MOST_REQUESTS), when: this.#dice.number(2) === 0 ? 'before' : 'after' };
  }
}

const hasMore = (seed: number): boolean => seed % MORE_ACTS_EVERY === 0;

/** Returns the number of clusters of a history. */
function clustersOf(seed: number, dice: Dice): number {
  const largest = LARGEST.find(([every]) => seed % every === 0)?.[1];
  return largest ?? (seed % LARGE_EVERY === 0 ? LARGE : 3 + dice.number(4));
}

class FleetHistory {
  readonly #world: FleetWorld;
  readonly #dice: Dice;
  readonly #kills: KillPoints;
  readonly #script: Script;
  readonly #compacts: boolean;
  readonly #seed: number;
  readonly #sourceActs: SourceActs;

  constructor(world: FleetWorld, kills: KillPoints, { seed, plan }: HistoryOptions) {
    this.#world = world;
    this.#seed = seed;
    this.#compacts = compactsHistory(seed);
    this.#kills = kills;
    this.#dice = new Dice(seed + 2_000_000);
    this.#sourceActs = new SourceActs(world, this.#dice);
    this.#script = new Script({
      dice: this.#dice,
      acts: Object.entries({
        ...ACTS,
        ...(hasMore(seed) ? MORE_ACTS : {}),
        ...sourceActsOf(sourceOf(seed)),
      }).flatMap(([name, weight]) => Array.from({ length: weight }, () => name)),
      maxPauseMs: MAX_PAUSE_MS,
      wait: (ms) => world.clock.advance(ms),
      act: (name) => this.#act(name as AnyActName),
      plan,
    });
  }

  get plan(): Plan {
    return this.#script.plan;
  }

  async run(): Promise<void> {
    await this.#settle();
    await this.#script.play(2 + this.#dice.number(MAX_ACTS));
    await this.#calm();
  }

  async #act(name: AnyActName): Promise<void> {
    const ofSource = (act: SourceActName) => (): Promise<void> => this.#sourceActs.act(act, this.#cluster());
    const acts: Readonly<Record<AnyActName, () => Promise<void> | void>> = {
      roll: () => this.#change((wish) => ({ machineClass: wish.machineClass === 'blue' ? 'green' : 'blue' })),
      scale: () => this.#change(() => ({ replicas: this.#dice.number(MOST_MACHINES + 1) })),
      'delete machine': () => this.#deleteMachine(),
      kill: () => this.#onProgram((program) => program.kill()),
      'kill later': () => {
        this.#kills.arm();
        this.#onProgram((program) => program.kill());
      },
      freeze: () => this.#freeze(),
      stop: () => this.#onProgram((program) => program.stop()),
      jump: () => this.#jump(),
      'cut target': () => this.#cut(this.#cluster()),
      'cut seed': () => this.#cut(SEED),
      hang: () => this.#hang(),
      slow: () => this.#slow(),
      mislead: () => this.#mislead(),
      'delete namespace': () => this.#deleteNamespace(),
      drain: () => this.#drain(),
      move: () => this.#move(),
      'hand over': () => this.#handOver(),
      weigh: () => this.#weigh(),
      empty: () => this.#change(() => ({ replicas: 0 })),
      leave: ofSource('leave'),
      remove: ofSource('remove'),
      pause: ofSource('pause'),
      second: ofSource('second'),
      spoil: ofSource('spoil'),
    };
    await acts[name]();
  }

  #cluster(): string {
    const { clusters, deleted } = this.#world;
    return this.#dice.one(clusters.filter((name) => !deleted.has(name))) ?? '';
  }

  #onProgram(act: (program: Program) => void): void {
    const program = this.#dice.one(this.#world.programs);
    if (program?.runs) act(program);
  }

  async #change(
    wish: (now: { readonly replicas: number; readonly machineClass: string }) => {
      readonly replicas?: number;
      readonly machineClass?: string;
    },
  ): Promise<void> {
    const cluster = this.#cluster();
    const now = this.#world.wishes.get(cluster);
    if (now !== undefined) await this.#world.change(cluster, wish(now));
  }

  async #deleteMachine(): Promise<void> {
    const cluster = this.#cluster();
    const all = (await this.#world.machines(cluster)).filter(({ metadata }) => !metadata.deletionTimestamp);
    const machine = this.#dice.one(all);
    if (machine !== undefined) await this.#world.deleteMachine(cluster, machine.metadata.name);
  }

  #freeze(): void {
    const ms = this.#dice.pause(MAX_FREEZE_MS);
    this.#onProgram((program) => {
      this.#world.reporter.note('act', `process ${program.identity} is suspended for ${ms} ms`);
      program.freeze(ms);
    });
  }

  #jump(): void {
    const ms = this.#dice.pause(MAX_JUMP_MS) * (this.#dice.number(2) === 0 ? 1 : -1);
    this.#world.reporter.note('act', `all clocks jump by ${ms} ms`);
    this.#world.clock.jump(ms);
  }

  #later(ms: number, act: () => void): void {
    this.#world.clock.setTimeout(act, ms);
  }

  #cut(server: string): void {
    const { wires, served, reporter } = this.#world;
    const program = this.#dice.one(this.#world.programs);
    const failure = this.#dice.one(['hangs', 'is refused'] as const) ?? 'hangs';
    const ms = this.#dice.pause(MAX_FAULT_MS);
    if (program === undefined) return;
    reporter.note('act', `the connection of ${program.process} to ${server} ${failure} for ${ms} ms`);
    wires.cut(program.process, server, failure);
    served.connectionsChanged();
    this.#later(ms, () => {
      if (this.#compacts) this.#world.compact(server);
      wires.mend(program.process, server);
      served.connectionsChanged();
    });
  }

  #hang(): void {
    const { wires, served, reporter } = this.#world;
    const [cluster, ms] = [this.#cluster(), this.#dice.pause(MAX_FAULT_MS)];
    reporter.note('act', `the API server of ${cluster} does not answer for ${ms} ms`);
    wires.hang(cluster, true);
    served.connectionsChanged();
    this.#later(ms, () => {
      if (this.#compacts) this.#world.compact(cluster);
      wires.hang(cluster, false);
      served.connectionsChanged();
    });
  }

  #slow(): void {
    const { wires, served, slowed, reporter } = this.#world;
    const [cluster, ms, delayMs] = [this.#cluster(), this.#dice.pause(MAX_FAULT_MS), this.#dice.number(MAX_SLOW_MS)];
    reporter.note('act', `the seed delays requests of namespace ${cluster} by ${delayMs} ms for ${ms} ms`);
    wires.slow(cluster, delayMs);
    slowed.add(cluster);
    this.#later(ms, () => {
      wires.slow(cluster, 0);
      slowed.delete(cluster);
      served.connectionsChanged();
    });
  }

  async #mislead(): Promise<void> {
    const world = this.#world;
    const cluster = this.#cluster();
    const other = this.#dice.one(world.clusters.filter((name) => name !== cluster)) ?? '';
    const ms = this.#dice.pause(MAX_FAULT_MS);
    // Without a seed, both clusters compete for one Lease, so the verifier cannot know which cluster must be served.
    if (world.source.name === 'profiles' && world.misled.size > 0) return;
    await world.mislead(cluster, other);
    this.#later(ms, () => {
      if (world.deleted.has(cluster)) return;
      void world.mislead(cluster, undefined).catch((error: unknown) => world.reporter.violate(String(error)));
    });
  }

  async #deleteNamespace(): Promise<void> {
    const world = this.#world;
    if (world.source.name === 'profiles') return;
    const isAbsent = (name: string): boolean => sourceOf(this.#seed) !== undefined && world.handedOver.has(name);
    const [cluster] = world.clusters.filter(
      (name) => !world.misled.has(name) && !world.deleted.has(name) && !isAbsent(name),
    );
    if (cluster !== undefined && world.deleted.size === 0) await world.deleteNamespace(cluster);
  }

  async #drain(): Promise<void> {
    const world = this.#world;
    const replica = String(this.#dice.number(2));
    const ms = this.#dice.pause(MAX_FAULT_MS);
    await world.annotatePeer(replica, { 'fleet-drain': 'true' });
    this.#later(ms, () => {
      void world
        .annotatePeer(replica, { 'fleet-drain': null })
        .catch((error: unknown) => world.reporter.violate(String(error)));
    });
  }

  async #move(): Promise<void> {
    await this.#world.annotatePeer(String(this.#dice.number(2)), { 'fleet-clusters': this.#cluster() });
  }

  async #handOver(): Promise<void> {
    const world = this.#world;
    const cluster = this.#cluster();
    if (cluster === '') return;
    await world.handOver(cluster, true);
    this.#later(HANDED_OVER_MS, () => {
      if (world.deleted.has(cluster)) return;
      void world.handOver(cluster, false).catch((error: unknown) => world.reporter.violate(String(error)));
    });
  }

  async #weigh(): Promise<void> {
    const weight = String(this.#dice.one([0, 1, 100]) ?? 1);
    await this.#world.annotatePeer(String(this.#dice.number(2)), { 'fleet-weight': weight });
  }

  async #settle(): Promise<void> {
    const world = this.#world;
    let problem: string | undefined;
    for (let ms = 0; ms < BOUNDS.fleetSettled.ms; ms += LOOK_MS) {
      problem = await world.mismatch();
      if (problem === undefined) return;
      await world.clock.advance(LOOK_MS);
    }
    world.reporter.violate(`${problem} after ${BOUNDS.fleetSettled.ms} ms\n${world.describe()}`);
  }

  /** Removes all faults from the simulation. */
  async #calm(): Promise<void> {
    this.#kills.calm();
    this.#world.reporter.note('act', 'the simulation starts no further faults');
    const isLong = hasMore(this.#seed) || sourceOf(this.#seed) !== undefined;
    await this.#world.clock.advance(isLong ? 2 * MAX_FAULT_MS : MAX_FAULT_MS);
    await this.#settle();
    if (hasMore(this.#seed)) await this.#wakeAll();
  }

  async #wakeAll(): Promise<void> {
    const { wishes, deleted } = this.#world;
    for (const [cluster, { replicas }] of wishes)
      if (replicas === 0 && !deleted.has(cluster)) await this.#world.change(cluster, { replicas: 1 });
    await this.#settle();
  }
}

/** Runs a history of a fleet with several clusters. */
export async function playFleet(options: FleetModeOptions): Promise<FleetModeOutcome> {
  const { seed, defect = {} } = options;
  const dice = new Dice(seed);
  const replicas = 2 + dice.number(2);
  const kills = new KillPoints(seed);
  const clusters = clustersOf(seed, dice);
  const fleets = seed % MORE_ACTS_EVERY === TWO_FLEETS ? 2 : 1;
  const budget =
    options.budget ??
    (seed % 2 === 1 && fleets === 1 ? { maxClusters: 1 + (seed % 4 === 1 ? 1 : 0), soak: '1m' } : undefined);
  const world = await FleetWorld.start({
    seed,
    clusters,
    replicas,
    skewMs: Array.from({ length: replicas }, () =>
      dice.number(3) === 0 ? dice.number(2 * MAX_SKEW_MS) - MAX_SKEW_MS : 0,
    ),
    killPoint: () => kills.next(),
    restartMs: () => kills.restartMs(),
    defect,
    budget,
    fleets,
    source: sourceOf(seed),
    hibernateMs: hasMore(seed) ? HIBERNATE_MS : undefined,
    quietLeaseMs: seed % QUIET_EVERY === 0 ? QUIET_LEASE_MS : undefined,
  });
  const violations: string[] = [];
  const played = new FleetHistory(world, kills, options);
  try {
    await world.reporter.until(played.run(), options);
  } catch (error) {
    violations.push(error instanceof Error ? error.message : String(error));
  }
  violations.push(...world.reporter.violations);
  const history = JSON.stringify(world.reporter.history);
  const story = world.reporter.tell();
  const verified = {
    served: world.served.verified,
    fenced: world.fences.verified,
    drained: world.drained,
    budgeted: world.rollouts?.verified ?? 0,
  };
  await world.close();
  return { violations, story, history, plan: played.plan, verified };
}
