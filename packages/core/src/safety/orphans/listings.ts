import type { MachineClass } from '@mcm/api';
import { type Clock, errorText, type Key, keyOf, type Logger } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import type { MachineError } from '../../driver/contract/errors.ts';
import type { DriverInvoker } from '../../driver/invoker/api/invoker-api.ts';
import { Lane } from '../../flow/lane.ts';

export interface Listing {
  /** The time of the list request. VMs that were created after this time may be missing in the list. */
  readonly startedAt: Date;
  readonly vms: readonly ListedInstance[];
}

export interface ListingOptions {
  readonly invoker: Pick<DriverInvoker, 'list'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly ended: (classKey: Key) => void;
  /** The keys of the tags that a list contains. */
  readonly tagKeys?: readonly string[] | undefined;
}

interface State {
  running: boolean;
  last?: Listing;
  failures: number;
  error?: string;
}

/**
 * The maximum number of VM listings at the same time. A listing that ignores its abort signal no longer counts, and
 * delays only its own class.
 */
const LIMIT = 20;

/** Lists the VMs of each class. A class has at most one listing at a time, even if a driver call never ends. */
export class Listings {
  readonly #options: ListingOptions;
  readonly #states = new Map<Key, State>();
  readonly #lane = new Lane(LIMIT);

  constructor(options: ListingOptions) {
    this.#options = options;
  }

  of(classKey: Key): Listing | undefined {
    return this.#states.get(classKey)?.last;
  }

  failures(classKey: Key): number {
    return this.#states.get(classKey)?.failures ?? 0;
  }

  error(classKey: Key): string | undefined {
    return this.#states.get(classKey)?.error;
  }

  running(classKey: Key): boolean {
    return this.#states.get(classKey)?.running === true;
  }

  begin(machineClass: MachineClass): void {
    const key = keyOf(machineClass);
    const state = this.#states.get(key) ?? { running: false, failures: 0 };
    if (state.running) return;
    state.running = true;
    this.#states.set(key, state);
    void this.#lane.run((leave) => this.#list(machineClass, state, leave)).then(() => this.#settle(key, state));
  }

  forget(classKey: Key): void {
    this.#states.delete(classKey);
  }

  clear(): void {
    this.#states.clear();
  }

  async #list(machineClass: MachineClass, state: State, leave: () => void): Promise<void> {
    const { invoker, clock, log, tagKeys } = this.#options;
    const fields = { class: machineClass.metadata.name };
    const startedAt = clock.now();
    try {
      const onOverdue = (error: MachineError): void => {
        leave();
        log.warn('The list call of a class was canceled, but has not ended; the next call waits for its end', {
          ...fields,
          error: error.message,
        });
      };
      const vms = await invoker.list(machineClass, onOverdue, tagKeys);
      state.last = { startedAt, vms };
      state.failures = 0;
      delete state.error;
    } catch (error) {
      state.failures++;
      state.error = errorText(error);
      log.warn('Cannot list the VMs of a class', { ...fields, error: state.error });
    }
  }

  #settle(key: Key, state: State): void {
    state.running = false;
    this.#options.ended(key);
  }
}
