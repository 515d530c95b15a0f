import { isUnavailable } from '../conditions/predicates.ts';
import { ARBITER_POOL, MASTER_POOL } from '../constants/names.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { topologyOf } from '../kinds/topology.ts';
import type { PoolSnapshot } from './model/snapshot.ts';
import { type PoolPlan, planPool } from './plan.ts';

/**
 * The topology of a cluster with an arbiter. Masters and arbiter form the quorum, so only one node of both pools may be
 * unavailable.
 */
const ARBITER_TOPOLOGY = 'HighlyAvailableArbiter';

/** The plan of one pool. */
export interface PlannedPool {
  readonly pool: MachineConfigPool;
  readonly plan: PoolPlan;
}

/** Plans all pools; in a cluster with an arbiter, the plan of the masters includes the plan of the arbiter. */
export function planPools(
  snapshot: PoolSnapshot,
  snapshotOf: (pool: MachineConfigPool) => PoolSnapshot,
): readonly PlannedPool[] {
  const { pool, pools, controllerConfig } = snapshot;
  const named = (name: string) => pools.find(({ metadata }) => metadata.name === name);
  const alone = (plan: PoolPlan): readonly PlannedPool[] => [{ pool, plan }];
  if (pool.metadata.name === ARBITER_POOL) return alone(planArbiter(snapshot, named(MASTER_POOL), snapshotOf));
  if (topologyOf(controllerConfig) !== ARBITER_TOPOLOGY) return alone(planPool(snapshot));
  if (pool.metadata.name === MASTER_POOL && !pool.spec?.paused) {
    const arbiter = named(ARBITER_POOL);
    if (arbiter) return together(snapshot, snapshotOf(arbiter));
    const error = `arbiter pool "${ARBITER_POOL}" not found in HighlyAvailableArbiterMode; cluster may be misconfigured`;
    return alone({ error, nodes: [], targeted: [], events: [] });
  }
  return alone(planPool(snapshot));
}

function planArbiter(
  snapshot: PoolSnapshot,
  master: MachineConfigPool | undefined,
  snapshotOf: (pool: MachineConfigPool) => PoolSnapshot,
): PoolPlan {
  const free = master?.spec?.paused === true && !snapshotOf(master).nodes.some(isUnavailable);
  return free ? planPool(snapshot) : statusOnly(snapshot);
}

/**
 * Updates the arbiter only while all masters are available and no master gets a target. While the arbiter is
 * unavailable, no master gets a target.
 */
function together(master: PoolSnapshot, arbiter: PoolSnapshot): readonly PlannedPool[] {
  const blocked = arbiter.nodes.some(isUnavailable);
  const masterPlan = planPool(blocked ? withoutSlots(master) : master);
  const busy = master.nodes.some(isUnavailable) || masterPlan.targeted.length > 0;
  return [
    { pool: master.pool, plan: masterPlan },
    { pool: arbiter.pool, plan: planPool(busy ? withoutSlots(arbiter) : arbiter) },
  ];
}

const withoutSlots = (snapshot: PoolSnapshot): PoolSnapshot => ({ ...snapshot, reserved: Number.MAX_SAFE_INTEGER });

function statusOnly(snapshot: PoolSnapshot): PoolPlan {
  const { status, events } = planPool({ ...snapshot, reserved: Number.MAX_SAFE_INTEGER });
  return { nodes: [], targeted: [], events, status };
}
