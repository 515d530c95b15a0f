import type { KubeObject } from './objects.ts';

/** What an event may say beside its reason and message. */
export interface EventOptions {
  /**
   * Not told again as long as the Event is stored (the API server keeps it for an hour), whichever process told it: for
   * what a new process finds as a former one left it.
   */
  readonly once?: boolean;
}

/** Records Events. Never throws, never blocks the caller; like events are aggregated and writes batched, so that a storm costs few API writes. */
export interface EventRecorder {
  event(object: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string, options?: EventOptions): void;
  /** Writes what is pending. */
  flush(): Promise<void>;
}
