import type { Node } from '@mcm/kube';
import { withoutUndefined } from '@mcm/kube';
import { isTrue, type WantedCondition, withCondition } from '../conditions/conditions.ts';
import {
  degradedReason,
  isDegraded,
  isReady,
  isUnavailable,
  isUpdated,
  isUpdatedAndReady,
  targetOf,
} from '../conditions/predicates.ts';
import { byName } from '../config/order.ts';
import { PoolConditions } from '../constants/conditions.ts';
import type { MachineConfigPool, MachineConfigPoolStatus, PoolConfiguration } from '../kinds/machine-config-pool.ts';
import type { ConfigCondition } from '../kinds/shared.ts';
import type { MemberFacts } from './model/snapshot.ts';

/** Data about the machines of the pool, and additional conditions. */
export interface StatusFacts extends MemberFacts {
  /** Additional conditions. */
  readonly more?: readonly WantedCondition[];
}

/**
 * Returns the status of a pool, computed from its nodes.
 * @param now RFC 3339
 */
export function poolStatus(
  pool: MachineConfigPool,
  nodes: readonly Node[],
  now: string,
  { unresolved = false, members, frozen, more = [] }: StatusFacts = {},
): MachineConfigPoolStatus {
  const { status: old = {}, metadata } = pool;
  const updated = nodes.filter((node) => isUpdated(node, pool)).length;
  const ready = nodes.filter((node) => isUpdatedAndReady(node, pool)).length;
  const unavailable = nodes.filter(isUnavailable).length;
  // Caches have no order, so the nodes are sorted for the message.
  const degraded = byName(nodes.filter(isDegraded));
  const all = !unresolved && updated === nodes.length && ready === nodes.length && unavailable === 0;
  const wanted = new Map(
    [...progress(pool, all, frozen), ...warnings(old.conditions, degraded), ...more].map((one) => [one.type, one]),
  );
  const conditions = [...wanted.values()].reduce(
    (list, one) => withCondition(list, one, now),
    (old.conditions ?? []) as readonly ConfigCondition[],
  );
  const configuration = all ? completed(pool) : old.configuration;
  return {
    ...old,
    ...withoutUndefined({ observedGeneration: metadata.generation }),
    machineCount: nodes.length,
    updatedMachineCount: updated,
    readyMachineCount: ready,
    unavailableMachineCount: unavailable,
    degradedMachineCount: degraded.length,
    ...members,
    ...withoutUndefined({ configuration }),
    conditions: [...conditions],
    ...aliases(pool, { updated, unavailable, ready: nodes.filter(isReady).length }),
  };
}

const aliases = (pool: MachineConfigPool, counts: { updated: number; unavailable: number; ready: number }) => ({
  currentMachineConfig: targetOf(pool),
  updatingMachines: counts.updated,
  readyMachines: counts.ready,
  unavailableMachines: counts.unavailable,
});

/**
 * Returns the completed configuration for the status. The stored value stays only if its name and its sources equal
 * those of the target.
 */
function completed({ spec, status }: MachineConfigPool): PoolConfiguration | undefined {
  const [target, done] = [spec?.configuration, status?.configuration];
  const same = JSON.stringify([target?.name, target?.source]) === JSON.stringify([done?.name, done?.source]);
  return same ? done : target;
}

function progress(pool: MachineConfigPool, all: boolean, frozen: string | undefined): readonly WantedCondition[] {
  const target = targetOf(pool);
  const { Updated, Updating } = PoolConditions;
  if (all) {
    return [
      { type: Updated, status: 'True', message: `All nodes are updated with MachineConfig ${target}` },
      { type: Updating, status: 'False' },
    ];
  }
  if (frozen !== undefined) {
    const message = `${frozen}; will not update to MachineConfig ${target}`;
    return [
      { type: Updated, status: 'False' },
      { type: Updating, status: 'False', message },
    ];
  }
  const updating: WantedCondition = pool.spec?.paused
    ? { type: Updating, status: 'False', message: `Pool is paused; will not update to MachineConfig ${target}` }
    : { type: Updating, status: 'True', message: `All nodes are updating to MachineConfig ${target}` };
  return [{ type: Updated, status: 'False' }, updating];
}

const IMAGE_BUILD_DEGRADED = 'ImageBuildDegraded';
const CLEARED = 'No layered pool objects found, clearing stale build degraded condition';

function warnings(old: readonly ConfigCondition[] | undefined, degraded: readonly Node[]): readonly WantedCondition[] {
  const { NodeDegraded, RenderDegraded, Degraded } = PoolConditions;
  const message = degraded
    .map((node) => `Node ${node.metadata.name} is reporting: ${JSON.stringify(degradedReason(node))}`)
    .join(', ');
  const nodes: WantedCondition =
    degraded.length > 0
      ? {
          type: NodeDegraded,
          status: 'True',
          message,
          reason: `${degraded.length} nodes are reporting degraded status on sync`,
        }
      : { type: NodeDegraded, status: 'False' };
  // This controller sets an old condition about an image build to False, because no other controller of mcm does.
  const stale: readonly WantedCondition[] = isTrue(old, IMAGE_BUILD_DEGRADED)
    ? [{ type: IMAGE_BUILD_DEGRADED, status: 'False', reason: 'NoLayeredObjects', message: CLEARED }]
    : [];
  const any = degraded.length > 0 || isTrue(old, RenderDegraded);
  return [nodes, ...stale, any ? { type: Degraded, status: 'True', message } : { type: Degraded, status: 'False' }];
}
