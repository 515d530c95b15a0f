import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, number } from '../../../apimachinery/objects/plain.ts';
import { targetOf } from './node.ts';

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 15 * 60_000;

export class FailedPods {
  /** The time of the last failure and the number of consecutive failures, for each DaemonSet, generation and node. */
  readonly #failures = new Map<string, { readonly count: number; readonly at: number }>();

  /** Returns the time at which a failed pod may be replaced. */
  waitUntil(set: ApiObject, pod: ApiObject, time: Date): Date | undefined {
    const id = `${set.metadata.uid}/${number(look(set, 'status'), 'observedGeneration') ?? 0}/${targetOf(pod)}`;
    const now = time.getTime();
    const { count, at } = this.#failures.get(id) ?? { count: 0, at: 0 };
    const wait = count === 0 ? 0 : Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (count - 1));
    if (now < at + wait) return new Date(at + wait);
    this.#failures.set(id, { count: now - at > 2 * LAST_RETRY_MS ? 1 : count + 1, at: now });
    return undefined;
  }

  forget(uid: string): void {
    for (const id of this.#failures.keys()) if (id.startsWith(`${uid}/`)) this.#failures.delete(id);
  }
}
