import { Annotations, type Machine, type MachinePhase, machines, phaseOf } from '@mcm/api';
import type { Change } from '@mcm/kube';
import type { World } from '../world/world.ts';
import { follow } from './follow.ts';

const FAILED_UPDATE: MachinePhase = 'InPlaceUpdateFailed';

/** Reports a machine that becomes Failed after a failed in-place update, although the deployment must keep it. */
export class KeptUpdateVerifier {
  readonly #world: World;
  readonly #failedUids = new Set<string>();
  #keeps = true;
  #kept = 0;

  private constructor(world: World) {
    this.#world = world;
  }

  /** The annotation of the deployment that keeps machines after failed updates. */
  static readonly annotations = { [Annotations.RolloutOnCannotUpdateInPlace]: 'Stop' } as const;

  static watch(world: World, signal: AbortSignal): KeptUpdateVerifier {
    const verifier = new KeptUpdateVerifier(world);
    follow<Machine>(world, machines, signal, (change) => verifier.#changed(change));
    return verifier;
  }

  get verified(): number {
    return this.#kept;
  }

  /** Removes the annotation, as a user does, so that mcm replaces the machines. */
  async release(): Promise<void> {
    this.#keeps = false;
    this.#world.reporter.note('act', 'the user removes the policy for failed in-place updates');
    await this.#world.annotate({ [Annotations.RolloutOnCannotUpdateInPlace]: null });
  }

  #changed({ type, object }: Change<Machine>): void {
    const { uid, name } = object.metadata;
    const phase = phaseOf(object);
    if (type === 'deleted') {
      this.#failedUids.delete(uid);
      return;
    }
    if (phase === FAILED_UPDATE && !this.#failedUids.has(uid)) {
      this.#failedUids.add(uid);
      this.#kept++;
      return;
    }
    if (phase === FAILED_UPDATE || !this.#failedUids.delete(uid)) return;
    const wasMarked = object.status?.lastOperation?.description === 'Marked by hand';
    if (phase !== 'Failed' || !this.#keeps || wasMarked) return;
    this.#world.reporter.violate(
      `machine ${name} became Failed after a failed in-place update, although the annotation has the value Stop`,
    );
  }
}
