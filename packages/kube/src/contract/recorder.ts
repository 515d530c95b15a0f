import type { KubeObject } from './objects.ts';

/** What an event may say next to its reason and message. */
export interface EventOptions {
  /**
   * Not told again as long as the Event is stored (the API server keeps it for an hour), whichever process told it: for
   * what a new process finds as a former one left it.
   */
  readonly once?: boolean;
}

/**
 * Records Events. Never throws, never blocks the caller; like events are aggregated and writes batched, so that a storm costs few API writes.
 * `Reason` is what it takes: where the reasons of a component are a closed list, one that is not in it does not compile.
 */
export interface EventRecorder<Reason extends string = string> {
  // A property and no method: a recorder of any reason serves as one of some, and not the other way round.
  readonly event: (
    object: KubeObject,
    type: 'Normal' | 'Warning',
    reason: Reason,
    message: string,
    options?: EventOptions,
  ) => void;
  /** Writes what is pending. */
  flush(): Promise<void>;
}
