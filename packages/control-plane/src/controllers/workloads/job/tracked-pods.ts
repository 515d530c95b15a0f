import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { type Api, allowing } from '../../client/api.ts';
import { PODS } from '../../client/resources.ts';
import { controllerOf } from '../../objects/fields.ts';
import type { Informer } from '../../runtime/informer.ts';
import { isTracked, type JobCount, TRACKING, uidOf } from './count.ts';
import { type Backoff, NO_FAILURE, nextBackoff } from './times.ts';

const withoutTracking = (pod: ApiObject): ApiObject => ({
  ...pod,
  metadata: { ...pod.metadata, finalizers: (pod.metadata.finalizers ?? []).filter((one) => one !== TRACKING) },
});

export class TrackedPods {
  readonly #api: Api;
  readonly #pods: Informer;
  readonly #backoffs = new Map<string, Backoff>();
  readonly #known = new Map<string, Set<string>>();
  readonly #released = new Set<string>();

  constructor(api: Api, pods: Informer) {
    this.#api = api;
    this.#pods = pods;
  }

  async release(pod: ApiObject): Promise<void> {
    const { namespace, name, uid = '' } = pod.metadata;
    const metadata = { uid, '$deleteFromPrimitiveList/finalizers': [TRACKING] };
    await allowing(this.#api.merge(PODS, { namespace, name }, { metadata }), 404, 409);
    const cached = this.#pods.get(`${namespace}/${name}`);
    if (cached?.metadata.uid === uid && isTracked(cached)) this.#released.add(uid);
  }

  current(pod: ApiObject): ApiObject {
    return this.#released.has(uidOf(pod)) ? withoutTracking(pod) : pod;
  }

  backoffOf({ metadata: { uid = '' } }: ApiObject, count: JobCount): Backoff {
    const seen = this.#known.get(uid) ?? new Set<string>();
    this.#known.set(uid, seen);
    const fresh = (list: readonly ApiObject[]): ApiObject[] => list.filter((pod) => !seen.has(uidOf(pod)));
    const [succeeded, failed] = [fresh(count.newlySucceeded), fresh(count.newlyFailed)];
    for (const pod of [...succeeded, ...failed]) seen.add(uidOf(pod));
    const backoff = nextBackoff(this.#backoffs.get(uid) ?? NO_FAILURE, succeeded, failed);
    this.#backoffs.set(uid, backoff);
    return backoff;
  }

  forgetPod(pod: ApiObject): void {
    this.#released.delete(uidOf(pod));
    this.#known.get(controllerOf(pod)?.uid ?? '')?.delete(uidOf(pod));
  }

  forgetJob(uid: string): void {
    this.#backoffs.delete(uid);
    this.#known.delete(uid);
  }
}
