import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { transitionOf } from '../objects/fields.ts';

/** The annotation with the time of the last change, from which monitoring programs compute delays. */
export const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

interface Known {
  readonly service: number;
  readonly pods: ReadonlyMap<string, number>;
}

/**
 * Finds the time of a change to the Service or to a pod. The endpoints do not contain the change yet
 * (`TriggerTimeTracker`).
 */
export class TriggerTimes {
  readonly #known = new Map<string, Known>();

  /** Returns the time of the earliest change since the previous call. */
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
 * Returns the annotation with the time of a change. The format is RFC 3339, and the fraction of a second has no
 * trailing zeros.
 */
export const triggerAnnotation = (change: Date | undefined): Record<string, string | null> => ({
  [TRIGGER_TIME]: change === undefined ? null : change.toISOString().replace(/\.?0*Z$/, 'Z'),
});

/** Removes null values, because a null in a merge patch deletes an annotation. */
export const withoutNulls = (annotations: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(Object.entries(annotations).filter((entry): entry is [string, string] => entry[1] !== null));
