import { type Machine, machines } from '@mcm/api';
import type { World } from '../world/world.ts';
import { follow } from './follow.ts';

/**
 * Reads the objects in the API server, and verifies a scale-in by the autoscaler. mcm may delete only machines that the
 * autoscaler has selected, and may create machines only after an increase of the replicas.
 */
export class ScalerVerifier {
  readonly #world: World;
  readonly #named = new Set<string>();
  readonly #known = new Map<string, Machine>();
  #asked: number;
  #made = 0;
  readonly #failed = new Set<string>();

  #namedAt = Number.NEGATIVE_INFINITY;
  readonly #namesArriveLate: boolean;

  private constructor(world: World, replicas: number, namesArriveLate: boolean) {
    this.#world = world;
    this.#asked = replicas;
    this.#namesArriveLate = namesArriveLate;
  }

  static watch(world: World, replicas: number, signal: AbortSignal, namesArriveLate = false): ScalerVerifier {
    const verifier = new ScalerVerifier(world, replicas, namesArriveLate);
    follow<Machine>(world, machines, signal, ({ type, object }) => type !== 'deleted' && verifier.#changed(object));
    return verifier;
  }

  /** Must be called before the autoscaler selects machines in a write. */
  names(machineNames: readonly string[]): void {
    for (const name of machineNames) this.#named.add(name);
    this.#namedAt = this.#world.clock.now().getTime();
  }

  /** Returns true if mcm may still decide with objects that are older than the last selection of the autoscaler. */
  #isLate(): boolean {
    return this.#namesArriveLate && this.#world.clock.now().getTime() - this.#namedAt <= this.#world.lagMs();
  }

  /** Must be called before the autoscaler increases the replicas. */
  rises(by: number): void {
    this.#asked += by;
  }

  /** Returns true if the autoscaler has selected a machine for deletion. */
  isNamed(name: string): boolean {
    return this.#named.has(name);
  }

  #changed(machine: Machine): void {
    const { name, uid } = machine.metadata;
    const before = this.#known.get(uid);
    this.#known.set(uid, machine);
    // A new machine may have the name of a deleted machine.
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
