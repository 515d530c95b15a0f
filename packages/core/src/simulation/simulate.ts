import {
  Annotations,
  Labels,
  type Machine,
  type MachineClass,
  type MachineDeployment,
  type MachineSet,
} from '@mcm/api';
import { controllerOf, type Node } from '@mcm/kube';
import { planRollout } from '../deployment/plan.ts';
import { withProgress } from '../deployment/state/progress.ts';
import { deploymentStatus } from '../deployment/state/status.ts';
import type { RolloutPlan } from '../deployment/state/step.ts';
import type { DeploymentSnapshot } from '../deployment/state/view.ts';
import type { Guards } from '../disruption/guards.ts';
import { guardsOf } from '../disruption/reading.ts';
import { countsTerminating, type SafeguardSettings } from '../disruption/safeguards.ts';
import { setDeploymentCondition } from '../objects/conditions.ts';
import { limitsOf } from '../objects/limits.ts';
import { nextMachineNames, unrecordedNames } from '../objects/machine-names.ts';
import { isFailed, isTerminating, type LostState, lostStateOf } from '../objects/machines.ts';
import { scalerRequest } from '../objects/scaler.ts';
import { splitSets } from '../rollout/revisions.ts';
import { isComplete } from '../rollout/rollout-completion.ts';
import { deletionOrder } from '../set/replicas/deletion-order.ts';
import { newMachine } from '../set/replicas/new-machine.ts';
import { roomOfSet } from '../set/replicas/repair-group.ts';
import { planReplicas } from '../set/replicas/replicas.ts';
import { warmStateOf } from '../warm/warm-machine.ts';
import { placesFor } from '../zones/places.ts';
import { zoneRanks } from '../zones/ranks.ts';
import { zoneSettingOf } from '../zones/setting.ts';
import { machinesByZone, machinesToReplace, type ZoneInput, zoneOfMachine, zoneStates } from '../zones/spread.ts';
import { withOwnNodes } from './own-nodes.ts';
import { SimulatedWarmPool } from './warm-pool.ts';
import { type SimulatedDurations, SimulatedWorld } from './world.ts';

/** The deployment with the change that a user wants to simulate, and the current state of its objects. */
export interface SimulationInput {
  /** The deployment must be valid, must exist in the API server, and must not be in deletion. */
  readonly deployment: MachineDeployment;
  readonly sets: readonly MachineSet[];
  readonly fleet: readonly Machine[];
  readonly classes: readonly MachineClass[];
  readonly overlaps: readonly MachineDeployment[];
  /** The Nodes. */
  readonly nodes: readonly Node[] | undefined;
  readonly safeguards: SafeguardSettings;
  readonly durations: SimulatedDurations;
  readonly now: Date;
}

/** One simulated action of the controllers. */
export interface SimulatedStep {
  readonly afterMs: number;
  readonly action:
    | ('make set' | 'make' | 'use warm' | 'make warm')
    | ('delete' | 'delete set' | 'delete warm')
    | ('select' | 'hand over' | 'roll back' | 'pause');
  readonly name: string;
  readonly set?: string | undefined;
  readonly zone?: string | undefined;
  readonly because: string;
}

/** The final state of a deployment, its sets, their machines by UID, and the Nodes if mcm can read the Nodes. */
export interface SimulatedEnd extends Pick<DeploymentSnapshot, 'deployment' | 'sets' | 'machines'> {
  readonly nodes: readonly Node[] | undefined;
  readonly now: Date;
}

/** The result of a simulation. */
export interface Simulation {
  readonly steps: readonly SimulatedStep[];
  readonly disrupted: readonly Machine[];
  readonly lastsMs: number;
  readonly complete: boolean;
  readonly because: string;
  readonly end: SimulatedEnd;
  readonly problems: readonly string[];
  readonly leastAvailable: number;
  readonly most: number;
}

/** Returns the maximum number of steps. */
const looksFor = (machines: number): number => 1_000 + 50 * machines;

/**
 * Simulates the controllers for one deployment. The simulation calls the decision functions of the controllers with
 * objects in memory, and sends no requests. The simulation assumes that new machines join, that in-place updates
 * succeed, and that no other change occurs.
 */
export function simulateRollout(input: SimulationInput): Simulation {
  const simulation = new Run(input);
  return simulation.run();
}

class Run {
  readonly #input: SimulationInput;
  readonly #world: SimulatedWorld;
  readonly #warm: SimulatedWarmPool;
  readonly #steps: SimulatedStep[] = [];
  readonly #disrupted = new Map<string, Machine>();
  readonly #lost = new Map<string, LostState[]>();
  readonly #homes = new Map<string, readonly string[]>();
  #before: ReadonlyMap<string, number> | undefined;
  readonly #made = new Map<string, number>();
  readonly #names = new Map<string, Set<string>>();
  /** The simulation assumes that unreachable machines stay unreachable. */
  readonly #guards: Guards;
  readonly #fleet: ReadonlySet<string>;
  readonly #rivals: readonly string[];
  #leastAvailable = Number.POSITIVE_INFINITY;
  #most = 0;

  constructor(input: SimulationInput) {
    this.#input = input;
    const uids = new Set(input.sets.map(({ metadata }) => metadata.uid));
    const machines = input.fleet.filter((machine) => uids.has(controllerOf(machine)?.uid ?? ''));
    const own = withOwnNodes(machines, input.nodes);
    this.#rivals = own.problems;
    this.#world = new SimulatedWorld({ ...input, machines: own.machines }, input.durations);
    const { classes, fleet, nodes, safeguards, now, deployment, durations } = input;
    const warm = fleet.filter(
      (machine) => controllerOf(machine)?.uid === deployment.metadata.uid && warmStateOf(machine) !== undefined,
    );
    this.#warm = new SimulatedWarmPool(this.#world, warm, durations);
    this.#guards = guardsOf({ machines: fleet, classes, nodes }, safeguards, now);
    this.#fleet = new Set(fleet.map(({ metadata }) => metadata.uid));
  }

  run(): Simulation {
    let looks = looksFor(this.#input.fleet.length + (this.#input.deployment.spec.replicas ?? 0));
    let plan = this.#settle();
    while (looks-- > 0 && this.#world.advance(plan.lookAgainAt)) plan = this.#settle();
    const last = this.#steps.at(-1)?.afterMs ?? 0;
    const { deployment } = this.#world;
    const complete =
      isComplete(deployment, deployment.status) && this.#world.machines.all().every((one) => !isTerminating(one));
    return {
      steps: this.#steps,
      disrupted: [...this.#disrupted.values()],
      lastsMs: Math.max(last, this.#quietAt - this.#input.now.getTime()),
      complete,
      because: plan.because,
      end: { ...this.#there(), nodes: this.#world.nodes, now: this.#world.now },
      problems: [...plan.problems.conditions.map(({ type, message }) => `${type}: ${message}`), ...this.#rivals],
      leastAvailable: this.#leastAvailable,
      most: this.#most,
    };
  }

  #quietAt = 0;
  #seen = '';

  /** Executes all actions of the controllers that are due at the current time. */
  #settle(): RolloutPlan {
    for (let looks = looksFor(this.#world.machines.size); ; looks--) {
      const before = this.#steps.length;
      const plan = this.#look();
      const moved = this.#carryOut(plan);
      const changed = this.#replicas(plan);
      this.#keepWarm();
      if ((!moved && !changed && this.#steps.length === before) || looks <= 0) {
        this.#count();
        return plan;
      }
    }
  }

  #count(): void {
    const { available, size } = this.#world.machines;
    this.#leastAvailable = Math.min(this.#leastAvailable, available);
    this.#most = Math.max(this.#most, size);
    const seen = `${available}/${size}`;
    if (seen !== this.#seen) this.#quietAt = this.#world.nowMs;
    this.#seen = seen;
  }

  #there(): Pick<DeploymentSnapshot, 'deployment' | 'sets' | 'machines'> {
    const { deployment, sets } = this.#world;
    return { deployment, sets, machines: new Map(sets.map((set) => [set.metadata.uid, this.#world.machinesOf(set)])) };
  }

  #look(): RolloutPlan {
    const world = this.#world;
    const snapshot: DeploymentSnapshot = {
      ...this.#there(),
      creating: () => 0,
      nodeOf: world.nodeOf,
      guards: this.#guards,
      overlaps: this.#input.overlaps,
      now: world.now,
    };
    return planRollout(snapshot);
  }

  #carryOut(plan: RolloutPlan): boolean {
    const world = this.#world;
    const { because } = plan;
    if (plan.pause) {
      world.pause(plan.pause.note);
      this.#step('pause', world.deployment.metadata.name, because);
      return true;
    }
    if (plan.lastGood !== undefined) world.annotate({ [Annotations.RolloutLastGood]: plan.lastGood });
    if (plan.standby !== undefined) world.annotate({ [Annotations.ZonesStandby]: plan.standby ?? '' });
    if (plan.short !== undefined) world.annotate({ [Annotations.ZonesShort]: plan.short ?? '' });
    for (const set of plan.write)
      world.sets = world.sets.map((one) => (one.metadata.uid === set.metadata.uid ? set : one));
    if (plan.rollback) {
      world.deployment = plan.rollback.deployment;
      this.#step('roll back', world.deployment.metadata.name, because);
      return true;
    }
    if (plan.create) this.#step('make set', world.createSet(plan.create).metadata.name, because);
    for (const set of plan.remove) {
      world.sets = world.sets.filter((one) => one.metadata.uid !== set.metadata.uid);
      this.#step(
        'delete set',
        set.metadata.name,
        'spec.revisionHistoryLimit is lower than the number of inactive sets',
      );
    }
    const marked = this.#mark(plan);
    this.#report(plan);
    return marked || plan.create !== undefined || plan.write.length > 0;
  }

  #mark({ inPlace, nodes: { candidates }, because }: RolloutPlan): boolean {
    const world = this.#world;
    for (const { machine, body } of inPlace.machines) {
      const moves = 'ownerReferences' in (body as { metadata: object }).metadata;
      world.patchMachine(machine, body);
      if (moves) this.#step('hand over', machine.metadata.name, 'it was updated');
    }
    for (const { node, change } of [...inPlace.nodes, ...(inPlace.leftovers ?? [])]) {
      const machine = world.machines.on(node.metadata.name);
      world.changeNode(node, change);
      if (!machine || !change.metadata?.labels?.[Labels.SelectedForUpdate]) continue;
      this.#disrupted.set(machine.metadata.uid, machine);
      this.#step('select', machine.metadata.name, because);
    }
    let marked = inPlace.machines.length + inPlace.nodes.length > 0;
    for (const machine of candidates.flatMap((set) => world.machinesOf(set))) {
      const node = world.nodeOfMachine(machine);
      if (!node || isTerminating(machine) || node.metadata.labels?.[Labels.CandidateForUpdate] !== undefined) continue;
      world.changeNode(node, { metadata: { labels: { [Labels.CandidateForUpdate]: 'true' } } });
      marked = true;
    }
    return marked;
  }

  #report({ sets, condition, soakEnd }: RolloutPlan): void {
    const world = this.#world;
    const { deployment, now } = world;
    const counted = deploymentStatus(deployment, sets, limitsOf(deployment).unavailable, now);
    const conditions = condition ? setDeploymentCondition(counted.conditions, condition, now) : counted.conditions;
    const status = withProgress(deployment, sets, { ...counted, conditions }, { now, soakEnd });
    world.deployment = { ...deployment, status };
  }

  #replicas({ repairs }: RolloutPlan): boolean {
    const world = this.#world;
    const classes = new Set(this.#input.classes.map(({ metadata }) => metadata.name));
    const room = countsTerminating(world.deployment, this.#input.safeguards);
    const replaceable = new Set(repairs.go);
    let changed = false;
    for (const set of world.sets) {
      const { create, toDelete, because } = planReplicas({
        set,
        machines: world.machinesOf(set),
        deleting: new Map(),
        nodeAnnotations: (name) => {
          const node = world.nodeOf?.(name);
          return node && (node.metadata.annotations ?? {});
        },
        replaceable,
        room: room ? this.#roomOf(set) : undefined,
        lacksClass: !classes.has(set.spec.template.spec.class.name ?? ''),
        scaler: scalerRequest(set, world.deployment),
        zoneRanks: this.#zoneRanks(set),
        now: world.now,
      });
      if (create > 0) this.#make(set, create, because);
      for (const machine of toDelete) this.#delete(set, machine, because);
      changed ||= create > 0 || toDelete.length > 0;
    }
    return changed;
  }

  #keepWarm(): void {
    const { deployment, sets } = this.#world;
    if (!this.#warm.isActive(deployment)) return;
    const { current, old } = splitSets(deployment, sets);
    const own = current ? this.#world.machinesOf(current) : [];
    const alive = own.filter((machine) => !isTerminating(machine)).length;
    for (const { action, name, because } of this.#warm.settle({ deployment, current, old, alive }))
      this.#step(action, name, because, { set: current?.metadata.name });
  }

  #use(set: MachineSet, count: number, because: string): number {
    const taken = this.#warm.take(set, count);
    for (const machine of taken) {
      this.#world.use(machine, newMachine(set, machine.metadata.name, { lostState: this.#nextLost(set) }));
      this.#step('use warm', machine.metadata.name, because, { set: set.metadata.name });
    }
    return taken.length;
  }

  #nextLost({ metadata: { uid } }: MachineSet): LostState | undefined {
    const [lostState, ...others] = this.#lost.get(uid) ?? [];
    this.#lost.set(uid, others);
    return lostState;
  }

  #current(): MachineSet | undefined {
    return splitSets(this.#world.deployment, this.#world.sets).current;
  }

  #zones(): ZoneInput | undefined {
    const { deployment, machines, nodeOf } = this.#world;
    const setting = zoneSettingOf(deployment);
    const isOld = machinesToReplace(deployment, this.#current(), machines.all());
    return setting && { setting, machines: machines.all(), nodeOf, isOld };
  }

  #zoneRanks(set: MachineSet): ReturnType<typeof zoneRanks> | undefined {
    const input = this.#zones();
    const alive = this.#world.machinesOf(set).filter((machine) => !isTerminating(machine));
    const ordered = alive.toSorted(deletionOrder(this.#world.now));
    if (!input) return undefined;
    const states = zoneStates(input);
    if (alive.length > (set.spec.replicas ?? 0)) this.#before = machinesByZone(states);
    return zoneRanks(input, states, ordered, {
      replicas: set.spec.replicas ?? 0,
      wanted: this.#world.deployment.spec.replicas ?? 0,
    });
  }

  #roomOf(set: MachineSet): number {
    const { deployment, sets } = this.#world;
    return roomOfSet(deployment, set, {
      siblings: sets,
      machinesOf: (one) => this.#world.machinesOf(one),
      isGoing: isTerminating,
    });
  }

  #make(set: MachineSet, wanted: number, because: string): void {
    const count = wanted - this.#use(set, wanted, because);
    if (count > 0) this.#create(set, count, because);
  }

  #create(set: MachineSet, count: number, because: string): void {
    const { uid, name } = set.metadata;
    // If the set is new, its UID is unknown, so the result contains a placeholder instead of the machine name.
    const isNew = !this.#input.sets.some((one) => one.metadata.uid === uid);
    const made = this.#made.get(uid) ?? 0;
    const names = isNew
      ? Array.from({ length: count }, (_, index) => `${name}-<${made + index + 1}>`)
      : this.#nextNames(set, count);
    this.#made.set(uid, made + count);
    const zones = this.#zones();
    const wanted = this.#world.deployment.spec.replicas ?? 0;
    const isOld = this.#current()?.metadata.uid === uid ? zones?.isOld : undefined;
    const lost = this.#homes.get(uid);
    const places = zones ? placesFor(zoneStates(zones), { count, wanted, isOld, lost, before: this.#before }) : [];
    this.#homes.delete(uid);
    for (const [index, machine] of names.entries()) {
      const place = places[index];
      this.#world.create(newMachine(set, machine, { lostState: this.#nextLost(set), place }));
      const why = place ? `${because}; ${place.because}` : because;
      this.#step('make', machine, why, { set: name, zone: place?.zone.name });
    }
  }

  #nextNames(set: MachineSet, count: number): readonly string[] {
    const known = this.#world.machinesOf(set).map(({ metadata }) => metadata.name);
    const given = this.#names.get(set.metadata.uid) ?? new Set(known);
    for (const name of known) given.add(name);
    const names = nextMachineNames(set, unrecordedNames(set, given), count, (name) => given.has(name));
    for (const name of names) given.add(name);
    this.#names.set(set.metadata.uid, given);
    return names;
  }

  #delete(set: MachineSet, machine: Machine, because: string): void {
    const { uid } = set.metadata;
    const zones = this.#zones();
    const zone = zones && zoneOfMachine(zones, machine)?.name;
    if (isFailed(machine)) {
      this.#lost.set(uid, [...(this.#lost.get(uid) ?? []), lostStateOf(machine)].sort());
      if (zone !== undefined) this.#homes.set(uid, [...(this.#homes.get(uid) ?? []), zone]);
    }
    if (this.#fleet.has(machine.metadata.uid)) this.#disrupted.set(machine.metadata.uid, machine);
    this.#world.delete(machine);
    this.#step('delete', machine.metadata.name, because, { set: set.metadata.name, zone });
  }

  #step(
    action: SimulatedStep['action'],
    name: string,
    because: string,
    of: Pick<SimulatedStep, 'set' | 'zone'> = {},
  ): void {
    const afterMs = this.#world.nowMs - this.#input.now.getTime();
    this.#steps.push({ afterMs, action, name, because, ...of });
  }
}
