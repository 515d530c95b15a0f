import { type Ledger, type RepairPlan, whyWaiting } from '@mcm/core';

/** How a deployment's budget stands: what is missing, by what, and what that leaves. Empty when nothing is missing or going. */
function ledgerLines({ replicas, unavailable, available, missing, underWay, ...ledger }: Ledger): string[] {
  if (missing === 0 && ledger.leaving === 0 && ledger.joining === 0) return [];
  const parts = [
    [underWay, 'being seen to'],
    [ledger.failed, 'failed'],
    [ledger.silent, 'silent'],
    [ledger.late, 'not joined for too long'],
  ] as const;
  const by = parts.flatMap(([count, what]) => (count > 0 ? [`${count} ${what}`] : []));
  const budget = ledger.rolling ? `, ${unavailable} may be` : '';
  return [
    `${available} of ${replicas} are available; ${missing} are missing${budget}${by.length > 0 ? `: ${by.join(', ')}` : ''}`,
  ];
}

/** What a person wants to know of repairs and of machines on their way out. */
export function disruptionLines(repairs: RepairPlan, countsTerminating: boolean): string[] {
  const { ledger, go, held, allowance } = repairs;
  const waiting = whyWaiting(repairs);
  const [first] = held;
  const names = held.map(({ machine }) => machine.metadata.name).join(', ');
  return [
    ...ledgerLines(ledger),
    ...(ledger.leaving > 0
      ? [
          `${ledger.leaving} still terminate and ${countsTerminating ? 'count' : 'count only in a rollout'} towards the surge`,
        ]
      : []),
    ...(go.length > 0
      ? [
          `${go.map(({ metadata }) => metadata.name).join(', ')} failed and are replaced now, at most ${allowance} at once`,
        ]
      : []),
    ...(waiting ? [waiting] : []),
    ...(first
      ? [
          `${names} are kept: ${first.breaker.silent} of ${first.breaker.joined} machines of the ${first.breaker.scope} fell silent together`,
        ]
      : []),
  ];
}

/** What would let failed machines be replaced sooner. */
export const disruptionCures = ({ waiting, held }: RepairPlan): string[] => [
  ...(waiting.length > 0
    ? [
        'more failed machines at once are replaced with a higher --max-unhealthy-replacements of manager and machine controller',
      ]
    : []),
  ...(held.length > 0 ? ['machines that are kept are let go when the others are heard of again'] : []),
];
