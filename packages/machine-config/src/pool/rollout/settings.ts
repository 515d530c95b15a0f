import { conditionOf, type WantedCondition } from '../../conditions/conditions.ts';
import { PoolConditions } from '../../constants/conditions.ts';
import type { PoolSnapshot } from '../model/snapshot.ts';
import { canaryProblem } from './canary.ts';
import { checkMaxUnavailable, type MaxUnavailableVerdict } from './max-unavailable.ts';

export function checkSettings({ pool, replaces }: Pick<PoolSnapshot, 'pool' | 'replaces'>): MaxUnavailableVerdict {
  // If new machines replace the nodes, the limit of their MachineDeployment applies instead of `maxUnavailable`.
  if (replaces) return {};
  const limit = checkMaxUnavailable(pool);
  const problems = [limit.problem, canaryProblem(pool)].filter((problem) => problem !== undefined);
  return problems.length > 0 ? { problem: problems.join('. ') } : limit;
}

/**
 * Returns the conditions about problems of the rollout settings. The original only logs problems of the rollout
 * settings.
 */
export function settingConditions(snapshot: PoolSnapshot): readonly WantedCondition[] {
  const { SettingsInvalid: type, Degraded } = PoolConditions;
  const { problem, note } = checkSettings(snapshot);
  if (problem !== undefined) {
    const invalid = { status: 'True', reason: 'CannotBeApplied', message: problem } as const;
    return [
      { type, ...invalid },
      { type: Degraded, ...invalid },
    ];
  }
  if (note !== undefined) return [{ type, status: 'False', reason: 'CountsAsOne', message: note }];
  return conditionOf(snapshot.pool.status?.conditions, type) ? [{ type, status: 'False' }] : [];
}
