import {
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type Change, controllerOf, createInformer, seededRandom } from '@mcm/kube';
import type { World } from '../world/world.ts';

const isGoing = ({ metadata }: Machine): boolean => metadata.deletionTimestamp !== undefined;
const sizeOf = ({ spec }: MachineSet): number => spec.replicas ?? 0;
const isSeen = ({ metadata, status }: MachineDeployment): boolean =>
  (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);

/**
 * Reports changes by a rollout of a paused deployment, from the stored objects. The rules apply once the manager has observed the pause:
 * - The size of a set changes only with the scaling of the user.
 * - A set creates and deletes machines only to reach its size, or because they failed.
 * - If only one set has machines, it may grow to the size of the deployment. A rollout that was paused after its first deletion
 *   leaves a gap.
 */
export class PauseVerifier {
  readonly #world: World;
  readonly #sets = new Map<string, MachineSet>();
  readonly #machines = new Map<string, Machine>();
  #replicas: number | undefined;
  /** Virtual milliseconds since 1970 at which the manager observed the current pause. */
  #seenAt: number | undefined;
  /** Changes that the user requested since the sizes were last stable. */
  #more = false;
  #fewer = false;
  #verified = 0;

  private constructor(world: World) {
    this.#world = world;
  }

  /** Checks a world until `signal` aborts. */
  static watch(world: World, signal: AbortSignal): PauseVerifier {
    const verifier = new PauseVerifier(world);
    const { admin, clock, log } = world;
    const options = { clock, log, random: seededRandom(0) };
    const deployments = createInformer<MachineDeployment>(admin, machineDeployments, options);
    deployments.onChange((change) => verifier.#deploymentChanged(change));
    const sets = createInformer<MachineSet>(admin, machineSets, options);
    sets.onChange((change) => verifier.#setChanged(change));
    const all = createInformer<Machine>(admin, machines, options);
    all.onChange((change) => verifier.#machineChanged(change));
    for (const one of [deployments, sets, all]) {
      void one.run(signal).catch((error: unknown) => world.reporter.violate(String(error)));
    }
    return verifier;
  }

  /** The number of checked pauses: the manager observed them while sets of several templates had machines. */
  get verified(): number {
    return this.#verified;
  }

  #deploymentChanged({ type, object }: Change<MachineDeployment>): void {
    if (type === 'deleted') return;
    this.#rest();
    const { replicas = 0, paused } = object.spec;
    const before = this.#replicas ?? replicas;
    this.#replicas = replicas;
    this.#more ||= replicas > before;
    this.#fewer ||= replicas < before;
    if (!paused) this.#seenAt = undefined;
    else if (this.#seenAt === undefined && isSeen(object)) this.#begin();
  }

  #begin(): void {
    this.#seenAt = this.#now();
    if (this.#active().length > 1) this.#verified++;
    this.#world.reporter.note('act', 'the manager has seen the pause');
  }

  /** Only one set has machines, so no earlier request is in progress. */
  #rest(): void {
    const [only, ...others] = this.#active();
    if (this.#seenAt !== undefined || !only || others.length > 0 || sizeOf(only) !== this.#replicas) return;
    this.#more = false;
    this.#fewer = false;
  }

  #setChanged({ type, object }: Change<MachineSet>): void {
    const { name, uid } = object.metadata;
    const before = this.#sets.get(uid);
    if (type === 'deleted') this.#sets.delete(uid);
    else this.#sets.set(uid, object);
    if (type !== 'deleted' && this.#isPaused()) {
      const [from, to] = [before ? sizeOf(before) : 0, sizeOf(object)];
      const isFilling = from > 0 && this.#active().length === 1 && to <= (this.#replicas ?? 0);
      const scaled = to > from ? this.#more || isFilling : this.#fewer;
      if (from !== to && !scaled) this.#violate(`set ${name} was scaled from ${from} to ${to}`);
    }
    this.#rest();
  }

  #machineChanged({ type, object }: Change<Machine>): void {
    const { name, uid } = object.metadata;
    const before = this.#machines.get(uid);
    if (type === 'deleted') return void this.#machines.delete(uid);
    this.#machines.set(uid, object);
    const set = this.#sets.get(controllerOf(object)?.uid ?? '');
    if (!set || !this.#isPaused()) return;
    const alive = this.#aliveOf(set);
    const of = `of ${set.metadata.name}, which had ${alive} of ${sizeOf(set)}`;
    if (!before && !isGoing(object) && alive > sizeOf(set)) this.#violate(`${name} was created, ${of}`);
    if (before && !isGoing(before) && isGoing(object) && alive < sizeOf(set) && this.#isHealthy(before)) {
      this.#violate(`${name} was deleted, ${of}`);
    }
  }

  /** Whether there is no reason to replace the machine. */
  #isHealthy({ metadata, status }: Machine): boolean {
    return status?.currentStatus?.phase !== 'Failed' && !this.#world.reporter.isDeletedByHand(metadata.uid);
  }

  #aliveOf({ metadata }: MachineSet): number {
    const all = [...this.#machines.values()];
    return all.filter((machine) => controllerOf(machine)?.uid === metadata.uid && !isGoing(machine)).length;
  }

  #active(): MachineSet[] {
    return [...this.#sets.values()].filter((set) => sizeOf(set) > 0);
  }

  #isPaused(): boolean {
    return this.#seenAt !== undefined && this.#now() > this.#seenAt + this.#world.lagMs();
  }

  #violate(what: string): void {
    this.#world.reporter.violate(`${what} although the rollout is paused`);
  }

  #now(): number {
    return this.#world.clock.now().getTime();
  }
}
