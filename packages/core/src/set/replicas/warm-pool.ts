import { Annotations, formatTime, type Machine, type MachineSet, machines as machineResource } from '@mcm/api';
import { errorText, isConflict, isForbidden, isNotFound, type ResourceClient } from '@mcm/kube';
import { BY_CONTROLLER, type ControllerContext, deploymentOf } from '../../control/caches.ts';
import { slowStart } from '../../flow/slow-start.ts';
import { createdAt, LOST_STATE_MARKS, type LostState } from '../../objects/machines.ts';
import { hashOfSet } from '../../rollout/template-hash.ts';
import { compareText } from '../../values/integers.ts';
import { mergeDiff } from '../../values/merge-diff.ts';
import { listed } from '../../values/texts.ts';
import { isTaken, isUsable, WarmTexts, warmStateOf } from '../../warm/warm-machine.ts';
import type { LostReplicas } from './lost-replicas.ts';
import { newMachine } from './new-machine.ts';

const NAMES_IN_EVENT = 10;

export interface Taken {
  readonly count: number;
  readonly changed: boolean;
}

interface Vacancies {
  readonly lost: LostReplicas;
  readonly replace: readonly LostState[];
}

/** Sorts running warm machines first, because their VMs need no start. */
const readiest = (a: Machine, b: Machine): number =>
  Number(warmStateOf(b) === 'Running') - Number(warmStateOf(a) === 'Running') ||
  createdAt(a) - createdAt(b) ||
  compareText(a.metadata.name, b.metadata.name);

/** Returns the machines that a set with the template hash can use, in the order in which the set uses the machines. */
export const inOrderOfUse = (machines: readonly Machine[], templateHash: string | undefined): readonly Machine[] =>
  machines.filter((machine) => isUsable(machine, templateHash)).toSorted(readiest);

/**
 * Gives warm machines of the deployment to a set. Both writes have the observed version as a precondition, so no other
 * controller can use the warm machine.
 * 1. The status gets the phase `Pending`, so the machine does not count as available.
 * 2. The set becomes the owner of the machine, which gets the labels, annotations and spec of a new machine.
 *
 * If the process crashes between both writes, the next process continues with the second write.
 */
export class WarmPool {
  readonly #context: ControllerContext;
  readonly #client: ResourceClient<Machine>;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#client = context.client.resource(machineResource, context.namespace);
  }

  usable(set: MachineSet): readonly Machine[] {
    const deployment = deploymentOf(set, this.#context);
    if (!deployment) return [];
    const owned = this.#context.machines.store.byIndex(BY_CONTROLLER, deployment.metadata.uid);
    return inOrderOfUse(owned, hashOfSet(set));
  }

  /**
   * @throws KubeError if the result of a write is unknown or the write is refused
   */
  async take(
    set: MachineSet,
    chosen: readonly Machine[],
    { lost, replace }: Vacancies,
    signal: AbortSignal,
  ): Promise<Taken> {
    const lostStates = new Map(chosen.map((machine, index) => [machine, replace[index]]));
    const used: string[] = [];
    let changed = false;
    const task = async (machine: Machine) => {
      const lostState = lostStates.get(machine);
      try {
        await this.#context.creations.during(set.metadata.uid, () => this.#takeOne(set, machine, lostState, signal));
      } catch (error) {
        if (isForbidden(error)) {
          this.#context.log.warn('Warm machine not used; creating a new one', { error: errorText(error) });
          return;
        }
        if (!isConflict(error) && !isNotFound(error)) throw error;
        changed = true;
        return;
      }
      lost.made(machine, lostState);
      used.push(machine.metadata.name);
    };
    const { error } = await slowStart(chosen, task, { wanted: () => true });
    if (used.length > 0) {
      const message = `Used ${used.length === 1 ? 'a warm Machine' : `${used.length} warm Machines`}: ${listed(used, NAMES_IN_EVENT)}`;
      this.#context.recorder.event(set, 'Normal', 'WarmMachineUsed', message);
    }
    if (error !== undefined) throw error;
    return { count: used.length, changed };
  }

  async #takeOne(
    set: MachineSet,
    machine: Machine,
    lostState: LostState | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const leaving = isTaken(machine) ? machine : await this.#leave(machine, signal);
    const { name, uid, resourceVersion, ownerReferences = [] } = leaving.metadata;
    const draft = newMachine(set, name, { lostState });
    const metadata = {
      uid,
      resourceVersion,
      labels: draft.metadata.labels,
      annotations: {
        ...draft.metadata.annotations,
        [Annotations.Replacement]: lostState === undefined ? null : LOST_STATE_MARKS[lostState],
        [Annotations.WarmState]: null,
        [Annotations.WarmTemplate]: null,
      },
      ownerReferences: [
        ...ownerReferences.filter((reference) => reference.controller !== true),
        ...(draft.metadata.ownerReferences ?? []),
      ],
    };
    const { providerID } = leaving.spec;
    const spec = mergeDiff(leaving.spec, { ...draft.spec, providerID });
    const written = await this.#client.patch(name, { type: 'merge', body: { metadata, spec } }, { signal });
    this.#context.machines.recordWrite(written);
  }

  async #leave({ metadata }: Machine, signal: AbortSignal): Promise<Machine> {
    const { name, uid, resourceVersion } = metadata;
    const lastUpdateTime = formatTime(this.#context.clock.now());
    const status = {
      currentStatus: { phase: 'Pending', lastUpdateTime },
      lastOperation: { description: WarmTexts.taken, state: 'Processing', type: 'Create', lastUpdateTime },
    };
    const body = { metadata: { uid, resourceVersion }, status };
    const written = await this.#client.patch(name, { type: 'merge', body }, { subresource: 'status', signal });
    this.#context.machines.recordWrite(written);
    return written;
  }
}
