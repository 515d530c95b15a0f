import { type DisruptionBudget, type RepairPlan, vmStatesText, whyWaiting } from '@mcm/core';

function budgetLines({ replicas, unavailable, available, missing, underWay, ...budget }: DisruptionBudget): string[] {
  if (missing === 0 && budget.leaving === 0 && budget.joining === 0) return [];
  // If no machine is starting or terminating, mcm has not created the replacements yet, for example because the class
  // is missing.
  const coming = Math.min(underWay, budget.joining + budget.leaving + budget.updating);
  const parts = [
    [coming, 'being replaced'],
    [underWay - coming, 'not replaced yet'],
    [budget.failed, 'failed'],
    [budget.unreachable, 'unhealthy'],
    [budget.late, 'did not join within the creation timeout'],
  ] as const;
  const by = parts.flatMap(([count, what]) => (count > 0 ? [`${count} ${what}`] : []));
  const short = missing === 0 ? 'no machine is unavailable' : `${missing} ${missing === 1 ? 'is' : 'are'} unavailable`;
  const permitted = budget.rolling
    ? `, and ${unavailable === 0 ? 'none' : `up to ${unavailable}`} may be unavailable`
    : '';
  return [
    `${available} of ${replicas} ${available === 1 ? 'is' : 'are'} available; ${short}${by.length > 0 ? ` (${by.join(', ')})` : ''}${permitted}`,
  ];
}

function leavingLine(leaving: number, countsTerminating: boolean): string {
  const one = leaving === 1;
  const counts = `${one ? 'counts' : 'count'} towards the surge${countsTerminating ? '' : ' only during a rollout'}`;
  return `${leaving} ${one ? 'machine still terminates' : 'machines still terminate'} and ${counts}`;
}

/** Returns lines about repairs and terminating machines. */
export function disruptionLines(repairs: RepairPlan, countsTerminating: boolean): string[] {
  const { budget, go, held, kept, allowance } = repairs;
  const waiting = whyWaiting(repairs);
  const [first] = held;
  const names = held.map(({ machine }) => machine.metadata.name).join(', ');
  const vms = vmStatesText(held.map(({ machine }) => machine));
  return [
    ...budgetLines(budget),
    ...(budget.leaving > 0 ? [leavingLine(budget.leaving, countsTerminating)] : []),
    ...(go.length > 0
      ? [
          `mcm is replacing the failed machines ${go.map(({ metadata }) => metadata.name).join(', ')}, at most ${allowance} at the same time`,
        ]
      : []),
    ...(waiting ? [waiting] : []),
    ...(kept.length > 0
      ? [
          `${kept.map(({ metadata }) => metadata.name).join(', ')} failed, but mcm replaces no machine of the new template while the rollout is paused`,
        ]
      : []),
    ...(first
      ? [
          `the circuit breaker prevents replacing ${names}: ${first.breaker.unreachable} of ${first.breaker.joined} machines of the ${first.breaker.scope} became unreachable at the same time`,
        ]
      : []),
    ...(vms === undefined ? [] : [vms]),
  ];
}

export const disruptionHints = ({ waiting, held, kept }: RepairPlan): string[] => [
  ...(waiting.length > 0
    ? [
        'to replace more failed machines at the same time, raise --max-unhealthy-replacements of the manager and the machine controller',
      ]
    : []),
  ...(kept.length > 0 ? ['to try the same template again, delete the failed machine, or resume the rollout'] : []),
  ...(held.length > 0 ? ['mcm replaces the machines after the circuit breaker closes'] : []),
];
