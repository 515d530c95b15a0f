import { Annotations, type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { Autoscaler, SCALER_FORMS, type ScalerForm } from '@mcm/api/testing';
import { isConflict, nodes } from '@mcm/kube';
import type { Caller } from '../network/network.ts';
import { drawFaultChances } from '../network/random-faults.ts';
import { slowWire } from '../network/slow-wire.ts';
import { BOUNDS } from '../record/bounds.ts';
import { Dice } from '../script/dice.ts';
import { type Plan, Script } from '../script/script.ts';
import { ScalerVerifier } from '../verifiers/scaler-verifier.ts';
import { NAMESPACE, type ProcessName, World } from '../world/world.ts';
import { strategyOf } from './modes.ts';
import type { HistoryOptions, Outcome } from './outcome.ts';
import type { FleetHistoryOptions } from './random-history.ts';

const DEPLOYMENT = 'workers';
const FIRST_REPLICAS = 5;
const MAX_REPLICAS = 7;
const MAX_ACTS = 12;
const MAX_PAUSE_MS = 40_000;
const MAX_CUT_MS = 90_000;
const MAX_WIRE_MS = 200;

const PROCESSES: readonly ProcessName[] = ['manager', 'machine-controller'];
const GROUPS: readonly (readonly Caller[])[] = [['manager'], ['manager', 'machine-controller']];

const OFTEN = ['scale down', 'scale down', 'scale up'] as const;
type ActName = (typeof OFTEN)[number] | 'name ahead' | 'give up' | 'kill' | 'endanger' | 'cut' | 'silence';

const EXPIRY = '10m';
const EXPIRY_MS = 600_000;
const EARLY_MS = 60_000;

/** Returns true if marks expire in this history. */
const hasExpiry = (seed: number): boolean => seed % 3 === 0 || seed % 6 === 1;

const formOf = (seed: number): ScalerForm => SCALER_FORMS[seed % SCALER_FORMS.length] ?? 'names';

class ScalerHistory {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #verifier: ScalerVerifier;
  readonly #scaler: Autoscaler;
  readonly #script: Script;
  /** Whether the autoscaler writes the machine names and the lower replicas in a single write. */
  readonly #atOnce: boolean;
  #replicas = FIRST_REPLICAS;
  #silenced = false;

  constructor(world: World, verifier: ScalerVerifier, { seed, plan }: HistoryOptions) {
    this.#world = world;
    this.#dice = new Dice(seed + 2_000_000);
    this.#verifier = verifier;
    const form = formOf(seed);
    this.#scaler = scalerOf(world, form);
    world.reporter.note('act', `the autoscaler selects the machines to delete by ${form}`);
    // Until the autoscaler reduces the replicas, the names have no effect. If the autoscaler writes the names first,
    // its previous change must already be complete.
    const ahead = seed % 2 === 0 ? (['name ahead', 'name ahead'] as const) : [];
    const givesUp = hasExpiry(seed) ? (['give up', 'give up', 'give up'] as const) : [];
    this.#atOnce = form !== 'priority' && ahead.length === 0;
    // With `priority`, the autoscaler needs separate writes, because the Machine contains the priority and the
    // deployment contains the replicas.
    const blind = form === 'priority' ? [] : (['cut', 'silence'] as const);
    this.#script = new Script({
      dice: this.#dice,
      acts: [...OFTEN, ...OFTEN, ...ahead, ...givesUp, 'kill', 'kill', 'endanger', ...blind],
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
      'scale down': () => this.#scaleDown(),
      'scale up': () => this.#scaleUp(),
      'name ahead': () => this.#nameAhead(),
      'give up': () => this.#giveUp(),
      kill: () => this.#kill(),
      endanger: () => this.#endanger(),
      cut: () => this.#cut(),
      silence: () => this.#silence(),
    };
    await acts[name]();
  }

  async #victims(): Promise<readonly Machine[]> {
    const most = Math.min(1 + this.#dice.number(2), this.#replicas - 1);
    const candidates = (await this.#world.machines()).filter(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined &&
        status?.currentStatus?.phase === 'Running' &&
        !this.#verifier.isNamed(metadata.name),
    );
    const victims: Machine[] = [];
    while (victims.length < Math.min(most, candidates.length)) {
      const [victim] = candidates.splice(this.#dice.number(candidates.length), 1);
      if (victim) victims.push(victim);
    }
    return victims;
  }

  #chosen(victims: readonly Machine[]): readonly string[] {
    for (const { metadata } of victims) this.#world.reporter.deletesByHand(metadata.uid);
    return victims.map(({ metadata }) => metadata.name);
  }

  async #scaleDown(): Promise<void> {
    const victims = this.#chosen(await this.#victims());
    if (victims.length === 0) return;
    this.#lowers(victims);
    await this.#scaler.scaleDown(victims);
  }

  async #nameAhead(): Promise<void> {
    const world = this.#world;
    await this.#untilObserved();
    const victims = this.#chosen(await this.#victims());
    if (victims.length === 0) return;
    world.reporter.note('act', `the autoscaler marks ${victims} for deletion before it reduces the replicas`);
    this.#verifier.names(victims);
    await this.#scaler.nameOnly(victims);
    await world.clock.advance(this.#dice.pause(MAX_PAUSE_MS));
    if (this.#dice.number(2) === 0) this.#kill();
    this.#lowers(victims);
    await this.#scaler.scaleBy(-victims.length);
  }

  /** Waits until the manager has processed the last change of the replicas. */
  async #untilObserved(): Promise<void> {
    await this.#world.until(async () => {
      const { metadata, status } = await this.#world.deployment();
      return status?.observedGeneration === metadata.generation;
    });
  }

  /**
   * Lets the autoscaler mark machines without reducing the replicas. mcm must keep the marks until they expire, and
   * must then remove the marks. mcm must not delete a machine.
   */
  async #giveUp(): Promise<void> {
    const { clock, reporter } = this.#world;
    await this.#untilObserved();
    const victims = await this.#victims();
    if (victims.length === 0) return;
    const names = victims.map(({ metadata }) => metadata.name);
    reporter.note('act', `the autoscaler marks ${names} for deletion, but never reduces the replicas`);
    const at = clock.now().getTime();
    await this.#scaler.nameOnly(names);
    await clock.advance(this.#dice.pause(MAX_PAUSE_MS));
    if (this.#dice.number(2) === 0) this.#kill();
    await clock.advance(at + EXPIRY_MS - EARLY_MS - clock.now().getTime());
    const early = await this.#marked(victims);
    const there = new Set((await this.#world.machines()).filter(isStaying).map(({ metadata }) => metadata.uid));
    for (const { metadata } of victims)
      if (there.has(metadata.uid) && !early.includes(metadata.name))
        reporter.violate(`mcm removed the deletion mark of machine ${metadata.name} before its expiry`);
    await this.#world.until(async () => (await this.#marked(victims)).length === 0, BOUNDS.settled.ms);
  }

  async #marked(victims: readonly Machine[]): Promise<readonly string[]> {
    const uids = new Set(victims.map(({ metadata }) => metadata.uid));
    const { metadata } = await this.#world.deployment();
    const listed = (metadata.annotations?.[Annotations.TriggerDeletion] ?? '')
      .split(',')
      .map((one) => one.split('~')[0]);
    return (await this.#world.machines())
      .filter((machine) => uids.has(machine.metadata.uid) && isStaying(machine))
      .filter(({ metadata: { name, annotations = {} } }) => {
        const isLow = annotations[Annotations.Priority] === '1' || Annotations.MarkedForDeletionTime in annotations;
        return isLow || listed.includes(name);
      })
      .map(({ metadata: { name } }) => name);
  }

  #lowers(victims: readonly string[]): void {
    this.#verifier.names(victims);
    this.#replicas -= victims.length;
    this.#world.expects(this.#replicas);
    this.#world.reporter.note(
      'act',
      `the autoscaler marks ${victims} for deletion and requests ${this.#replicas} replicas`,
    );
  }

  async #scaleUp(): Promise<void> {
    const by = Math.min(1 + this.#dice.number(2), MAX_REPLICAS - this.#replicas);
    if (by <= 0) return;
    this.#verifier.rises(by);
    this.#replicas += by;
    this.#world.expects(this.#replicas);
    this.#world.reporter.note('act', `the autoscaler requests ${this.#replicas} replicas`);
    await this.#scaler.scaleBy(by);
  }

  #kill(): void {
    const victims = this.#dice.one([['manager'], PROCESSES] as const) ?? [];
    for (const victim of victims) this.#world.kill(victim);
  }

  #cut(): void {
    const callers = this.#dice.one(GROUPS) ?? [];
    const ms = this.#dice.pause(MAX_CUT_MS);
    this.#world.reporter.note('act', `the API server is unreachable for ${callers.join(', ')} for ${ms} ms`);
    this.#world.network.cut(...callers);
    this.#world.clock.setTimeout(() => this.#world.network.mend(), ms);
  }

  #silence(): void {
    this.#world.reporter.note('act', 'the watches of the manager receive no further events');
    this.#silenced = true;
    this.#world.network.silence('manager');
  }

  #endanger(): void {
    const note = (text: string) => this.#world.reporter.note('act', text);
    const { chances, ms } = drawFaultChances({ dice: this.#dice, note });
    this.#world.network.setFaultChances(chances, {});
    this.#world.clock.setTimeout(() => this.#world.network.setFaultChances({}), ms);
  }

  /** Removes all faults from the simulation. */
  async #calm(): Promise<void> {
    const world = this.#world;
    world.reporter.note('act', 'all faults end');
    world.network.calm();
    if (this.#silenced || world.network.silencesWatches) await world.clock.advance(BOUNDS.reopened.ms);
    await world.untilSettled(this.#replicas, 'blue', BOUNDS.settled.ms);
    await world.clock.advance(BOUNDS.quiet.ms);
    await world.untilSettled(this.#replicas, 'blue', 1);
    if (!this.#atOnce) return;
    for (const { metadata } of await world.machines()) {
      if (this.#verifier.isNamed(metadata.name))
        world.reporter.violate(`machine ${metadata.name} is marked for deletion but still exists`);
    }
  }
}

const isStaying = ({ metadata, status }: Machine): boolean =>
  metadata.deletionTimestamp === undefined && status?.currentStatus?.phase !== 'Failed';

function scalerOf({ admin, clock }: World, form: ScalerForm): Autoscaler {
  const deployments = admin.resource<MachineDeployment>(machineDeployments, NAMESPACE);
  const all = admin.resource<Machine>(machines, NAMESPACE);
  const cordon = { type: 'merge', body: { spec: { unschedulable: true } } } as const;
  return new Autoscaler(
    {
      getDeployment: () => deployments.get(DEPLOYMENT),
      putDeployment: (deployment) => deployments.update(deployment),
      getMachine: (name) => all.get(name),
      putMachine: (machine) => all.update(machine),
      cordon: (name) => admin.resource(nodes).patch(name, cordon),
      isConflict,
      now: () => clock.now(),
    },
    form,
  );
}

/** Runs a history in which an autoscaler selects the machines for deletion. */
export async function playScaler(options: FleetHistoryOptions): Promise<Outcome> {
  const { seed, profile, wrap = (_, transport) => transport } = options;
  let world: World | undefined;
  const wireMs = new Dice(seed).number(MAX_WIRE_MS);
  world = await World.start({
    seed,
    profile,
    machine: { creationTimeout: '30m', healthTimeout: '30m' },
    kubelets: { joinDelay: 500 * (seed % 7) },
    ...strategyOf('scaler', seed),
    // Even with a short expiry, a scale-down must delete the marked machines.
    annotations: hasExpiry(seed) ? { [Annotations.MarkExpiry]: EXPIRY } : undefined,
    restartAfterMs: 1_000 * (seed % 11),
    wrap: (name, transport) =>
      wrap(
        name,
        slowWire(transport, () => world?.clock, wireMs),
      ),
    journal: options.journal,
  });
  const end = new AbortController();
  const namesArriveLate = formOf(seed) === 'priority' && (profile ?? 'none') !== 'none';
  const verifier = ScalerVerifier.watch(world, FIRST_REPLICAS, end.signal, namesArriveLate);
  const violations: string[] = [];
  const played = new ScalerHistory(world, verifier, options);
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
