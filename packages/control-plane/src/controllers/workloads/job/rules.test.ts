import { expect, test } from 'vitest';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { countJob, TRACKING } from './count.ts';
import { endOf } from './end.ts';
import { planPods } from './plan.ts';
import { reportJob } from './status.ts';
import { finishedAt, NO_FAILURE, nextBackoff } from './times.ts';

const NOW = new Date('2024-01-01T12:00:00Z');
const at = (seconds: number): string => new Date(NOW.getTime() + seconds * 1000).toISOString();
type Facts = Record<string, unknown>;

const jobWith = (spec: Facts, status: Facts = {}): ApiObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'j', namespace: 'default', uid: 'j' },
  spec: { completions: 3, parallelism: 3, backoffLimit: 6, ...spec },
  status: { startTime: at(-60), ...status },
});

interface PodFacts {
  readonly phase?: string;
  readonly index?: number;
  readonly failures?: number;
  readonly ignored?: number;
  readonly dying?: boolean;
  readonly finishedAt?: number;
  readonly restarts?: number;
  readonly exitCode?: number;
}

const pod = (name: string, facts: PodFacts = {}): ApiObject => {
  const { phase = 'Running', index, failures = 0, ignored = 0, dying = false, restarts = 0, exitCode = 1 } = facts;
  const annotations = {
    'batch.kubernetes.io/job-completion-index': String(index),
    'batch.kubernetes.io/job-index-failure-count': String(failures),
    'batch.kubernetes.io/job-index-ignored-failure-count': String(ignored),
  };
  const terminated = { exitCode, finishedAt: at(facts.finishedAt ?? 0) };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      uid: name,
      finalizers: [TRACKING],
      creationTimestamp: at(-60),
      ...(index === undefined ? {} : { annotations }),
      ...(dying ? { deletionTimestamp: at(0) } : {}),
    },
    spec: {},
    status: {
      phase,
      containerStatuses: [{ name: 'c', restartCount: restarts, state: phase === 'Running' ? {} : { terminated } }],
    },
  };
};

const indexed = { completionMode: 'Indexed' };
const report = (job: ApiObject, pods: readonly ApiObject[], done = { made: 0, deleted: [] as ApiObject[] }) => {
  const count = countJob(job, pods);
  return reportJob(job, pods, count, done, endOf(job, count, pods, NOW), true, NOW);
};

test.each<[string, Facts, ApiObject[], string]>([
  ['more failures than its limit', { backoffLimit: 0 }, [pod('a', { phase: 'Failed' })], 'BackoffLimitExceeded'],
  ['as many as its limit', { backoffLimit: 1 }, [pod('a', { phase: 'Failed' })], ''],
  [
    'containers that were started again up to its limit',
    { backoffLimit: 2, template: { spec: { restartPolicy: 'OnFailure' } } },
    [pod('a', { restarts: 1 }), pod('b', { restarts: 1 })],
    'BackoffLimitExceeded',
  ],
  [
    'no restart and a limit of none',
    { backoffLimit: 0, template: { spec: { restartPolicy: 'OnFailure' } } },
    [pod('a')],
    '',
  ],
  ['its time over', { activeDeadlineSeconds: 60 }, [pod('a')], 'DeadlineExceeded'],
  ['time left', { activeDeadlineSeconds: 61 }, [pod('a')], ''],
  [
    'more failed indexes than it may',
    { ...indexed, backoffLimitPerIndex: 0, maxFailedIndexes: 0 },
    [pod('a', { index: 1, phase: 'Failed' })],
    'MaxFailedIndexesExceeded',
  ],
  [
    'all its indexes done and one failed',
    { ...indexed, completions: 2, backoffLimitPerIndex: 1 },
    [pod('a', { index: 0, phase: 'Failed', failures: 1 }), pod('b', { index: 1, phase: 'Succeeded' })],
    'FailedIndexes',
  ],
  [
    'enough successes by its policy',
    { ...indexed, successPolicy: { rules: [{ succeededIndexes: '2' }, { succeededCount: 1 }] } },
    [pod('a', { index: 1, phase: 'Succeeded' })],
    'SuccessPolicy',
  ],
  [
    'a failure that its policy calls the end, before any limit',
    {
      backoffLimit: 0,
      podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [3] } }] },
    },
    [pod('a', { phase: 'Failed', exitCode: 3 })],
    'PodFailurePolicy',
  ],
])('a job with %s ends with its reason', (_name, spec, pods, reason) => {
  const job = jobWith(spec);
  expect(endOf(job, countJob(job, pods), pods, NOW)?.reason ?? '').toBe(reason);
});

test('a recorded end does not change', () => {
  const condition = { type: 'SuccessCriteriaMet', status: 'True', reason: 'SuccessPolicy', message: 'm' };
  const job = jobWith({ backoffLimit: 0 }, { conditions: [condition] });
  const pods = [pod('a', { phase: 'Failed' })];
  expect(endOf(job, countJob(job, pods), pods, NOW)).toEqual({
    type: 'SuccessCriteriaMet',
    reason: 'SuccessPolicy',
    message: 'm',
  });
});

test('at most five hundred ends of pods are recorded at once, and the end of the job waits for the others', () => {
  const pods = Array.from({ length: 600 }, (_, index) => pod(`p${index}`, { phase: 'Succeeded' }));
  const first = report(jobWith({ completions: 600 }), pods);
  const { succeeded } = first.status.uncountedTerminatedPods as { succeeded: string[] };
  expect([succeeded.length, first.release.length]).toEqual([500, 500]);
  expect(first.status.conditions).toMatchObject([{ type: 'SuccessCriteriaMet' }]);
  const next = report(jobWith({ completions: 600 }, first.status), pods.slice(500));
  expect(next.status).toMatchObject({ succeeded: 500, uncountedTerminatedPods: { succeeded: { length: 100 } } });
  const last = report(jobWith({ completions: 600 }, next.status), []);
  expect(last.status).toMatchObject({ succeeded: 600, conditions: [{}, { type: 'Complete' }] });
});

test('TooManySucceededPods: more successes than requested are reported', () => {
  const conditions = [{ type: 'SuccessCriteriaMet', status: 'True', reason: 'CompletionsReached', message: 'm' }];
  const { events } = report(jobWith({ completions: 1 }, { succeeded: 2, conditions }), []);
  expect(events.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
    'Warning TooManySucceededPods',
    'Normal Completed',
  ]);
});

test('a pod that counted as failed at its deletion does not also count as succeeded', () => {
  const job = jobWith({}, { uncountedTerminatedPods: { failed: ['a'] } });
  const { status } = report(job, [pod('a', { phase: 'Succeeded', dying: true })]);
  expect(status.uncountedTerminatedPods).toEqual({ failed: ['a'], succeeded: null });
});

test('failures count since the last success', () => {
  const failed = [pod('a', { phase: 'Failed', finishedAt: 1 }), pod('b', { phase: 'Failed', finishedAt: 5 })];
  const succeeded = [pod('c', { phase: 'Succeeded', finishedAt: 3 })];
  const before = { failures: 4, lastFailure: 0 };
  expect(nextBackoff(before, [], [])).toBe(before);
  expect(nextBackoff(before, [], failed)).toEqual({ failures: 6, lastFailure: NOW.getTime() + 5000 });
  expect(nextBackoff(before, succeeded, failed)).toEqual({ failures: 1, lastFailure: NOW.getTime() + 5000 });
  expect(nextBackoff(before, succeeded, failed.slice(0, 1))).toEqual(NO_FAILURE);
});

test('the end of a pod is the end of its last container, the time when it became unready, its deletion, or its creation', () => {
  const seconds = (one: ApiObject): number => (finishedAt(one) - NOW.getTime()) / 1000;
  const ended = (finished: number) => ({ state: { terminated: { finishedAt: at(finished) } } });
  const base = pod('p');
  const sidecar: ApiObject = {
    ...base,
    spec: { initContainers: [{ name: 's', restartPolicy: 'Always' }, { name: 'i' }] },
    status: {
      containerStatuses: [{ name: 'c', ...ended(3) }],
      initContainerStatuses: [
        { name: 's', ...ended(7) },
        { name: 'i', ...ended(9) },
      ],
    },
  };
  expect(seconds(sidecar)).toBe(7);
  const unready = { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: at(4) }] };
  expect(seconds({ ...base, status: { ...unready, containerStatuses: [ended(3), { state: {} }] } })).toBe(4);
  const metadata = { ...base.metadata, deletionTimestamp: at(40), deletionGracePeriodSeconds: 30 };
  expect(seconds({ ...base, metadata, status: {} })).toBe(10);
  expect(seconds({ ...base, status: {} })).toBe(-60);
});

test('the delay of an index grows with every failure, counted or not', () => {
  const job = jobWith({ ...indexed, backoffLimitPerIndex: 9 });
  const wait = (...pods: ApiObject[]): number =>
    ((planPods(job, countJob(job, pods), pods, NO_FAILURE, NOW).lookAgainAt ?? 0) - NOW.getTime()) / 1000;
  const busy = [pod('x', { index: 1 }), pod('y', { index: 2 })];
  expect(wait(...busy, pod('a', { index: 0, phase: 'Failed' }))).toBe(10);
  expect(wait(...busy, pod('a', { index: 0, phase: 'Failed', failures: 1, ignored: 1 }))).toBe(40);
  const later = pod('b', { index: 0, phase: 'Failed', ignored: 2, finishedAt: 1 });
  expect(wait(...busy, pod('a', { index: 0, phase: 'Failed', failures: 1 }), later)).toBe(41);
});

test('if only failed pods are replaced, an index is in use until its pod has ended', () => {
  const job = jobWith({ ...indexed, podFailurePolicy: { rules: [] } });
  const create = (dying: ApiObject) => {
    const pods = [pod('x', { index: 1 }), dying];
    return planPods(job, countJob(job, pods), pods, NO_FAILURE, NOW).create.map(({ index }) => index);
  };
  expect(create(pod('a', { index: 0, dying: true }))).toEqual([2]);
  expect(create(pod('a', { index: 0, dying: true, phase: 'Failed' }))).toEqual([0, 2]);
});
