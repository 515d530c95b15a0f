import {
  again,
  type Controller,
  createController,
  done,
  ignoreNotFound,
  type Key,
  nodes,
  type Outcome,
} from '@mcm/kube';
import { type ConfigContext, nowText } from '../caches.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { CONTROLLER_CONFIG_NAME } from '../constants/names.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { inParallel } from '../parallel.ts';
import { type PlannedPool, planPools } from './arbiter.ts';
import { nodesOfPool } from './membership.ts';
import { nodesNear } from './near.ts';
import type { CandidateFilter, NodeWrite, PoolSnapshot } from './plan.ts';
import { wantedTaints } from './taints.ts';
import { poolsToWake } from './wakeups.ts';
import { writePoolStatus } from './write-status.ts';

/** Options of the UpdateController. */
export interface UpdateControllerOptions {
  /** How long changes are gathered before a pool is looked at. */
  readonly delayMs?: number;
  /** Take candidates out for now. */
  readonly filters?: readonly CandidateFilter[];
  /** From so many nodes that degraded on the target on, no further one is told it. 0, the default: never. */
  readonly haltAt?: number;
}

/** Nodes written at once. */
const PARALLEL_WRITES = 32;

/** The original's are 5 s, so that a pool of a thousand nodes takes minutes more. */
const DELAY_MS = 1000;
const RETRY_MS = 60_000;

/** Brings nodes to their pool's target: a thin shell around {@link planPools}. */
export function createUpdateController(context: ConfigContext, options: UpdateControllerOptions = {}): Controller {
  const { caches, clock, random, log, metrics } = context;
  const { delayMs = DELAY_MS } = options;
  const reconcile = (key: Key) => update(context, options, key);
  const controller = createController({
    ...{ name: 'update', concurrency: 2, clock, random, log, reconcile },
    ...(metrics && { metrics }),
  });
  const later = (names: Iterable<string>) => {
    for (const name of names) controller.enqueue(name, delayMs);
    return [];
  };
  controller.watch(caches.pools, ({ key }) => later([key]));
  controller.watch(caches.nodes, (change) => later(poolsToWake(change, caches.pools.store.list())));
  controller.watch(caches.controllerConfigs, () =>
    later(caches.pools.store.list().map(({ metadata }) => metadata.name)),
  );
  return controller;
}

async function update(context: ConfigContext, options: UpdateControllerOptions, key: Key): Promise<Outcome> {
  const { caches, log } = context;
  const pool = caches.pools.store.get(key);
  if (!pool) return done;
  const plans = planPools(snapshotOf(context, options, pool), (one) => snapshotOf(context, options, one));
  for (const planned of plans) await carryOut(context, planned);
  const error = plans.find(({ plan }) => plan.error !== undefined)?.plan.error;
  const waits = plans.flatMap(({ plan }) => plan.againMs ?? []);
  if (error === undefined) return waits.length > 0 ? again(Math.min(...waits)) : done;
  log.warn('pool is not updated', { pool: key, reason: error });
  return again(RETRY_MS);
}

function snapshotOf(
  context: ConfigContext,
  { filters, haltAt }: UpdateControllerOptions,
  pool: MachineConfigPool,
): PoolSnapshot {
  const { caches, clock, log } = context;
  const pools = caches.pools.store.list();
  const own = nodesOfPool(pool, nodesNear(pool, caches.nodes.store), pools);
  for (const problem of own.problems) log.warn('node is left out', { pool: pool.metadata.name, reason: problem });
  return {
    ...{ pool, pools, nodes: own.nodes, claims: own.problems, now: nowText(clock) },
    controllerConfig: caches.controllerConfigs.store.get(CONTROLLER_CONFIG_NAME),
    machineConfig: (name) => caches.machineConfigs.store.get(name),
    ...(filters && { filters }),
    ...(haltAt !== undefined && { haltAt }),
  };
}

async function carryOut(context: ConfigContext, { pool, plan }: PlannedPool): Promise<void> {
  await inParallel(plan.nodes, PARALLEL_WRITES, (write) => writeNode(context, told(context, pool, write)));
  if (plan.status) await writePoolStatus(context, pool, plan.status);
  for (const { type, reason, message } of plan.events) context.recorder.event(pool, type, reason, message);
}

/**
 * The mark of waiting goes in the write that tells the node its target. The original marks it first, and takes the mark
 * away at its next look: two writes more for each node.
 */
function told({ caches }: ConfigContext, pool: MachineConfigPool, write: NodeWrite): NodeWrite {
  const desired = write.annotations[NodeAnnotations.DesiredConfig];
  const node = caches.nodes.store.get(write.name);
  if (typeof desired !== 'string' || !node) return write;
  const annotations = { ...node.metadata.annotations, [NodeAnnotations.DesiredConfig]: desired };
  const taints = wantedTaints({ ...node, metadata: { ...node.metadata, annotations } }, pool);
  const { taints: _marked, ...rest } = write;
  return { ...rest, ...(taints && { taints }) };
}

/** One write a node. Taints are a whole list: the version makes a change by others in between a conflict. */
async function writeNode({ client, target = client, caches }: ConfigContext, write: NodeWrite): Promise<void> {
  const { name, annotations, labels, taints } = write;
  const resourceVersion = caches.nodes.store.get(name)?.metadata.resourceVersion;
  const body = {
    metadata: {
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(taints && resourceVersion !== undefined && { resourceVersion }),
    },
    ...(taints && { spec: { taints } }),
  };
  const answer = await ignoreNotFound(target.resource(nodes).patch(name, { type: 'merge', body }));
  if (answer) caches.nodes.recordWrite(answer);
}
