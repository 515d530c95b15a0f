import { formatDurationMs, formatTime } from '@mcm/api';
import type { DrainExplanation } from '@mcm/core';
import { columns } from '../output/columns.ts';

const FATES: Readonly<Record<DrainExplanation['pods'][number]['fate'], string>> = {
  evict: 'is evicted now',
  delete: 'is deleted without grace',
  leaving: 'is on its way out',
  turn: 'waits for its turn',
  blocked: 'is blocked',
  stays: 'stays',
};

/** What a drain does or would do, as lines for a person. */
export function drainLines(drain: DrainExplanation, now: Date): string[] {
  const rows = drain.pods.map(({ pod, fate, because, ends, volumes, budgets }) => [
    `  ${pod}`,
    FATES[fate],
    [
      // What blocks it is told below, once for all pods that it blocks.
      ...(fate === 'blocked' ? [] : [ends ? `it is to end by ${formatTime(ends.by)}` : because]),
      ...volumes.map((volume) => `volume ${volume}`),
      ...budgets.map((budget) => `budget ${budget}`),
    ].join(', '),
  ]);
  const blockers = blockerLines(drain.blockers);
  return [
    drain.pods.length === 0
      ? `node ${drain.node} has no pods`
      : `pods of node ${drain.node}, in the order in which they go:`,
    ...columns(rows),
    ...waitLines(drain, now),
    ...(blockers.length > 0 ? ['blocked by:', ...blockers] : []),
    ...deadlines(drain, now),
  ];
}

/** Pods named of those that one thing blocks; all of them stand above. */
const NAMED = 5;

/** What continues by itself, and until when that is nothing to worry about. */
function waitLines({ pods, detaching = [] }: DrainExplanation, now: Date): string[] {
  const leaving = pods.filter(({ fate }) => fate === 'leaving');
  const ends = leaving.flatMap((pod) => (pod.ends ? [pod.ends] : []));
  const last = ends.toSorted((a, b) => b.by.getTime() - a.by.getTime())[0];
  const until = last
    ? `, ${ends.length > 1 ? 'the last ' : ''}by ${formatTime(last.by)} (${inTime(last.by, now)}); from ${formatTime(last.overdueFrom)} it counts as one that does not end`
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
          `  - ${named(detaching, 'volume')} to come off the node, no longer than the detach timeout; see kubectl get volumeattachments`,
        ]
      : []),
  ];
  return lines.length > 0 ? ['waits for:', ...lines] : [];
}

function named(names: readonly string[], noun: string): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return `${noun}${names.length > 1 ? 's' : ''} ${names.slice(0, NAMED).join(', ')}${more}`;
}

/** What blocks the drain: pods that the same thing blocks in the same words are told of together. */
function blockerLines(blockers: DrainExplanation['blockers']): string[] {
  const groups = new Map<string, string[]>();
  for (const { text, cure, pods = [] } of blockers) {
    const pod = pods.length === 1 ? (pods[0] ?? '') : '';
    const alike = `${(pod && text.replaceAll(pod, POD)) || text}${cure ? `; ${(pod && cure.replaceAll(pod, POD)) || cure}` : ''}`;
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

/** Stands for the name of a pod, which no text holds. */
const POD = '\u0000';

function inTime(at: Date, now: Date): string {
  const left = at.getTime() - now.getTime();
  return left > 0 ? `in ${formatDurationMs(Math.ceil(left / 1_000) * 1_000)}` : 'now';
}

function deadlines({ drained, pods, deletesFrom, overAt, policy }: DrainExplanation, now: Date): string[] {
  if (drained) return ['nothing is left to evict'];
  // Volumes alone have a limit of their own, which the status of the machine tells.
  if (pods.every(({ fate }) => fate === 'stays')) return [];
  const ends = {
    Force: 'what is left is deleted without grace',
    Quarantine: 'evicting ends; the node stays cordoned until its pods have ended by themselves',
    Hold: 'nothing is forced: evicting goes on for as long as it takes',
  }[policy];
  // The two may be one.
  const twice = deletesFrom && inTime(deletesFrom, now) === inTime(overAt, now);
  return [
    ...(deletesFrom && !twice ? [`pods that could not be evicted are deleted ${inTime(deletesFrom, now)}`] : []),
    `the time to drain is over ${inTime(overAt, now)}: ${ends}`,
  ];
}
