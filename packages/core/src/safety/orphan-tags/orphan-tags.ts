import type { EventReason, Machine, MachineClass } from '@mcm/api';
import { type Clock, type EventRecorder, type Key, keyOf, type Logger } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { MachineError } from '../../driver/contract/errors.ts';
import { ORPHAN_TAGS, type TagChanges } from '../../driver/contract/tags.ts';
import type { DriverInvoker } from '../../driver/invoker/api/invoker-api.ts';
import { Lane } from '../../flow/lane.ts';
import { type TaggedState, tagChanges } from './plan.ts';

/** The options of the tags on orphaned VMs. */
export interface OrphanTagOptions {
  readonly enabled: boolean;
  readonly invoker: Pick<DriverInvoker, 'can' | 'tag'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: EventRecorder<EventReason>;
  readonly stop: AbortSignal;
  /** Returns the Machine for a driver call about an orphaned VM. */
  readonly machineOf: (machineClass: MachineClass, vm: ListedInstance) => Machine;
}

/** The maximum number of tag calls at the same time. */
const LIMIT = 5;

/** A list of VMs takes less than this time. */
const REMEMBERED_MS = 3_600_000;

/**
 * Error codes that do not depend on one VM. The tag calls for the other VMs of the class would probably return the same
 * error.
 */
const GENERAL: ReadonlySet<string> = new Set([
  'Unauthenticated',
  'PermissionDenied',
  'Unavailable',
  'DeadlineExceeded',
]);

const isGeneral = ({ code, credentialsRefused, unsent }: MachineError): boolean =>
  GENERAL.has(code) || credentialsRefused || unsent;

interface ClassState {
  /** The VMs whose last tag call failed. */
  readonly failing: Set<string>;
  /** Whether the remaining tag calls wait for the next search. */
  suspended: boolean;
}

/**
 * Tags orphaned VMs, so that the console of the cloud shows them. mcm stores no state except the tags in the list of
 * the cloud. After a crash or a lost response, the next search compares the tags again. A failed tag call has no effect
 * on the stop, the quarantine and the deletion of a VM.
 */
export class OrphanTags {
  readonly #o: OrphanTagOptions;
  readonly #lane = new Lane(LIMIT);
  readonly #classes = new Map<Key, ClassState>();
  readonly #running = new Map<string, Promise<void>>();
  /**
   * The time at which mcm last changed the tags of each VM. A list that mcm requested earlier may not contain the
   * change.
   */
  readonly #changedAt = new Map<string, Date>();
  readonly #enabled: boolean;

  constructor(options: OrphanTagOptions) {
    this.#o = options;
    this.#enabled = options.enabled && options.invoker.can.tag;
    if (options.enabled && !options.invoker.can.tag)
      options.log.info('Driver has no method tag: orphaned VMs get no tags in the cloud');
  }

  /** The keys of the tags that a list of VMs must contain, or undefined without tags. */
  get keys(): readonly string[] | undefined {
    return this.#enabled ? Object.values(ORPHAN_TAGS) : undefined;
  }

  /** Starts a search. Each search calls the driver at most once for each VM. */
  startSearch(machineClass: MachineClass, vms: readonly ListedInstance[]): void {
    if (!this.#enabled) return;
    const listed = new Set(vms.map(({ providerId }) => providerId));
    const state = this.#stateOf(machineClass);
    state.suspended = false;
    for (const id of state.failing) if (!listed.has(id)) state.failing.delete(id);
    const old = this.#o.clock.now().getTime() - REMEMBERED_MS;
    for (const [id, at] of this.#changedAt) if (at.getTime() < old) this.#changedAt.delete(id);
  }

  /** Forgets a deleted class. */
  forget(classKey: Key): void {
    this.#classes.delete(classKey);
  }

  /**
   * Changes the tags of a VM if the tags do not show its state yet.
   * @param listedAt the time of the list request that returned the VM
   */
  show(machineClass: MachineClass, vm: ListedInstance, state: TaggedState, listedAt: Date): void {
    const changedAt = this.#changedAt.get(vm.providerId);
    if (!this.#enabled || this.#running.has(vm.providerId) || (changedAt && listedAt <= changedAt)) return;
    const changes = tagChanges(state, vm.tags);
    if (Object.keys(changes).length > 0) void this.#change(machineClass, vm, changes);
    else this.#changedAt.delete(vm.providerId);
  }

  /**
   * Tags a VM before its stop. The promise never rejects, and resolves at the latest after the timeout of the driver
   * call. After a failed tag call, mcm stops the other VMs of the search without tag calls.
   * @returns undefined if tags are disabled
   */
  beforeStop(machineClass: MachineClass, vm: ListedInstance, until: Date): Promise<void> | undefined {
    if (!this.#enabled) return undefined;
    const running = this.#running.get(vm.providerId) ?? Promise.resolve();
    return running.then(() => this.#change(machineClass, vm, tagChanges({ is: 'stopped', until }, vm.tags)));
  }

  #stateOf(machineClass: MachineClass): ClassState {
    const key = keyOf(machineClass);
    const state = this.#classes.get(key) ?? { failing: new Set(), suspended: false };
    this.#classes.set(key, state);
    return state;
  }

  #change(machineClass: MachineClass, vm: ListedInstance, changes: TagChanges): Promise<void> {
    const { providerId } = vm;
    const changing = this.#lane
      .run(() => this.#call(machineClass, vm, changes))
      .finally(() => {
        if (this.#running.get(providerId) === changing) this.#running.delete(providerId);
      });
    this.#running.set(providerId, changing);
    return changing;
  }

  async #call(machineClass: MachineClass, vm: ListedInstance, changes: TagChanges): Promise<void> {
    const { invoker, clock, log, recorder, machineOf } = this.#o;
    const { providerId } = vm;
    const state = this.#stateOf(machineClass);
    if (state.suspended) return;
    try {
      await invoker.tag(machineOf(machineClass, vm), changes);
    } catch (thrown) {
      const error = MachineError.from(thrown);
      if (error.code !== 'NotFound') {
        this.#failed(machineClass, vm, error);
        return;
      }
    }
    this.#changedAt.set(providerId, clock.now());
    log.info('Tags of a VM changed', { providerId, machine: vm.machineName, tags: changes });
    if (state.failing.delete(providerId) && state.failing.size === 0)
      recorder.event(machineClass, 'Normal', 'TaggingWorks', 'mcm can tag the orphaned VMs of the class again');
  }

  /** Reports a failed tag call. The log and the events contain one message for all VMs of a class. */
  #failed(machineClass: MachineClass, { providerId, machineName }: ListedInstance, error: MachineError): void {
    const { log, recorder, stop } = this.#o;
    if (stop.aborted) return;
    const state = this.#stateOf(machineClass);
    state.suspended ||= isGeneral(error);
    const isFirst = state.failing.size === 0;
    state.failing.add(providerId);
    const fields = { class: machineClass.metadata.name, providerId, machine: machineName, error: error.message };
    if (!isFirst) {
      log.debug('Tags of an orphan VM still not changed; the next search retries', fields);
      return;
    }
    log.warn('Cannot change the tags of an orphan VM; the next search retries', fields);
    const text = `mcm cannot change the tags of orphaned VMs, such as ${providerId}: ${error.message}. The failure has no effect on the stop, the quarantine and the deletion of VMs. The next search retries`;
    recorder.event(machineClass, 'Warning', 'TaggingFailed', text);
  }
}
