import {
  Labels,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type Change, controllerOf, type Node, nodes } from '@mcm/kube';
import { type Hold, isOverridden } from '../world/holds.ts';
import type { World } from '../world/world.ts';
import { follow } from './follow.ts';

const isGoing = ({ metadata }: Machine): boolean => metadata.deletionTimestamp !== undefined;
const sizeOf = ({ spec }: MachineSet): number => spec.replicas ?? 0;

/**
 * Reports changes by a rollout that must wait. These rules apply:
 * - The size of a set changes only if the user scales the deployment.
 * - A set creates and deletes machines only to reach its size, or to replace failed machines.
 * - If only one set has machines, it may grow to the size of the deployment, because the rollout may have stopped after
 *   a deletion.
 * - mcm keeps a Running machine whose node postpones the rollout. Exceptions are a scale-in and a deletion by the user.
 */
export class HoldVerifier {
  readonly #world: World;
  readonly #sets = new Map<string, MachineSet>();
  readonly #machines = new Map<string, Machine>();
  readonly #hold: Hold;
  #deployment: MachineDeployment | undefined;
  #replicas: number | undefined;
  readonly #postponed = new Map<string, number>();
  #counted: number | undefined;
  #more = false;
  #fewer = false;
  #verified = 0;

  private constructor(world: World, hold: Hold) {
    this.#world = world;
    this.#hold = hold;
  }

  static watch(world: World, hold: Hold, signal: AbortSignal): HoldVerifier {
    const verifier = new HoldVerifier(world, hold);
    follow<MachineDeployment>(world, machineDeployments, signal, (change) => verifier.#deploymentChanged(change));
    follow<MachineSet>(world, machineSets, signal, (change) => verifier.#setChanged(change));
    follow<Machine>(world, machines, signal, (change) => verifier.#machineChanged(change));
    follow<Node>(world, nodes, signal, (change) => verifier.#nodeChanged(change));
    return verifier;
  }

  get verified(): number {
    return this.#verified;
  }

  #deploymentChanged({ type, object }: Change<MachineDeployment>): void {
    if (type === 'deleted') return;
    this.#rest();
    this.#deployment = object;
    const { replicas = 0 } = object.spec;
    const before = this.#replicas ?? replicas;
    this.#replicas = replicas;
    this.#more ||= replicas > before;
    this.#fewer ||= replicas < before;
    this.#heldSince();
  }

  #nodeChanged({ type, object: { metadata } }: Change<Node>): void {
    const isPostponed = type !== 'deleted' && metadata.labels?.[Labels.RolloutPostpone] === 'true';
    if (!isPostponed) this.#postponed.delete(metadata.name);
    else if (!this.#postponed.has(metadata.name)) this.#postponed.set(metadata.name, this.#now());
  }

  #heldSince(): number | undefined {
    const since = this.#deployment && this.#hold.since(this.#deployment, this.#now());
    if (since === undefined || since === this.#counted || this.#active().length <= 1) return since;
    this.#counted = since;
    this.#verified++;
    return since;
  }

  /** Must be called when only one set has machines. */
  #rest(): void {
    const [only, ...others] = this.#active();
    if (this.#heldSince() !== undefined || !only || others.length > 0 || sizeOf(only) !== this.#replicas) return;
    this.#more = false;
    this.#fewer = false;
  }

  #setChanged({ type, object }: Change<MachineSet>): void {
    const { name, uid } = object.metadata;
    const before = this.#sets.get(uid);
    if (type === 'deleted') this.#sets.delete(uid);
    else this.#sets.set(uid, object);
    if (type !== 'deleted' && this.#isHeld()) {
      const [from, to] = [before ? sizeOf(before) : 0, sizeOf(object)];
      const isFilling = from > 0 && this.#active().length === 1 && to <= (this.#replicas ?? 0);
      const completes = this.#hold.completes && this.#total() <= (this.#replicas ?? 0);
      const scaled = to > from ? this.#more || isFilling || completes : this.#fewer;
      if (from !== to && !scaled) this.#violate(`mcm scaled MachineSet ${name} from ${from} to ${to}`);
    }
    this.#rest();
  }

  #machineChanged({ type, object }: Change<Machine>): void {
    const { name, uid } = object.metadata;
    const before = this.#machines.get(uid);
    if (type === 'deleted') return void this.#machines.delete(uid);
    this.#machines.set(uid, object);
    if (before && !isGoing(before) && isGoing(object) && this.#keeps(before)) {
      this.#world.reporter.violate(`mcm deleted ${name} although its node postpones the rollout`);
    }
    const set = this.#sets.get(controllerOf(object)?.uid ?? '');
    if (!set || !this.#isHeld()) return;
    const alive = this.#aliveOf(set);
    const where = `in ${set.metadata.name} (${alive} of ${sizeOf(set)} machines)`;
    // The manager may have sent the creation before it reduced the set.
    const largest = Math.max(
      sizeOf(set),
      this.#world.largestSince(set.metadata.uid, this.#now() - this.#world.lagMs()),
    );
    if (!before && !isGoing(object) && alive > largest) this.#violate(`${name} was created ${where}`);
    if (before && !isGoing(before) && isGoing(object) && alive < sizeOf(set) && this.#isHealthy(before)) {
      this.#violate(`${name} was deleted ${where}`);
    }
  }

  #isHealthy({ metadata, status }: Machine): boolean {
    return status?.currentStatus?.phase !== 'Failed' && !this.#world.reporter.isDeletedByHand(metadata.uid);
  }

  #keeps({ metadata, status }: Machine): boolean {
    const lag = this.#world.lagMs();
    const { phase, lastUpdateTime = '' } = status?.currentStatus ?? {};
    const labelled = this.#postponed.get(metadata.labels?.[Labels.Node] ?? '');
    if (labelled === undefined || phase !== 'Running' || this.#fewer) return false;
    if (this.#world.reporter.isDeletedByHand(metadata.uid) || isOverridden(this.#deployment)) return false;
    return this.#now() > Math.max(labelled, Date.parse(lastUpdateTime)) + lag;
  }

  #total(): number {
    return [...this.#sets.values()].reduce((total, set) => total + sizeOf(set), 0);
  }

  #aliveOf({ metadata }: MachineSet): number {
    const all = [...this.#machines.values()];
    return all.filter((machine) => controllerOf(machine)?.uid === metadata.uid && !isGoing(machine)).length;
  }

  #active(): MachineSet[] {
    return [...this.#sets.values()].filter((set) => sizeOf(set) > 0);
  }

  #isHeld(): boolean {
    const since = this.#heldSince();
    return since !== undefined && this.#now() > since + this.#world.lagMs();
  }

  #violate(action: string): void {
    this.#world.reporter.violate(`${action} although the rollout is ${this.#hold.text}`);
  }

  #now(): number {
    return this.#world.clock.now().getTime();
  }
}
