import type { KubeObject } from './objects.ts';

/** Options of an event. */
export interface EventOptions {
  /**
   * Whether all processes together record the event once while the Event object exists, which is one hour. Use `once`
   * for events that a restarted process would record again.
   */
  readonly once?: boolean | undefined;
  /** Annotations of the Event object. Equal events keep the annotations of the first event. */
  readonly annotations?: Record<string, string> | undefined;
}

/**
 * Records Events. The recorder never throws and never blocks the caller. Equal events share one Event, and writes are
 * batched. `Reason` lists the reasons of a component.
 */
export interface EventRecorder<Reason extends string = string> {
  // `event` is a property instead of a method, because TypeScript checks the parameter types of a property strictly. A
  // recorder for all reasons is a valid recorder for some reasons, but not vice versa.
  readonly event: (
    object: KubeObject,
    type: 'Normal' | 'Warning',
    reason: Reason,
    message: string,
    options?: EventOptions,
  ) => void;
  flush(): Promise<void>;
}
