import { Annotations, type Machine, machines } from '@mcm/api';
import { type Change, controllerOf } from '@mcm/kube';
import type { World } from '../world/world.ts';
import { MOST_WARM } from '../world/world-options.ts';
import { follow } from './follow.ts';

const isWarm = ({ metadata }: Machine): boolean => metadata.annotations?.[Annotations.WarmState] !== undefined;

/**
 * Reports wrong decisions about warm machines:
 * - The number of warm machines never exceeds the number that the user has requested.
 * - No MachineSet owns a warm machine, and the warm machine has no label of the template, so it never counts as a
 *   replica.
 * - A warm machine is Pending when a set begins to use the machine, so it does not count as available before its Node
 *   is Ready.
 */
export class WarmVerifier {
  readonly #world: World;
  readonly #machines = new Map<string, Machine>();
  #used = 0;

  private constructor(world: World) {
    this.#world = world;
  }

  /** Runs the verifier until `signal` aborts. */
  static watch(world: World, signal: AbortSignal): WarmVerifier {
    const verifier = new WarmVerifier(world);
    follow<Machine>(world, machines, signal, (change) => verifier.#changed(change));
    return verifier;
  }

  /** The number of warm machines that sets used. */
  get used(): number {
    return this.#used;
  }

  #changed({ type, object }: Change<Machine>): void {
    const { uid, name, labels } = object.metadata;
    const before = this.#machines.get(uid);
    if (type === 'deleted') this.#machines.delete(uid);
    else this.#machines.set(uid, object);
    if (type === 'deleted') return;
    const { reporter } = this.#world;
    const warm = [...this.#machines.values()].filter((one) => isWarm(one) && !one.metadata.deletionTimestamp);
    if (warm.length > MOST_WARM)
      reporter.violate(`${warm.length} warm machines exist, but the user requests at most ${MOST_WARM}`);
    if (isWarm(object)) {
      if (controllerOf(object)?.kind === 'MachineSet') reporter.violate(`a MachineSet owns the warm machine ${name}`);
      if (labels?.name !== undefined) reporter.violate(`the warm machine ${name} has a label of the template`);
    } else if (before && isWarm(before)) {
      this.#used++;
      const phase = object.status?.currentStatus?.phase ?? '';
      if (phase !== 'Pending') reporter.violate(`a set uses the warm machine ${name} in the wrong phase ${phase}`);
    }
  }
}
