import type { KubeObject } from './objects.ts';

/** Options of an event. */
export interface EventOptions {
  /**
   * If true, the event is recorded once while the Event object exists (one hour in the API server), even by several
   * processes. `once` prevents a repetition of events that a new process would report again.
   */
  readonly once?: boolean | undefined;
  /** Annotations of the Event object. Of several equal events, the first one decides about the annotations. */
  readonly annotations?: Record<string, string> | undefined;
}

/**
 * Records Events. The recorder never throws and never blocks the caller. Equal events are aggregated and writes are
 * batched, so many events cause few writes. `Reason` is the list of a component's reasons.
 */
export interface EventRecorder<Reason extends string = string> {
  // `event` is a property instead of a method, because TypeScript checks the parameter types of a property strictly. A
  // recorder for all reasons can be used as a recorder for some reasons, but not vice versa.
  readonly event: (
    object: KubeObject,
    type: 'Normal' | 'Warning',
    reason: Reason,
    message: string,
    options?: EventOptions,
  ) => void;
  flush(): Promise<void>;
}
