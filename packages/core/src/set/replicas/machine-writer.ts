import { EventReasons, type Machine, type MachineSet, machines as machineResource } from '@mcm/api';
import {
  controllerOf,
  type Draft,
  ignoreNotFound,
  isAlreadyExists,
  isConflict,
  isNotFound,
  KubeError,
  keyOf,
  type ResourceClient,
} from '@mcm/kube';
import type { ControllerContext } from '../../control/caches.ts';
import type { PendingDeletions } from '../../control/expectations.ts';
import { inParallel, slowStart } from '../../flow/slow-start.ts';
import { type Loss, lossBefore } from '../../objects/machines.ts';
import { causeText, type DeletionCause } from '../deletion-cause.ts';
import type { LostPlaces } from './lost-places.ts';
import { newMachine } from './new-machine.ts';

/** Requests of one set that may be on their way at once. */
const PARALLEL = 32;
/** Names in one event; an event of a hundred names helps nobody. */
const NAMES_IN_EVENT = 10;

/** What came of a number of creations or deletions. */
export interface WriteResult {
  readonly succeeded: number;
  /** Machines that were not deleted, because they have changed since that was decided; absent: none. */
  readonly changed?: number;
  readonly error: unknown;
}

/** The parts of a machine that a merge patch changes; null removes. */
export interface MachineChange {
  readonly metadata?: object;
  readonly spec?: object;
}

/** What machines are made for. */
export interface Vacancies {
  /** Gets the names that belong to somebody else. */
  readonly taken: Set<string>;
  readonly lost: LostPlaces;
  /** What the first of the new machines take the place of. */
  readonly replace: readonly Loss[];
}

/** A machine of the set, made by this request or by an earlier one. */
interface Made {
  readonly machine: Machine;
  readonly isNew: boolean;
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const listed = (names: readonly string[]): string =>
  names.length > NAMES_IN_EVENT
    ? `${names.slice(0, NAMES_IN_EVENT).join(', ')} and ${names.length - NAMES_IN_EVENT} more`
    : names.join(', ');

/** What is known of deletions that are sent. */
export interface Deletions {
  readonly pending: PendingDeletions;
  /** Why machines go, by name. */
  readonly causes: ReadonlyMap<string, DeletionCause>;
}

const noun = (names: readonly string[]): string => (names.length === 1 ? 'Machine' : `${names.length} Machines`);

/** Whether the server may have done what it did not confirm in time. */
export const mayHaveHappened = (error: unknown): boolean =>
  error instanceof KubeError && (error.code === 0 || error.code === 504);

/** The answer, or undefined for none: to be used where the failure that led here is thrown anyway. */
export const settled = async <T>(promise: Promise<T>): Promise<T | undefined> => {
  const [result] = await Promise.allSettled([promise]);
  return result.status === 'fulfilled' ? result.value : undefined;
};

/** Makes and deletes machines of sets, and says so in events: one for a batch, not one a machine. */
export class MachineWriter {
  readonly #context: ControllerContext;
  readonly #client: ResourceClient<Machine>;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#client = context.client.resource(machineResource, context.namespace);
  }

  /**
   * Makes the machines with a slow start. A name that this set's machine has already is a success: an earlier creation
   * whose answer was lost, or that the cache does not show yet.
   *
   * @param vacancies Places of machines that were lost are filled first.
   */
  async create(
    set: MachineSet,
    names: readonly string[],
    { taken, lost, replace }: Vacancies,
    signal: AbortSignal,
  ): Promise<WriteResult> {
    const made: string[] = [];
    const losses = new Map(names.map((name, index) => [name, replace[index]]));
    const { creations, sets } = this.#context;
    const { uid, generation } = set.metadata;
    const key = keyOf(set);
    const task = async (name: string) => {
      const one = newMachine(set, name, losses.get(name));
      const { machine, isNew } = await creations.during(uid, () => this.#createOne(set, { name, one }, taken, signal));
      this.#context.machines.recordWrite(machine);
      lost.made(machine.metadata.uid, lossBefore(machine));
      if (isNew) made.push(name);
    };
    // The set may be made smaller while its machines are being made: the next pass knows how many are left to make.
    const wanted = () => (sets.store.get(key) ?? set).metadata.generation === generation;
    const { succeeded, error } = await slowStart(names, task, { wanted });
    const { recorder } = this.#context;
    if (made.length > 0) {
      recorder.event(set, 'Normal', EventReasons.SuccessfulCreate, `Created ${noun(made)}: ${listed(made)}`);
    }
    if (error !== undefined && !mayHaveHappened(error)) {
      recorder.event(set, 'Warning', EventReasons.FailedCreate, `Error creating: ${message(error)}`);
    }
    return { succeeded, error };
  }

  async #createOne(
    set: MachineSet,
    { name, one }: { readonly name: string; readonly one: Draft<Machine> },
    taken: Set<string>,
    signal: AbortSignal,
  ): Promise<Made> {
    const { log } = this.#context;
    try {
      return { machine: await this.#client.create(one, { signal }), isNew: true };
    } catch (error) {
      if (mayHaveHappened(error)) return { machine: await this.#lookFor(set, name, error, signal), isNew: true };
      if (!isAlreadyExists(error)) throw error;
      // A live read: whose machine this is decides whether another one is made.
      const existing = await this.#client.get(name, { signal });
      if (controllerOf(existing)?.uid === set.metadata.uid) {
        log.info('Machine already exists', { set: set.metadata.name, machine: name });
        return { machine: existing, isNew: false };
      }
      taken.add(name);
      throw new Error(`the name ${name} belongs to a machine that this set does not control`, { cause: error });
    }
  }

  /** After a creation without an answer: a live read, because a machine that is not known of is one too many elsewhere. */
  async #lookFor(set: MachineSet, name: string, error: unknown, signal: AbortSignal): Promise<Machine> {
    const found = await settled(this.#client.get(name, { signal }));
    if (found === undefined || controllerOf(found)?.uid !== set.metadata.uid) throw error;
    return found;
  }

  /**
   * Deletes the machines, all of them in parallel; what is deleted or gone already is a success. Each goes in the state in
   * which that was decided: one that has recovered since stays, and is decided on again.
   */
  async delete(
    set: MachineSet,
    doomed: readonly Machine[],
    { pending, causes }: Deletions,
    signal: AbortSignal,
  ): Promise<WriteResult> {
    const gone: string[] = [];
    let changed = 0;
    const errors = await inParallel(doomed, PARALLEL, async (machine) => {
      if (await this.#deleteOne(machine, pending, signal)) gone.push(machine.metadata.name);
      else changed += 1;
    });
    const { recorder } = this.#context;
    if (gone.length > 0) {
      gone.sort();
      const because = causeText(gone, causes, NAMES_IN_EVENT);
      recorder.event(set, 'Normal', EventReasons.SuccessfulDelete, `Deleted ${noun(gone)}: ${listed(gone)}${because}`);
    }
    const [error] = errors;
    if (error !== undefined) {
      recorder.event(set, 'Warning', EventReasons.FailedDelete, `Error deleting: ${message(error)}`);
    }
    return { succeeded: gone.length, error, changed };
  }

  /** False: the machine has changed, and whether it goes is to be decided again. */
  async #deleteOne(machine: Machine, pending: PendingDeletions, signal: AbortSignal): Promise<boolean> {
    const { name, uid } = machine.metadata;
    pending.begin(machine);
    const resourceVersion = pending.versionOf(uid);
    const preconditions = { uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    try {
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
      // A live read: a machine that is believed available, and goes, lets the deployment give up another one.
      const found = mayHaveHappened(error) ? await settled(this.#client.get(name, { signal })) : undefined;
      if (found !== undefined) this.#context.machines.recordWrite(found);
      throw error;
    }
  }

  /** After a conflict: a live read, so that the next decision is made on the machine as it is. */
  async #isGoneAlready(
    { metadata: { name, uid } }: Machine,
    pending: PendingDeletions,
    signal: AbortSignal,
  ): Promise<boolean> {
    const found = await ignoreNotFound(this.#client.get(name, { signal }));
    if (found !== undefined) this.#context.machines.recordWrite(found);
    // Another machine of the same name: the one that was meant is not there any more.
    const isGone = found?.metadata.uid !== uid || found.metadata.deletionTimestamp !== undefined;
    if (isGone) pending.note(uid, 'asked');
    else pending.forget(uid);
    this.#context.log.info('Machine changed since the decision to delete it', { machine: name, isGone });
    return isGone;
  }

  /** Writes part of a machine, and puts the answer into the cache. The server refuses it for another machine of the same name. */
  async patch({ metadata: { name, uid } }: Machine, body: MachineChange, signal: AbortSignal): Promise<Machine> {
    const bound = { ...body, metadata: { ...body.metadata, uid } };
    const written = await this.#client.patch(name, { type: 'merge', body: bound }, { signal });
    this.#context.machines.recordWrite(written);
    return this.#context.machines.store.get(`${written.metadata.namespace ?? ''}/${written.metadata.name}`) ?? written;
  }

  /** The same for many; goes on after failures and throws the first. A machine that is gone is no failure. */
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
