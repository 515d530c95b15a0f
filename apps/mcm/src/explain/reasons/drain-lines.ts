import { formatDurationMs, formatTime } from '@mcm/api';
import type { DrainExplanation } from '@mcm/core';
import { columns } from '../../output/columns.ts';

const FATES: Readonly<Record<DrainExplanation['pods'][number]['fate'], string>> = {
  evict: 'mcm evicts the pod now',
  delete: 'mcm deletes the pod without a grace period',
  leaving: 'is terminating',
  turn: 'the pod waits until mcm has evicted earlier pods',
  blocked: 'is blocked',
  stays: 'stays',
};

export function drainLines(drain: DrainExplanation, now: Date): string[] {
  const rows = drain.pods.map(({ pod, fate, because, ends, volumes, budgets }) => [
    `  ${pod}`,
    FATES[fate],
    [
      ...(fate === 'blocked' ? [] : [ends ? `the wait ends at the latest at ${formatTime(ends.by)}` : because]),
      ...volumes.map((volume) => `volume ${volume}`),
      ...budgets.map((budget) => `budget ${budget}`),
    ].join(', '),
  ]);
  const blockers = blockerLines(drain.blockers);
  return [
    drain.pods.length === 0
      ? `node ${drain.node} has no pods`
      : `pods of node ${drain.node}, in the order of their eviction:`,
    ...columns(rows),
    ...waitLines(drain, now),
    ...(blockers.length > 0 ? ['blocked by:', ...blockers] : []),
    ...deadlines(drain, now),
  ];
}

const NAMED = 5;

/** Returns lines about pods and volumes that need no action of a user, with their deadlines. */
function waitLines({ pods, detaching = [] }: DrainExplanation, now: Date): string[] {
  const leaving = pods.filter(({ fate }) => fate === 'leaving');
  const ends = leaving.flatMap((pod) => (pod.ends ? [pod.ends] : []));
  const last = ends.toSorted((a, b) => b.by.getTime() - a.by.getTime())[0];
  const until = last
    ? `, ${ends.length > 1 ? 'the last ' : ''}by ${formatTime(last.by)} (${inTime(last.by, now)}); after ${formatTime(last.overdueFrom)} the pod counts as blocked`
    : '';
  const lines = [
    ...(leaving.length > 0
      ? [
          `  - ${named(
            leaving.map(({ pod }) => pod),
            'pod',
          )} to end${until}`,
        ]
      : []),
    ...(detaching.length > 0
      ? [
          `  - ${named(detaching, 'volume')} to be detached from the node, at most until the detach timeout; to list attachments: kubectl get volumeattachments`,
        ]
      : []),
  ];
  return lines.length > 0 ? ['waits for:', ...lines] : [];
}

function named(names: readonly string[], noun: string): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return `${noun}${names.length > 1 ? 's' : ''} ${names.slice(0, NAMED).join(', ')}${more}`;
}

/** Returns lines about the reasons why a drain makes no progress. */
function blockerLines(blockers: DrainExplanation['blockers']): string[] {
  const groups = new Map<string, string[]>();
  for (const { text, hint, pods = [] } of blockers) {
    const pod = pods.length === 1 ? (pods[0] ?? '') : '';
    const alike = `${(pod && text.replaceAll(pod, POD)) || text}${hint ? `; ${(pod && hint.replaceAll(pod, POD)) || hint}` : ''}`;
    groups.set(alike, [...(groups.get(alike) ?? []), pod]);
  }
  return [...groups].flatMap(([alike, pods]) => {
    if (pods.length === 1) return [`  - ${alike.replaceAll(POD, pods[0] ?? '')}`];
    const more = pods.length > NAMED ? ` and ${pods.length - NAMED} more` : '';
    const names = `${pods.slice(0, NAMED).join(', ')}${more}`;
    const text = [`pod "${POD}"`, `pod ${POD}`, POD].reduce((rest, one) => rest.replaceAll(one, 'each'), alike);
    return [`  - ${pods.length} pods: ${text}`, `    (${names})`];
  });
}

const POD = '\u0000';

function inTime(at: Date, now: Date): string {
  const left = at.getTime() - now.getTime();
  return left > 0 ? `in ${formatDurationMs(Math.ceil(left / 1_000) * 1_000)}` : 'now';
}

function deadlines({ drained, pods, deletesFrom, overAt, policy }: DrainExplanation, now: Date): string[] {
  // If the node has no pod to evict, the drain is complete from the start.
  if (drained) return ['the node has no pod to evict'];
  // If no pod must leave the node, the timeout of the drain is irrelevant.
  if (pods.every(({ fate }) => fate === 'stays')) return [];
  const ends = {
    Force: 'mcm deletes the remaining pods without a grace period',
    Quarantine: 'evictions stop, and the node stays cordoned until the pods of the node end',
    Hold: 'evictions continue without a time limit',
    Fail: 'the drain fails, and mcm keeps the VM',
  }[policy];
  const twice = deletesFrom && inTime(deletesFrom, now) === inTime(overAt, now);
  return [
    ...(deletesFrom && !twice ? [`${inTime(deletesFrom, now)}, mcm deletes the pods that it could not evict`] : []),
    `the drain timeout expires ${inTime(overAt, now)}: ${ends}`,
  ];
}
