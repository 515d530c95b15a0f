import { closedBy, isOpenedBy, nextLook, postponementOf } from '@mcm/core';
import type { Node } from '@mcm/kube';
import { conditionOf, type WantedCondition } from '../../conditions/conditions.ts';
import { isUpdated, needsTarget, targetOf } from '../../conditions/predicates.ts';
import { byName } from '../../config/order.ts';
import { PoolConditions } from '../../constants/conditions.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';
import type { CandidateFilter } from '../model/snapshot.ts';

export interface WindowVerdict {
  readonly closed: boolean;
  readonly condition?: WantedCondition | undefined;
  readonly againMs?: number;
}

const MOST_NAMES = 3;

export function postponing(pool: MachineConfigPool, nodes: readonly Node[], now: Date): readonly Node[] {
  if (isOpenedBy(pool.metadata.annotations, now)) return [];
  return nodes.filter((node) => postponementOf(node, now) !== undefined);
}

export const postponedNodes =
  (now: Date): CandidateFilter =>
  (pool, candidates) =>
    postponing(pool, candidates, now).map((node) => ({ node }));

/** Checks the maintenance windows and freezes of a pool. A pool whose nodes all have the target does not wait. */
export function evaluateWindows(pool: MachineConfigPool, nodes: readonly Node[], now: Date): WindowVerdict {
  const type = PoolConditions.RolloutWaiting;
  const waiting = nodes.filter((node) => !isUpdated(node, pool) && needsTarget(node, pool));
  const closed =
    waiting.length > 0 && targetOf(pool) !== ''
      ? closedBy(pool.metadata.annotations, `MachineConfigPool ${pool.metadata.name}`, now)
      : undefined;
  if (closed) {
    const message = closed.because.replace(/^waiting: /, '');
    return {
      closed: true,
      condition: { type, status: 'True', reason: closed.reason, message },
      againMs: nextLook(closed.opensAt, now).getTime() - now.getTime(),
    };
  }
  const kept = byName(postponing(pool, waiting, now));
  const ends = kept.flatMap((node) => postponementOf(node, now)?.until?.getTime() ?? []);
  const again = ends.length > 0 && { againMs: nextLook(new Date(Math.min(...ends)), now).getTime() - now.getTime() };
  if (kept.length > 0 && kept.length === waiting.length) {
    const more = kept.length > MOST_NAMES ? ` and ${kept.length - MOST_NAMES} more` : '';
    const names = kept.slice(0, MOST_NAMES).map(({ metadata }) => metadata.name);
    const message = `nodes postpone their update: ${names.join(', ')}${more}`;
    return { closed: false, condition: { type, status: 'True', reason: 'NodePostponed', message }, ...again };
  }
  const known = conditionOf(pool.status?.conditions, type);
  return { closed: false, condition: known ? { type, status: 'False' as const } : undefined, ...again };
}
