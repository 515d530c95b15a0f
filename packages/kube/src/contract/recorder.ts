import type { KubeObject } from './objects.ts';

/** Options of an event. */
export interface EventOptions {
  /** Whether all processes together record the event only once while the Event object exists (one hour). */
  readonly once?: boolean | undefined;
  /** Annotations of the Event object. */
  readonly annotations?: Record<string, string> | undefined;
}

/**
 * An event recorder never throws and never blocks the caller. Equal events share one Event, and the recorder sends its
 * writes in batches.
 */
export interface EventRecorder<Reason extends string = string> {
  // TypeScript checks the parameter types of a property strictly, so `event` is a property instead of a method.
  readonly event: (
    object: KubeObject,
    type: 'Normal' | 'Warning',
    reason: Reason,
    message: string,
    options?: EventOptions,
  ) => void;
  flush(): Promise<void>;
}
