import type { KubeObject } from './objects.ts';

/** Options of an event. */
export interface EventOptions {
  /**
   * Recorded once as long as the Event is stored (one hour in the API server), even if another process recorded it.
   * Use it for facts that a new process finds again.
   */
  readonly once?: boolean;
}

/**
 * Records Events. It never throws and never blocks the caller. Equal events are aggregated and writes are batched, so that many events cost few API
 * writes.
 * `Reason` is the list of reasons of a component. A reason outside of the list does not compile.
 */
export interface EventRecorder<Reason extends string = string> {
  // A property instead of a method, for a strict type check. A recorder of all reasons is a recorder of some, but not the reverse.
  readonly event: (
    object: KubeObject,
    type: 'Normal' | 'Warning',
    reason: Reason,
    message: string,
    options?: EventOptions,
  ) => void;
  /** Writes all pending events. */
  flush(): Promise<void>;
}
