import { formatDurationMs } from '@mcm/api';
import type { DrainExplanation } from '@mcm/core';
import { columns } from '../rollout/history.ts';

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
  const rows = drain.pods.map(({ pod, fate, because, volumes, budgets }) => [
    `  ${pod}`,
    FATES[fate],
    [
      // What blocks it is told below, once for all pods that it blocks.
      ...(fate === 'blocked' ? [] : [because]),
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
    ...(blockers.length > 0 ? ['blocked by:', ...blockers] : []),
    ...deadlines(drain, now),
  ];
}

/** Pods named of those that one thing blocks; all of them stand above. */
const NAMED = 5;

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

function deadlines({ drained, deletesFrom, overAt, policy }: DrainExplanation, now: Date): string[] {
  if (drained) return ['nothing is left to evict'];
  const inTime = (at: Date): string => {
    const left = at.getTime() - now.getTime();
    return left > 0 ? `in ${formatDurationMs(Math.ceil(left / 1_000) * 1_000)}` : 'now';
  };
  const ends = {
    Force: 'what is left is deleted without grace',
    Quarantine: 'evicting ends; the node stays cordoned until its pods have ended by themselves',
    Hold: 'nothing is forced: evicting goes on for as long as it takes',
  }[policy];
  return [
    ...(deletesFrom ? [`pods that could not be evicted are deleted ${inTime(deletesFrom)}`] : []),
    `the time to drain is over ${inTime(overAt)}: ${ends}`,
  ];
}
