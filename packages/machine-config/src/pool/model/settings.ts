import { conditionOf, type WantedCondition } from '../../conditions/conditions.ts';
import { PoolConditions } from '../../constants/conditions.ts';
import type { PoolSnapshot } from '../plan.ts';
import { canaryProblem } from '../rollout/canary.ts';
import { judgeMaxUnavailable, type MaxUnavailableVerdict } from '../rollout/max-unavailable.ts';

/** What is to be said about the settings of a pool by which nodes are told, with field and cure. */
export function judgeSettings({ pool, replaces }: Pick<PoolSnapshot, 'pool' | 'replaces'>): MaxUnavailableVerdict {
  // Where machines are replaced, their deployment says how many at once.
  if (replaces) return {};
  const limit = judgeMaxUnavailable(pool);
  const problems = [limit.problem, canaryProblem(pool)].filter((problem) => problem !== undefined);
  return problems.length > 0 ? { problem: problems.join('. ') } : limit;
}

/** The condition that says so; the original has a log line. A note degrades nothing. */
export function settingConditions(snapshot: PoolSnapshot): readonly WantedCondition[] {
  const { SettingsInvalid: type, Degraded } = PoolConditions;
  const { problem, note } = judgeSettings(snapshot);
  if (problem !== undefined) {
    const told = { status: 'True', reason: 'CannotBeApplied', message: problem } as const;
    return [
      { type, ...told },
      { type: Degraded, ...told },
    ];
  }
  if (note !== undefined) return [{ type, status: 'False', reason: 'CountsAsOne', message: note }];
  return conditionOf(snapshot.pool.status?.conditions, type) ? [{ type, status: 'False' }] : [];
}
