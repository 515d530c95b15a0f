import { Annotations, type Machine, machines } from '@mcm/api';
import { type Change, controllerOf } from '@mcm/kube';
import type { World } from '../world/world.ts';
import { MOST_WARM } from '../world/world-options.ts';
import { follow } from './follow.ts';

const isWarm = ({ metadata }: Machine): boolean => metadata.annotations?.[Annotations.WarmState] !== undefined;

/**
 * Verifies decisions about warm machines:
 * - There are never more warm machines than the user has requested.
 * - A warm machine has no MachineSet and no label of the template, so it never counts as a replica.
 * - When a set starts to use a warm machine, the machine is Pending, so it is not available before its Node is Ready.
 */
export class WarmVerifier {
  readonly #world: World;
  readonly #machines = new Map<string, Machine>();
  #used = 0;

  private constructor(world: World) {
    this.#world = world;
  }

  static watch(world: World, signal: AbortSignal): WarmVerifier {
    const verifier = new WarmVerifier(world);
    follow<Machine>(world, machines, signal, (change) => verifier.#changed(change));
    return verifier;
  }

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
      if (phase !== 'Pending')
        reporter.violate(`a MachineSet uses the warm machine ${name}, although the machine is in the phase ${phase}`);
    }
  }
}
