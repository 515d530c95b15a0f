import { isUnavailable } from '../../conditions/predicates.ts';
import { ARBITER_POOL, MASTER_POOL } from '../../constants/names.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';
import { topologyOf } from '../../kinds/topology.ts';
import { type PoolPlan, type PoolSnapshot, planPool } from '../plan.ts';

/** Topology in which masters and an arbiter keep quorum together: only one node of both may be away. */
const ARBITER_TOPOLOGY = 'HighlyAvailableArbiter';

/** A plan of one pool. */
export interface PlannedPool {
  readonly pool: MachineConfigPool;
  readonly plan: PoolPlan;
}

/** Decides what a pool needs, and for a pool of masters in an arbiter's cluster also what the arbiter needs. */
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

/** The arbiter goes by itself only while the masters stand still on purpose; otherwise their look takes it along. */
function planArbiter(
  snapshot: PoolSnapshot,
  master: MachineConfigPool | undefined,
  snapshotOf: (pool: MachineConfigPool) => PoolSnapshot,
): PoolPlan {
  const free = master?.spec?.paused === true && !snapshotOf(master).nodes.some(isUnavailable);
  return free ? planPool(snapshot) : statusOnly(snapshot);
}

/** Masters go first; the arbiter only when no master is away or about to be. */
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
  return { nodes: [], targeted: [], events, ...(status && { status }) };
}
