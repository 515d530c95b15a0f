import { Annotations, EventReasons, type Machine, type MachineSet, machines as machineResource } from '@mcm/api';
import {
  controllerOf,
  type Draft,
  ignoreNotFound,
  isAlreadyExists,
  isConflict,
  isNotFound,
  KubeError,
  keyOf,
  makeKey,
  type ResourceClient,
} from '@mcm/kube';
import { BY_CONTROLLER, type ControllerContext, deploymentOf } from '../../control/caches.ts';
import type { PendingDeletions } from '../../control/expectations.ts';
import { mayHaveHappened, settled } from '../../flow/answers.ts';
import { inParallel, slowStart } from '../../flow/slow-start.ts';
import { formerLostState, type LostState } from '../../objects/machines.ts';
import { causeRecord, hasDrainTimeout } from '../../settings/drain-timeouts.ts';
import { listed } from '../../values/texts.ts';
import type { Place } from '../../zones/places.ts';
import { causeText, type DeletionCause, timedCauseOf } from './deletion-cause.ts';
import type { LostReplicas } from './lost-replicas.ts';
import { newMachine } from './new-machine.ts';
import type { NumberMemory } from './number-record.ts';

const PARALLEL = 32;
const NAMES_IN_EVENT = 10;

export interface WriteResult {
  readonly succeeded: number;
  readonly changed?: number;
  readonly error: unknown;
}

export interface MachineChange {
  readonly metadata?: object;
  readonly spec?: object;
}

export interface Vacancies {
  /** The names of existing machines that another owner controls; the writer adds each such name that it finds. */
  readonly taken: Set<string>;
  readonly numbers: NumberMemory;
  readonly lost: LostReplicas;
  readonly replace: readonly LostState[];
  /** The zones of the new machines, or undefined if the deployment has no zones. */
  readonly places?: readonly Place[] | undefined;
}

interface Made {
  readonly machine: Machine;
  readonly isNew: boolean;
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export interface Deletions {
  readonly pending: PendingDeletions;
  readonly causes: ReadonlyMap<string, DeletionCause>;
}

const noun = (names: readonly string[]): string => (names.length === 1 ? 'Machine' : `${names.length} Machines`);

export class MachineWriter {
  readonly #context: ControllerContext;
  readonly #client: ResourceClient<Machine>;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#client = context.client.resource(machineResource, context.namespace);
  }

  /**
   * If the set already has a machine with the name, the creation counts as a success, because a response was lost.
   * @param vacancies the lost machines, which the first new machines replace
   */
  async create(
    set: MachineSet,
    names: readonly string[],
    { taken, numbers, lost, replace, places }: Vacancies,
    signal: AbortSignal,
  ): Promise<WriteResult> {
    const made: string[] = [];
    const lostStates = new Map(names.map((name, index) => [name, replace[index]]));
    const zones = new Map(names.map((name, index) => [name, places?.[index]]));
    const { creations, sets } = this.#context;
    const { uid, generation } = set.metadata;
    const key = keyOf(set);
    const protect = this.#isRollout(set);
    const task = async (name: string) => {
      const one = newMachine(set, name, { lostState: lostStates.get(name), place: zones.get(name), protect });
      const { machine, isNew } = await creations.during(uid, () =>
        this.#createOnce(set, { name, one }, { taken, numbers }, signal),
      );
      this.#context.machines.recordWrite(machine);
      lost.made(machine, formerLostState(machine));
      if (isNew) made.push(name);
    };
    // If the set changes, for example after a scale-down, mcm skips the remaining creations.
    const wanted = () => (sets.store.get(key) ?? set).metadata.generation === generation;
    const { succeeded, error } = await slowStart(names, task, { wanted });
    const { recorder } = this.#context;
    if (made.length > 0) {
      recorder.event(
        set,
        'Normal',
        EventReasons.SuccessfulCreate,
        `Created ${noun(made)}: ${listed(made, NAMES_IN_EVENT)}`,
      );
    }
    if (error !== undefined && !mayHaveHappened(error)) {
      recorder.event(set, 'Warning', EventReasons.FailedCreate, `Error creating: ${message(error)}`);
    }
    return { succeeded, error };
  }

  #isRollout(set: MachineSet): boolean {
    const { sets, machines, protectNewNodes } = this.#context;
    const deployment = deploymentOf(set, this.#context);
    if (!protectNewNodes || deployment === undefined || deployment.spec.paused) return false;
    return sets.store
      .byIndex(BY_CONTROLLER, deployment.metadata.uid)
      .some(
        ({ metadata, spec }) =>
          metadata.uid !== set.metadata.uid &&
          ((spec.replicas ?? 0) > 0 || machines.store.countByIndex(BY_CONTROLLER, metadata.uid) > 0),
      );
  }

  /**
   * Creates a machine with one request. Until the result of the request is known, `numbers.unanswered` contains the
   * name.
   */
  async #createOnce(
    set: MachineSet,
    draft: { readonly name: string; readonly one: Draft<Machine> },
    { taken, numbers }: Pick<Vacancies, 'taken' | 'numbers'>,
    signal: AbortSignal,
  ): Promise<Made> {
    const { unanswered } = numbers;
    const wasOpen = unanswered.has(draft.name);
    unanswered.add(draft.name);
    try {
      const made = await this.#createOne(set, draft, { taken, numbers }, signal);
      numbers.exists(draft.name);
      return made;
    } catch (error) {
      // The API server refused this request, but an earlier create request for the machine may still arrive.
      const isRefused = error instanceof KubeError && !mayHaveHappened(error);
      if ((isRefused && !wasOpen) || taken.has(draft.name)) unanswered.delete(draft.name);
      throw error;
    }
  }

  async #createOne(
    set: MachineSet,
    { name, one }: { readonly name: string; readonly one: Draft<Machine> },
    { taken, numbers }: Pick<Vacancies, 'taken' | 'numbers'>,
    signal: AbortSignal,
  ): Promise<Made> {
    const { log } = this.#context;
    try {
      return { machine: await this.#client.create(one, { signal }), isNew: true };
    } catch (error) {
      if (mayHaveHappened(error)) return { machine: await this.#lookFor(set, name, error, signal), isNew: true };
      if (!isAlreadyExists(error)) throw error;
      numbers.exists(name);
      // The owner of the existing machine determines whether the set needs another machine.
      const existing = await this.#client.get(name, { signal });
      if (controllerOf(existing)?.uid === set.metadata.uid) {
        log.info('Machine already exists', { set: set.metadata.name, machine: name });
        return { machine: existing, isNew: false };
      }
      taken.add(name);
      throw new Error(`the name ${name} belongs to a machine of another owner`, { cause: error });
    }
  }

  /** If the cache lacked a created machine, another set could create a surplus machine. */
  async #lookFor(set: MachineSet, name: string, error: unknown, signal: AbortSignal): Promise<Machine> {
    const found = await settled(this.#client.get(name, { signal }));
    if (found === undefined || controllerOf(found)?.uid !== set.metadata.uid) throw error;
    return found;
  }

  /**
   * The observed version is a precondition of each delete request, so mcm does not delete a machine that has recovered.
   */
  async delete(
    set: MachineSet,
    toDelete: readonly Machine[],
    { pending, causes }: Deletions,
    signal: AbortSignal,
  ): Promise<WriteResult> {
    const gone: string[] = [];
    let changed = 0;
    const errors = await inParallel(toDelete, PARALLEL, async (machine) => {
      const cause = causes.get(machine.metadata.name);
      if (await this.#deleteOne(machine, { pending, cause }, signal)) gone.push(machine.metadata.name);
      else changed += 1;
    });
    const { recorder } = this.#context;
    if (gone.length > 0) {
      gone.sort();
      const because = causeText(gone, causes, NAMES_IN_EVENT);
      recorder.event(
        set,
        'Normal',
        EventReasons.SuccessfulDelete,
        `Deleted ${noun(gone)}: ${listed(gone, NAMES_IN_EVENT)}${because}`,
      );
    }
    const [error] = errors;
    if (error !== undefined) {
      recorder.event(set, 'Warning', EventReasons.FailedDelete, `Error deleting: ${message(error)}`);
    }
    return { succeeded: gone.length, error, changed };
  }

  /** Returns false if the machine has changed, so that the next reconcile decides again. */
  async #deleteOne(
    machine: Machine,
    { pending, cause }: { readonly pending: PendingDeletions; readonly cause: DeletionCause | undefined },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { name, uid } = machine.metadata;
    pending.begin(machine);
    try {
      await this.#recordCause(machine, { pending, cause }, signal);
      const preconditions = { uid, resourceVersion: pending.versionOf(uid) };
      const lingering = await this.#client.delete(name, { preconditions, signal });
      pending.note(uid, 'asked');
      if (lingering !== undefined) this.#context.machines.recordWrite(lingering);
      return true;
    } catch (error) {
      if (isConflict(error)) return this.#isGoneAlready(machine, pending, signal);
      if (isNotFound(error)) {
        pending.note(uid, 'asked');
        return true;
      }
      if (!mayHaveHappened(error)) pending.forget(uid);
      // After a lost response, the cache may still show the machine as available, and the deployment would delete
      // another machine. mcm therefore reads the machine again.
      const found = mayHaveHappened(error) ? await settled(this.#client.get(name, { signal })) : undefined;
      if (found !== undefined) this.#context.machines.recordWrite(found);
      throw error;
    }
  }

  /** mcm records the cause before the deletion, because the machine controller starts the drain at once. */
  async #recordCause(
    machine: Machine,
    { pending, cause }: { readonly pending: PendingDeletions; readonly cause: DeletionCause | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const { name, namespace, uid } = machine.metadata;
    const timed = timedCauseOf(cause);
    const { classes } = this.#context.safeguards;
    const machineClass = classes.store.get(makeKey(namespace, machine.spec.class.name));
    if (timed === undefined || !hasDrainTimeout(timed, machine, machineClass)) return;
    const annotations = { [Annotations.DeletionCause]: causeRecord(timed, this.#context.clock.now()) };
    const body = { metadata: { uid, resourceVersion: pending.versionOf(uid), annotations } };
    const written = await this.#client.patch(name, { type: 'merge', body }, { signal });
    pending.wrote(written);
    this.#context.machines.recordWrite(written);
  }

  /** Reads the machine from the API server after a conflict, and returns true if the machine is deleted. */
  async #isGoneAlready(
    { metadata: { name, uid } }: Machine,
    pending: PendingDeletions,
    signal: AbortSignal,
  ): Promise<boolean> {
    const found = await ignoreNotFound(this.#client.get(name, { signal }));
    if (found !== undefined) this.#context.machines.recordWrite(found);
    // If the UID differs, a new machine has the name, so the machine to delete no longer exists.
    const isGone = found?.metadata.uid !== uid || found.metadata.deletionTimestamp !== undefined;
    if (isGone) pending.note(uid, 'asked');
    else pending.forget(uid);
    this.#context.log.info('Machine not deleted, because the machine changed after the decision', {
      machine: name,
      isGone,
    });
    return isGone;
  }

  /** The patch contains the UID, so that the API server refuses the patch for a new machine with an equal name. */
  async patch({ metadata: { name, uid } }: Machine, body: MachineChange, signal: AbortSignal): Promise<Machine> {
    const bound = { ...body, metadata: { ...body.metadata, uid } };
    const written = await this.#client.patch(name, { type: 'merge', body: bound }, { signal });
    this.#context.machines.recordWrite(written);
    return this.#context.machines.store.get(`${written.metadata.namespace ?? ''}/${written.metadata.name}`) ?? written;
  }

  /** Sends all patches, even if some fail, and then throws the first error. */
  async patchAll(
    patches: readonly { readonly machine: Machine; readonly body: MachineChange }[],
    signal: AbortSignal,
  ): Promise<void> {
    const errors = await inParallel(patches, PARALLEL, async ({ machine, body }) => {
      await this.patch(machine, body, signal);
    });
    const failure = errors.find((error) => !isNotFound(error));
    if (failure !== undefined) throw failure;
  }
}
