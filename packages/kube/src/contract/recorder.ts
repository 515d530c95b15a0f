import type { KubeObject } from './objects.ts';

/** Options of an event. */
export interface EventOptions {
  /**
   * Whether all processes together record the event only once, while the Event object exists (one hour). `once` is for
   * events that a restarted process would record again.
   */
  readonly once?: boolean | undefined;
  /** Annotations of the Event object. Equal events keep the annotations of the first event. */
  readonly annotations?: Record<string, string> | undefined;
}

/**
 * Records Events. The recorder never throws and never blocks the caller. Equal events share one Event, and the recorder
 * sends its writes in batches. `Reason` lists the reasons of a component.
 */
export interface EventRecorder<Reason extends string = string> {
  // Records an Event. `event` is a property instead of a method, because TypeScript checks the parameter types of a
  // property strictly. A recorder for all reasons can replace a recorder for some reasons, but not vice versa.
  readonly event: (
    object: KubeObject,
    type: 'Normal' | 'Warning',
    reason: Reason,
    message: string,
    options?: EventOptions,
  ) => void;
  flush(): Promise<void>;
}
