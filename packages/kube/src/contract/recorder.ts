import type { KubeObject } from './objects.ts';

/** Options of an event. */
export interface EventOptions {
  /**
   * If true, the event is recorded once while the Event object exists (one hour in the API server), even by several
   * processes. Use this option for facts that a new process finds again.
   */
  readonly once?: boolean;
}

/**
 * Records Events. The recorder never throws and never blocks the caller. Equal events are aggregated and writes are
 * batched, so many events cause few writes. `Reason` is the list of a component's reasons.
 */
export interface EventRecorder<Reason extends string = string> {
  // A property instead of a method, because TypeScript checks the parameter types of a property strictly. A recorder
  // of all reasons can then be used as a recorder of some reasons, but not the reverse.
  readonly event: (
    object: KubeObject,
    type: 'Normal' | 'Warning',
    reason: Reason,
    message: string,
    options?: EventOptions,
  ) => void;
  flush(): Promise<void>;
}
