import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, text } from '../../../apimachinery/objects/plain.ts';
import { JOBS, PODS } from '../../client/resources.ts';
import { controllerOf, isDying, namespaceOf } from '../../objects/fields.ts';
import { controllerWords, namespaceWords } from '../../objects/index-words.ts';
import { keyOf } from '../../objects/keys.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import type { Informer } from '../../runtime/informer.ts';
import type { WorkQueue } from '../../runtime/queue.ts';
import { Adoption } from '../adopt.ts';
import { OwnedPods } from '../pods.ts';
import { JobWriter } from './apply.ts';
import { countJob, isTracked, TRACKING } from './count.ts';
import { deadlineOf, endOf, isFinished } from './end.ts';
import { NOTHING, planPods } from './plan.ts';
import { reportJob } from './status.ts';
import { TrackedPods } from './tracked-pods.ts';

const OWN = 'kubernetes.io/job-controller';

const isForeign = (job: ApiObject): boolean => {
  const managedBy = text(look(job, 'spec'), 'managedBy');
  return managedBy !== '' && managedBy !== OWN;
};

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const jobs = informer(JOBS);
  const pods = informer(PODS);
  const tell = recorder('job-controller');
  const owned = new OwnedPods(api, pods, tell);
  const tracked = new TrackedPods(api, pods);
  const writer = new JobWriter(api, owned, tracked, tell);
  const adoption = new Adoption(api, {
    owners: JOBS,
    resource: PODS,
    objects: pods,
    finalizers: [TRACKING],
    taken: owned.took.bind(owned),
  });

  const podsFor = (job: ApiObject): ApiObject[] =>
    owned
      .all(job)
      .filter((pod) => adoption.selects(job, pod))
      .map((pod) => tracked.current(pod));

  const sync = async (key: string, job: ApiObject): Promise<void> => {
    await adoption.claim(job);
    const now = clock.now();
    const all = podsFor(job);
    const count = countJob(job, all);
    const backoff = tracked.backoffOf(job, count);
    const end = endOf(job, count, all, now);
    const plan = end !== undefined || isDying(job) ? NOTHING : planPods(job, count, all, backoff, now);
    if (plan.lookAgainAt !== undefined) work.addAt(key, new Date(plan.lookAgainAt));
    const errors: unknown[] = [];
    const deleted = await writer.remove(job, end === undefined ? plan.delete : count.active, end === undefined, errors);
    const made = await writer.make(job, plan.create, errors);
    const isOver = end !== undefined && deleted.length === count.active.length;
    const runs = end === undefined && !isDying(job);
    const report = reportJob(job, all, count, { made, deleted }, isOver ? end : undefined, runs, now);
    const deadline = end === undefined ? deadlineOf({ ...job, status: report.status }) : undefined;
    if (deadline !== undefined) work.addAt(key, new Date(deadline));
    await writer.write(job, report);
    if (errors.length > 0) throw errors[0];
  };

  const work = queue(async (key) => {
    const job = jobs.get(key);
    if (job === undefined || isForeign(job)) return;
    if (!isFinished(job)) return sync(key, job);
    tracked.forgetJob(job.metadata.uid ?? '');
    for (const pod of podsFor(job).filter(isTracked)) await tracked.release(pod);
  });

  const orphans = queue(async (key) => {
    const pod = pods.get(key);
    if (pod === undefined || !isTracked(pod)) return;
    const owner = controllerOf(pod);
    if (owner !== undefined && (owner.kind !== 'Job' || owner.apiVersion !== 'batch/v1')) return;
    const job = owner === undefined ? undefined : jobs.get(`${namespaceOf(pod)}/${owner.name}`);
    if (job === undefined || job.metadata.uid !== owner?.uid) await tracked.release(pod);
  });
  follow({ jobs, pods, owned, tracked, adoption, work, orphans });
}

function follow(of: {
  readonly jobs: Informer;
  readonly pods: Informer;
  readonly owned: OwnedPods;
  readonly tracked: TrackedPods;
  readonly adoption: Adoption;
  readonly work: WorkQueue;
  readonly orphans: WorkQueue;
}): void {
  const { jobs, pods, owned, tracked, adoption, work, orphans } = of;
  const podsOf = pods.index(controllerWords);
  jobs.onChange(({ type, object }) => {
    if (type !== 'deleted') return work.add(keyOf(object));
    const { uid = '' } = object.metadata;
    owned.forget(uid);
    tracked.forgetJob(uid);
    for (const pod of podsOf(uid)) orphans.add(keyOf(pod));
  });
  const jobsIn = jobs.index(namespaceWords);
  pods.onChange(({ type, object, old }) => {
    for (const pod of old === undefined ? [object] : [object, old]) {
      const owner = controllerOf(pod);
      if (owner?.kind === 'Job') work.add(`${namespaceOf(pod)}/${owner.name}`);
    }
    if (type === 'deleted' || !isTracked(object)) tracked.forgetPod(object);
    if (type === 'deleted') return;
    if (isTracked(object) && (isDying(object) || controllerOf(object) === undefined)) orphans.add(keyOf(object));
    if (controllerOf(object) !== undefined) return;
    for (const job of jobsIn(namespaceOf(object))) if (adoption.selects(job, object)) work.add(keyOf(job));
  });
}

/**
 * Creates the pods of Jobs. The status of a Job counts each finished pod exactly once, before the pod is deleted.
 * @see kubernetes pkg/controller/job
 */
export const jobController: Controller = { name: 'job', setup };
