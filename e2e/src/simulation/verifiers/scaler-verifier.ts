import { type Machine, machines } from '@mcm/api';
import type { World } from '../world/world.ts';
import { follow } from './follow.ts';

/**
 * Reports wrong effects of a scale-in by the autoscaler, from the stored objects. mcm must not delete a machine that
 * the autoscaler did not select. mcm must not create a machine without an increase of the replicas.
 */
export class ScalerVerifier {
  readonly #world: World;
  readonly #named = new Set<string>();
  readonly #known = new Map<string, Machine>();
  /** The number of requested machines: the first machines, plus each increase of the replicas. */
  #asked: number;
  #made = 0;
  /** The UIDs of failed machines, which may be replaced once. */
  readonly #failed = new Set<string>();

  /** The time at which the autoscaler last selected a machine, in virtual milliseconds since 1970. */
  #namedAt = Number.NEGATIVE_INFINITY;
  readonly #namesArriveLate: boolean;

  private constructor(world: World, replicas: number, namesArriveLate: boolean) {
    this.#world = world;
    this.#asked = replicas;
    this.#namesArriveLate = namesArriveLate;
  }

  /**
   * Runs the verifier until `signal` aborts. The deployment starts with `replicas` machines.
   * @param namesArriveLate Whether names and replicas are in two objects with separate latencies. A decision may then
   * be based only on the replicas.
   */
  static watch(world: World, replicas: number, signal: AbortSignal, namesArriveLate = false): ScalerVerifier {
    const verifier = new ScalerVerifier(world, replicas, namesArriveLate);
    follow<Machine>(world, machines, signal, ({ type, object }) => type !== 'deleted' && verifier.#changed(object));
    return verifier;
  }

  /** Records the machines that the autoscaler will select for deletion in its next write. */
  names(machineNames: readonly string[]): void {
    for (const name of machineNames) this.#named.add(name);
    this.#namedAt = this.#world.clock.now().getTime();
  }

  /** Whether a decision may be based on a state from before the autoscaler last selected a machine. */
  #isLate(): boolean {
    return this.#namesArriveLate && this.#world.clock.now().getTime() - this.#namedAt <= this.#world.lagMs();
  }

  /** Records an increase of the replicas by the autoscaler. */
  rises(by: number): void {
    this.#asked += by;
  }

  /** Whether the autoscaler has selected the machine for deletion. */
  isNamed(name: string): boolean {
    return this.#named.has(name);
  }

  #changed(machine: Machine): void {
    const { name, uid } = machine.metadata;
    const before = this.#known.get(uid);
    this.#known.set(uid, machine);
    // A new machine may have the name of a deleted machine, so the verifier forgets that this name was selected.
    if (before === undefined) this.#created(name);
    if (machine.status?.currentStatus?.phase === 'Failed') this.#failed.add(uid);
    const goes = machine.metadata.deletionTimestamp !== undefined;
    if (!goes || before === undefined || before.metadata.deletionTimestamp !== undefined) return;
    if (!this.#named.has(name) && !this.#failed.has(uid) && !this.#isLate()) {
      this.#world.reporter.violate(`mcm deleted ${name} although the autoscaler did not mark this machine`);
    }
  }

  #created(name: string): void {
    this.#named.delete(name);
    this.#made += 1;
    const most = this.#asked + this.#failed.size;
    if (this.#made <= most) return;
    this.#world.reporter.violate(
      `machine ${name} is unnecessary: mcm created ${this.#made} machines, but the autoscaler requested ${most}`,
    );
  }
}
