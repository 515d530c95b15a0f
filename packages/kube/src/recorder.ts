import type { KubeObject } from './objects.ts';

/** Records Events. Never throws, never blocks the caller; like events are aggregated and writes batched, so that a storm costs few API writes. */
export interface EventRecorder {
  event(object: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** Writes what is pending. */
  flush(): Promise<void>;
}
