import { look, number, type Plain, text } from '../../../kinds/plain.ts';
import type { ApiObject } from '../../../object.ts';
import { jsonEquals } from '../../../registry/object-text.ts';
import { allowing } from '../../runtime/api.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import { keyOf, splitKey } from '../../runtime/informer.ts';
import { controllerOf, isActive, isDying, namespaceOf } from '../../runtime/objects.ts';
import { JOBS, PODS } from '../../runtime/resources.ts';
import { Adoption } from '../adopt.ts';
import { isTerminating, OwnedPods } from '../pods.ts';
import { countJob, isTracked, TRACKING } from './count.ts';
import { type Backoff, isFinished, type JobStep, judgeJob, nextBackoff } from './judge.ts';
import { jobPod } from './pods.ts';

const NO_FAILURE: Backoff = { failures: 0, lastFailure: 0 };
const OWN = 'kubernetes.io/job-controller';

/** Whether somebody else runs the job. */
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
  const adoption = new Adoption(api, { owners: JOBS, resource: PODS, objects: pods });
  const backoffs = new Map<string, Backoff>();
  /** Failed pods that the backoff knows: their finalizer may be gone from the cache only later. */
  const known = new Map<string, Set<string>>();

  const release = async (pod: ApiObject): Promise<void> => {
    const { namespace, name, uid, finalizers = [] } = pod.metadata;
    const left = finalizers.filter((one) => one !== TRACKING);
    await allowing(api.patch(PODS, { namespace, name }, { metadata: { uid, finalizers: left } }), 404, 409);
  };

  const remember = (job: ApiObject, all: readonly ApiObject[]): void => {
    const { uid = '' } = job.metadata;
    const count = countJob(job, all);
    const seen = known.get(uid) ?? new Set<string>();
    known.set(uid, seen);
    const fresh = (list: readonly ApiObject[]): ApiObject[] => list.filter((pod) => !seen.has(pod.metadata.uid ?? ''));
    const news = {
      ...count,
      newlyFailed: fresh(count.newlyFailed),
      newlySucceeded: fresh(count.newlySucceeded),
    };
    for (const pod of [...news.newlyFailed, ...news.newlySucceeded]) seen.add(pod.metadata.uid ?? '');
    backoffs.set(uid, nextBackoff(backoffs.get(uid) ?? NO_FAILURE, news, clock.now()));
  };

  const carryOut = async (key: string, job: ApiObject, step: JobStep): Promise<void> => {
    for (const pod of step.delete) await owned.delete(pod, job);
    for (const { index, previous } of step.create) {
      try {
        await owned.create(job, jobPod(job, index, previous));
      } catch (error) {
        if (isTerminating(error)) return;
        throw error;
      }
    }
    const { metadata } = job;
    if (!saysAlready(look(job, 'status'), step.status)) {
      const patch = { metadata: { resourceVersion: metadata.resourceVersion }, status: step.status };
      const place = { ...splitKey(key), subresource: 'status' };
      // Written by somebody else meanwhile: its event brings the job back, and nothing is let go before.
      if ((await allowing(api.patch(JOBS, place, patch), 404, 409)) === undefined) return;
      for (const { type, reason, message } of step.events) tell(job, type, reason, message);
    }
    for (const pod of step.release) await release(pod);
  };

  const work = queue(async (key) => {
    const job = jobs.get(key);
    if (job === undefined || isForeign(job)) return;
    if (isFinished(job)) {
      for (const pod of owned.all(job).filter(isTracked)) await release(pod);
      return;
    }
    await adoption.claim(job, isActive);
    const all = owned.all(job);
    remember(job, all);
    const backoff = backoffs.get(job.metadata.uid ?? '') ?? NO_FAILURE;
    const step = judgeJob(job, all, backoff, clock.now());
    if (step.lookAgainAt !== undefined) work.addAt(key, new Date(step.lookAgainAt));
    await carryOut(key, job, step);
  });

  /** A pod whose job is gone waits for nobody. */
  const orphans = queue(async (key) => {
    const pod = pods.get(key);
    if (pod === undefined || !isTracked(pod)) return;
    const owner = controllerOf(pod);
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
    backoffs.delete(uid);
    known.delete(uid);
    for (const pod of podsOf(uid)) orphans.add(keyOf(pod));
  });
  const jobsIn = jobs.index((job) => [namespaceOf(job)]);
  pods.onChange(({ type, object, old }) => {
    for (const pod of old === undefined ? [object] : [object, old]) {
      const owner = controllerOf(pod);
      if (owner?.kind === 'Job') work.add(`${namespaceOf(pod)}/${owner.name}`);
    }
    if (type === 'deleted') return;
    if (isTracked(object) && (isDying(object) || controllerOf(object) === undefined)) orphans.add(keyOf(object));
    if (controllerOf(object) !== undefined || !isActive(object)) return;
    for (const job of jobsIn(namespaceOf(object))) if (adoption.selects(job, object)) work.add(keyOf(job));
  });
}

/**
 * Runs the pods of Jobs to their end. A pod's end is written into the job's status before the pod may go, so that none is
 * counted twice or not at all.
 * @see kubernetes pkg/controller/job
 */
export const jobController: Controller = { name: 'job', setup };

function setupTtl({ api, clock, informer, queue }: ControllerContext): void {
  const jobs = informer(JOBS);
  const work = queue(async (key) => {
    const job = jobs.get(key);
    if (job === undefined || isDying(job) || !isFinished(job)) return;
    const seconds = number(look(job, 'spec'), 'ttlSecondsAfterFinished');
    const end = (look(job, 'status').conditions as Plain[]).find(
      ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
    );
    const since = text(end, 'lastTransitionTime');
    if (seconds === undefined || since === '') return;
    const at = new Date(new Date(since).getTime() + seconds * 1000);
    if (at > clock.now()) return work.addAt(key, at);
    const preconditions = { uid: job.metadata.uid ?? '' };
    await allowing(api.delete(JOBS, splitKey(key), { propagationPolicy: 'Foreground', preconditions }), 404, 409);
  });
  jobs.onChange(({ type, object }) => {
    if (type !== 'deleted' && look(object, 'spec').ttlSecondsAfterFinished !== undefined) work.add(keyOf(object));
  });
}

/** Deletes finished jobs whose time to live is over. @see kubernetes pkg/controller/ttlafterfinished */
export const ttlAfterFinished: Controller = { name: 'ttl-after-finished', setup: setupTtl };
