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
    [because, ...volumes.map((volume) => `volume ${volume}`), ...budgets.map((budget) => `budget ${budget}`)].join(
      ', ',
    ),
  ]);
  const blockers = drain.blockers.map(({ text, cure }) => `  - ${text}${cure ? `; ${cure}` : ''}`);
  return [
    drain.pods.length === 0
      ? `node ${drain.node} has no pods`
      : `pods of node ${drain.node}, in the order in which they go:`,
    ...columns(rows),
    ...(blockers.length > 0 ? ['blocked by:', ...blockers] : []),
    ...deadlines(drain, now),
  ];
}

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
