import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../../apimachinery/objects/object-text.ts';
import { look, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { allowing } from '../../runtime/api.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import { keyOf, splitKey } from '../../runtime/informer.ts';
import { controllerOf, isDying, namespaceOf } from '../../runtime/objects.ts';
import { JOBS, PODS } from '../../runtime/resources.ts';
import { Adoption } from '../adopt.ts';
import { inBatches, isTerminating, OwnedPods } from '../pods.ts';
import { countJob, isTracked, type JobCount, TRACKING, uidOf } from './count.ts';
import { deadlineOf, endOf, isFinished } from './end.ts';
import { type NewPod, NOTHING, planPods } from './plan.ts';
import { jobPod } from './pods.ts';
import { type Done, type JobReport, reportJob } from './status.ts';
import { type Backoff, NO_FAILURE, nextBackoff } from './times.ts';

const OWN = 'kubernetes.io/job-controller';

/** Whether another controller manages the job. */
const isForeign = (job: ApiObject): boolean => {
  const managedBy = text(look(job, 'spec'), 'managedBy');
  return managedBy !== '' && managedBy !== OWN;
};

/** Whether a status says these things; zero, null and absent are the same. */
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

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const jobs = informer(JOBS);
  const pods = informer(PODS);
  const tell = recorder('job-controller');
  const owned = new OwnedPods(api, pods, tell);
  const adoption = new Adoption(api, {
    owners: JOBS,
    resource: PODS,
    objects: pods,
    finalizers: [TRACKING],
    taken: owned.took.bind(owned),
  });
  const backoffs = new Map<string, Backoff>();
  /** Failed and succeeded pods that the backoff knows, as long as they are tracked. */
  const known = new Map<string, Set<string>>();
  /** Pods whose finalizer is gone, which the cache does not know yet. */
  const released = new Set<string>();

  const release = async (pod: ApiObject): Promise<void> => {
    const { namespace, name, uid = '' } = pod.metadata;
    const metadata = { uid, '$deleteFromPrimitiveList/finalizers': [TRACKING] };
    await allowing(api.merge(PODS, { namespace, name }, { metadata }), 404, 409);
    const cached = pods.get(`${namespace}/${name}`);
    if (cached?.metadata.uid === uid && isTracked(cached)) released.add(uid);
  };

  const withoutTracking = (pod: ApiObject): ApiObject => ({
    ...pod,
    metadata: { ...pod.metadata, finalizers: (pod.metadata.finalizers ?? []).filter((one) => one !== TRACKING) },
  });

  const podsFor = (job: ApiObject): ApiObject[] =>
    owned
      .all(job)
      .filter((pod) => adoption.selects(job, pod))
      .map((pod) => (released.has(uidOf(pod)) ? withoutTracking(pod) : pod));

  const backoffOf = (job: ApiObject, count: JobCount): Backoff => {
    const { uid = '' } = job.metadata;
    const seen = known.get(uid) ?? new Set<string>();
    known.set(uid, seen);
    const fresh = (list: readonly ApiObject[]): ApiObject[] => list.filter((pod) => !seen.has(uidOf(pod)));
    const [succeeded, failed] = [fresh(count.newlySucceeded), fresh(count.newlyFailed)];
    for (const pod of [...succeeded, ...failed]) seen.add(uidOf(pod));
    const backoff = nextBackoff(backoffs.get(uid) ?? NO_FAILURE, succeeded, failed);
    backoffs.set(uid, backoff);
    return backoff;
  };

  const forget = (uid: string): void => {
    backoffs.delete(uid);
    known.delete(uid);
  };

  /** Deletes pods; `quietly`: those that are given up before their time do not count as failed. */
  const remove = async (
    job: ApiObject,
    list: readonly ApiObject[],
    quietly: boolean,
    errors: unknown[],
  ): Promise<ApiObject[]> => {
    const one = async (pod: ApiObject): Promise<ApiObject[]> => {
      try {
        if (quietly && isTracked(pod)) await release(pod);
        await owned.delete(pod, job);
        return [pod];
      } catch (error) {
        errors.push(error);
        return [];
      }
    };
    return (await Promise.all(list.map(one))).flat();
  };

  const make = async (job: ApiObject, list: readonly NewPod[], errors: unknown[]): Promise<number> => {
    let made = 0;
    const one = async (index: number): Promise<void> => {
      await owned.create(job, jobPod(job, list[index]?.index, list[index]?.previous));
      made++;
    };
    try {
      await inBatches(list.length, one);
    } catch (error) {
      // A namespace on its way out takes no pods, and will take the job with it.
      if (!isTerminating(error)) errors.push(error);
    }
    return made;
  };

  const write = async (key: string, job: ApiObject, { status, release: ended, events }: JobReport): Promise<void> => {
    const { resourceVersion } = job.metadata;
    if (!saysAlready(look(job, 'status'), status)) {
      const patch = { metadata: { resourceVersion }, status };
      const place = { ...splitKey(key), subresource: 'status' };
      // Another client changed the job in the meantime. Its event triggers the next sync, and no pod is released before.
      if ((await allowing(api.patch(JOBS, place, patch), 404, 409)) === undefined) return;
      for (const { type, reason, message } of events) tell(job, type, reason, message);
    }
    await Promise.all(ended.map(release));
  };

  const sync = async (key: string, job: ApiObject): Promise<void> => {
    await adoption.claim(job);
    const now = clock.now();
    const all = podsFor(job);
    const count = countJob(job, all);
    const backoff = backoffOf(job, count);
    const end = endOf(job, count, all, now);
    const errors: unknown[] = [];
    let done: Done;
    if (end !== undefined) {
      done = { made: 0, deleted: await remove(job, count.active, false, errors) };
    } else {
      const plan = isDying(job) ? NOTHING : planPods(job, count, all, backoff, now);
      if (plan.lookAgainAt !== undefined) work.addAt(key, new Date(plan.lookAgainAt));
      done = {
        deleted: await remove(job, plan.delete, true, errors),
        made: await make(job, plan.create, errors),
      };
    }
    const isOver = end !== undefined && done.deleted.length === count.active.length;
    const report = reportJob(job, all, count, done, isOver ? end : undefined, end === undefined && !isDying(job), now);
    const deadline = end === undefined ? deadlineOf({ ...job, status: report.status }) : undefined;
    if (deadline !== undefined) work.addAt(key, new Date(deadline));
    await write(key, job, report);
    if (errors.length > 0) throw errors[0];
  };

  const work = queue(async (key) => {
    const job = jobs.get(key);
    if (job === undefined || isForeign(job)) return;
    if (!isFinished(job)) return sync(key, job);
    forget(job.metadata.uid ?? '');
    for (const pod of podsFor(job).filter(isTracked)) await release(pod);
  });

  /** Releases a pod whose job is gone. A pod of another kind of owner is ignored. */
  const orphans = queue(async (key) => {
    const pod = pods.get(key);
    if (pod === undefined || !isTracked(pod)) return;
    const owner = controllerOf(pod);
    if (owner !== undefined && (owner.kind !== 'Job' || owner.apiVersion !== 'batch/v1')) return;
    const job = owner === undefined ? undefined : jobs.get(`${namespaceOf(pod)}/${owner.name}`);
    if (job === undefined || job.metadata.uid !== owner?.uid) await release(pod);
  });

  const podsOf = pods.index((pod) => {
    const owner = controllerOf(pod);
    return owner === undefined ? [] : [owner.uid];
  });
  jobs.onChange(({ type, object }) => {
    if (type !== 'deleted') return work.add(keyOf(object));
    const { uid = '' } = object.metadata;
    owned.forget(uid);
    forget(uid);
    for (const pod of podsOf(uid)) orphans.add(keyOf(pod));
  });
  const jobsIn = jobs.index((job) => [namespaceOf(job)]);
  pods.onChange(({ type, object, old }) => {
    for (const pod of old === undefined ? [object] : [object, old]) {
      const owner = controllerOf(pod);
      if (owner?.kind === 'Job') work.add(`${namespaceOf(pod)}/${owner.name}`);
    }
    if (type === 'deleted' || !isTracked(object)) {
      released.delete(uidOf(object));
      known.get(controllerOf(object)?.uid ?? '')?.delete(uidOf(object));
    }
    if (type === 'deleted') return;
    if (isTracked(object) && (isDying(object) || controllerOf(object) === undefined)) orphans.add(keyOf(object));
    if (controllerOf(object) !== undefined) return;
    for (const job of jobsIn(namespaceOf(object))) if (adoption.selects(job, object)) work.add(keyOf(job));
  });
}

/**
 * Runs the pods of Jobs to their end. A pod's end is written into the job's status before the pod may go, so that none is
 * counted twice or not at all.
 * @see kubernetes pkg/controller/job
 */
export const jobController: Controller = { name: 'job', setup };
