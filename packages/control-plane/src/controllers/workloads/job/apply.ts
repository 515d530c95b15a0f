import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../../apimachinery/objects/object-text.ts';
import { look, type Plain } from '../../../apimachinery/objects/plain.ts';
import { type Api, allowing } from '../../client/api.ts';
import { JOBS } from '../../client/resources.ts';
import type { Recorder } from '../../events/events.ts';
import { inBatches, isTerminating, type OwnedPods } from '../pods.ts';
import { isTracked } from './count.ts';
import type { NewPod } from './plan.ts';
import { jobPod } from './pods.ts';
import type { JobReport } from './status.ts';
import type { TrackedPods } from './tracked-pods.ts';

/** In a status, zero, null and an absent value are equal. */
function saysAlready(old: Plain, status: Plain): boolean {
  return Object.entries(status).every(([field, value]) => {
    if (field === 'uncountedTerminatedPods') {
      const lists = ['succeeded', 'failed'].map((list) =>
        jsonEquals(look(old, field)[list] ?? [], look(status, field)[list] ?? []),
      );
      return lists.every(Boolean) && old[field] !== undefined;
    }
    if (field === 'ready' || field === 'terminating') return old[field] === value;
    return (
      jsonEquals(old[field] ?? (Array.isArray(value) ? [] : 0), value ?? 0) ||
      (value === '' && old[field] === undefined)
    );
  });
}

/** Creates and deletes the pods of a Job, and writes its status. */
export class JobWriter {
  readonly #api: Api;
  readonly #owned: OwnedPods;
  readonly #tracked: TrackedPods;
  readonly #tell: Recorder;

  constructor(api: Api, owned: OwnedPods, tracked: TrackedPods, tell: Recorder) {
    this.#api = api;
    this.#owned = owned;
    this.#tracked = tracked;
    this.#tell = tell;
  }

  async remove(job: ApiObject, list: readonly ApiObject[], quietly: boolean, errors: unknown[]): Promise<ApiObject[]> {
    const one = async (pod: ApiObject): Promise<ApiObject[]> => {
      try {
        if (quietly && isTracked(pod)) await this.#tracked.release(pod);
        await this.#owned.delete(pod, job);
        return [pod];
      } catch (error) {
        errors.push(error);
        return [];
      }
    };
    return (await Promise.all(list.map(one))).flat();
  }

  async make(job: ApiObject, list: readonly NewPod[], errors: unknown[]): Promise<number> {
    let made = 0;
    const one = async (index: number): Promise<void> => {
      await this.#owned.create(job, jobPod(job, list[index]?.index, list[index]?.previous));
      made++;
    };
    try {
      await inBatches(list.length, one);
    } catch (error) {
      if (!isTerminating(error)) errors.push(error);
    }
    return made;
  }

  /** Writes the status of a Job, and then removes the finalizers of the pods that the status counts. */
  async write(job: ApiObject, { status, release, events }: JobReport): Promise<void> {
    const { namespace, name, resourceVersion } = job.metadata;
    if (!saysAlready(look(job, 'status'), status)) {
      const patch = { metadata: { resourceVersion }, status };
      const place = { namespace, name, subresource: 'status' };
      // A pod keeps its finalizer until the status is written.
      if ((await allowing(this.#api.patch(JOBS, place, patch), 404, 409)) === undefined) return;
      for (const { type, reason, message } of events) this.#tell(job, type, reason, message);
    }
    await Promise.all(release.map((pod) => this.#tracked.release(pod)));
  }
}
