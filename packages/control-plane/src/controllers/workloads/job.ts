import { items, look, number, type Plain } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { allowing } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { keyOf, splitKey } from '../runtime/informer.ts';
import {
  conditionOf,
  controllerOf,
  isActive,
  isDying,
  isReady,
  namespaceOf,
  phaseOf,
  timestamp,
} from '../runtime/objects.ts';
import { JOBS, PODS } from '../runtime/resources.ts';
import { OwnedPods, podOf } from './pods.ts';

const isFinished = (job: ApiObject): boolean =>
  ['Complete', 'Failed'].some((type) => conditionOf(job, type)?.status === 'True');

/** What a job comes to with these pods. */
export interface JobState {
  readonly active: number;
  readonly succeeded: number;
  readonly failed: number;
  /** How many more pods should run now; negative: fewer. */
  readonly missing: number;
  readonly outcome: 'Complete' | 'Failed' | undefined;
  readonly reason: string;
}

/** Counts a job's pods and judges it (completions, back-off limit, deadline). */
export function judgeJob(job: ApiObject, pods: readonly ApiObject[], now: Date): JobState {
  const spec = look(job, 'spec');
  const active = pods.filter(isActive).length;
  const succeeded = pods.filter((pod) => phaseOf(pod) === 'Succeeded').length;
  const failed = pods.filter(
    (pod) => phaseOf(pod) === 'Failed' || (isDying(pod) && phaseOf(pod) !== 'Succeeded'),
  ).length;
  const parallelism = number(spec, 'parallelism') ?? 1;
  const completions = number(spec, 'completions');
  const state = (outcome: JobState['outcome'], missing: number, reason = ''): JobState => ({
    active,
    succeeded,
    failed,
    missing,
    outcome,
    reason,
  });
  if (failed > (number(spec, 'backoffLimit') ?? 6)) return state('Failed', -active, 'BackoffLimitExceeded');
  const deadline = number(spec, 'activeDeadlineSeconds');
  const started = look(job, 'status').startTime;
  if (
    deadline !== undefined &&
    typeof started === 'string' &&
    now.getTime() >= new Date(started).getTime() + deadline * 1000
  ) {
    return state('Failed', -active, 'DeadlineExceeded');
  }
  const enough = completions === undefined ? succeeded > 0 && active === 0 : succeeded >= completions;
  if (enough) return state('Complete', -active, 'CompletionsReached');
  if (spec.suspend === true) return state(undefined, -active);
  const left = completions === undefined ? (succeeded > 0 ? active : parallelism) : completions - succeeded;
  return state(undefined, Math.min(parallelism, left) - active);
}

function setup({ api, clock, informer, queue }: ControllerContext): void {
  const jobs = informer(JOBS);
  const pods = informer(PODS);
  const owned = new OwnedPods(api, pods);

  const report = async (key: string, job: ApiObject, state: JobState): Promise<void> => {
    const now = timestamp(clock.now());
    const old = look(job, 'status');
    const suspended = look(job, 'spec').suspend === true;
    const ready = owned.active(job).filter(isReady).length;
    const status: Plain = {
      active: state.outcome === undefined ? state.active : 0,
      succeeded: state.succeeded,
      failed: state.failed,
      ready,
      ...(suspended ? {} : { startTime: old.startTime ?? now }),
    };
    const conditions = items(old, 'conditions');
    if (state.outcome !== undefined) {
      const { reason } = state;
      const base = { status: 'True', lastProbeTime: now, lastTransitionTime: now, reason, message: '' };
      status.conditions = [...conditions, { type: state.outcome, ...base }];
      if (state.outcome === 'Complete') status.completionTime = now;
    }
    const same = Object.entries(status).every(([field, value]) => (old[field] ?? 0) === value);
    if (same) return;
    await allowing(api.patch(JOBS, { ...splitKey(key), subresource: 'status' }, { status }), 404, 409);
  };

  /** A finished job with a time to live goes when that is over. */
  const expire = async (key: string, job: ApiObject): Promise<void> => {
    const seconds = number(look(job, 'spec'), 'ttlSecondsAfterFinished');
    const done = conditionOf(job, 'Complete') ?? conditionOf(job, 'Failed');
    const since = done?.lastTransitionTime;
    if (seconds === undefined || typeof since !== 'string') return;
    const at = new Date(new Date(since).getTime() + seconds * 1000);
    if (at > clock.now()) return work.addAt(key, at);
    const preconditions = { uid: job.metadata.uid ?? '' };
    await allowing(api.delete(JOBS, splitKey(key), { propagationPolicy: 'Foreground', preconditions }), 404, 409);
  };

  const work = queue(async (key) => {
    const job = jobs.get(key);
    if (job === undefined || isDying(job)) return;
    if (isFinished(job)) return expire(key, job);
    const all = owned.all(job);
    const state = judgeJob(job, all, clock.now());
    if (state.missing > 0) {
      const pod = podOf(job, look(job, 'spec', 'template'));
      for (let made = 0; made < state.missing; made++) await allowing(owned.create(job, pod), 403);
    }
    if (state.missing < 0) for (const pod of owned.active(job).slice(0, -state.missing)) await owned.delete(pod);
    await report(key, job, { ...state, active: Math.max(0, state.active + Math.max(0, state.missing)) });
    const deadline = number(look(job, 'spec'), 'activeDeadlineSeconds');
    const started = look(job, 'status').startTime;
    if (deadline !== undefined && typeof started === 'string') {
      work.addAt(key, new Date(new Date(started).getTime() + deadline * 1000));
    }
  });

  jobs.onChange(({ type, object }) => {
    if (type === 'deleted') owned.forget(object.metadata.uid ?? '');
    else work.add(keyOf(object));
  });
  pods.onChange(({ object }) => {
    const owner = controllerOf(object);
    if (owner?.kind === 'Job') work.add(`${namespaceOf(object)}/${owner.name}`);
  });
}

/**
 * Runs the pods of Jobs to completion. Indexes and pod failure policies are not kept.
 * @see kubernetes pkg/controller/job
 */
export const jobController: Controller = { name: 'job', setup };
