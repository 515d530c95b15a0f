import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { transitionOf } from '../objects/fields.ts';

/** Monitoring programs compute delays from the time in this annotation. */
export const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

interface Known {
  readonly service: number;
  readonly pods: ReadonlyMap<string, number>;
}

/** Finds the change time of a Service that its endpoints do not contain yet (`TriggerTimeTracker`). */
export class TriggerTimes {
  readonly #known = new Map<string, Known>();

  /**
   * Returns the time of the earliest change since the last call. Changes of the Service and of the readiness of its
   * pods count. For a new Service, the result is its creation time.
   */
  changeOf(key: string, service: ApiObject, pods: readonly ApiObject[]): Date | undefined {
    const made = new Date(service.metadata.creationTimestamp ?? 0).getTime();
    const before = this.#known.get(key);
    const times = new Map<string, number>();
    const changed: number[] = [];
    for (const pod of pods) {
      const { name = '' } = pod.metadata;
      const since = transitionOf(pod, 'Ready')?.getTime();
      if (since === undefined) continue;
      times.set(name, since);
      if (since > (before?.pods.get(name) ?? 0)) changed.push(since);
    }
    this.#known.set(key, { service: made, pods: times });
    if (before === undefined) return new Date(made);
    if (made > before.service) changed.push(made);
    return changed.length === 0 ? undefined : new Date(Math.min(...changed));
  }

  forget(key: string): void {
    this.#known.delete(key);
  }
}

/**
 * Without a change, the patch removes the annotation. The time has the format RFC 3339, and a fraction of zero is
 * omitted.
 */
export const triggerAnnotation = (change: Date | undefined): Record<string, string | null> => ({
  [TRIGGER_TIME]: change === undefined ? null : change.toISOString().replace(/\.?0*Z$/, 'Z'),
});

/** Removes null values, which would delete annotations in a merge patch. */
export const withoutNulls = (annotations: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(Object.entries(annotations).filter((entry): entry is [string, string] => entry[1] !== null));
