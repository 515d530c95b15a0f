import { type Machine, machineDeployments } from '@mcm/api';
import {
  again,
  type Controller,
  controllerOf,
  createController,
  done,
  ignoreNotFound,
  type Key,
  type KubeObject,
  nodes,
  type Outcome,
} from '@mcm/kube';
import { certificatesName } from '../certificates/bundle.ts';
import { unlessForbidden } from '../conditions/forbidden.ts';
import { targetOf } from '../conditions/predicates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { CONTROLLER_CONFIG_NAME } from '../constants/names.ts';
import { type ConfigContext, nowText } from '../controllers/caches.ts';
import { inParallel } from '../controllers/parallel.ts';
import { writePoolStatus } from '../controllers/write-status.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool, MachineRef } from '../kinds/machine-config-pool.ts';
import { selects } from '../kinds/selectors.ts';
import {
  claimsOf,
  HELD_BY,
  type MachineCaches,
  type MachineFleet,
  machineFleet,
  nodeNameOf,
} from '../machines/fleet.ts';
import { membersOf, type PoolMembers } from '../machines/members.ts';
import {
  awaitedBy,
  type DeploymentWrite,
  deploymentWrites,
  hasApplied,
  judgeStrategy,
  pausedBy,
  releaseWrites,
} from '../machines/replace.ts';
import { referencesOf } from '../server/machines.ts';
import { nodesNear } from './model/near.ts';
import { wantedTaints } from './model/taints.ts';
import { type CandidateFilter, type NodeWrite, type PoolPlan, type PoolSnapshot, planPool } from './plan.ts';
import { type PlannedPool, planPools } from './rollout/arbiter.ts';
import { poolSnapshot } from './snapshot.ts';
import { poolsToWake, poolsToWakeWith } from './wakeups.ts';

/** Options of the UpdateController. */
export interface UpdateControllerOptions {
  /** How long changes are gathered before a pool is looked at. */
  readonly delayMs?: number;
  /** Take candidates out for now. */
  readonly filters?: readonly CandidateFilter[];
  /** From so many nodes that degraded on the target on, no further one is told it. 0, the default: never. */
  readonly haltAt?: number;
  /** Machines, for pools that refer to them; absent: such pools have no nodes. */
  readonly machines?: MachineCaches;
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
    ...{ name: 'update', concurrency: 2, clock, random, log, reconcile, of: caches.pools },
    ...(metrics && { metrics }),
  });
  const later = (names: Iterable<string>) => {
    for (const name of names) controller.enqueue(name, delayMs);
    return [];
  };
  const fleet = options.machines && machineFleet(options.machines);
  controller.watch(caches.pools, (change) => later(poolsToWakeWith(change, caches.pools.store.list())));
  controller.watch(caches.nodes, (change) => {
    const pools = caches.pools.store.list();
    return later(poolsToWake(change, pools, fleet && claimsOf(fleet, pools)));
  });
  if (options.machines && fleet) watchMachines(controller, options.machines, fleet, caches, later);
  controller.watch(caches.machineConfigs, ({ object }) => later(poolsOfCertificates(object)));
  controller.watch(caches.controllerConfigs, () =>
    later(caches.pools.store.list().map(({ metadata }) => metadata.name)),
  );
  return controller;
}

/** The pool whose certificates a MachineConfig holds. */
function poolsOfCertificates(config: MachineConfig): readonly string[] {
  const owner = controllerOf(config);
  return owner?.kind === 'MachineConfigPool' && config.metadata.name === certificatesName(owner.name)
    ? [owner.name]
    : [];
}

/** What a pool over machines reads of a machine: its node, its phase, whether it goes, whether it is configured. */
const machineFacts = (machine: Machine): string =>
  JSON.stringify([
    nodeNameOf(machine),
    machine.status?.currentStatus?.phase,
    machine.metadata.deletionTimestamp,
    hasApplied(machine),
  ]);

function watchMachines(
  controller: Controller,
  { machines, sets, deployments, access }: MachineCaches,
  fleet: MachineFleet,
  caches: ConfigContext['caches'],
  later: (names: Iterable<string>) => never[],
): void {
  const pools = () => caches.pools.store.list();
  access.onChange(() => later(pools().map(({ metadata }) => metadata.name)));
  const referring = (kind: MachineRef['kind'], { metadata }: Pick<KubeObject, 'metadata'>) =>
    pools()
      .filter((pool) =>
        referencesOf(pool).some(
          (ref) => ref.kind === kind && ref.name === metadata.name && ref.namespace === metadata.namespace,
        ),
      )
      .map(({ metadata: { name } }) => name);
  controller.watch(machines, (change) => {
    if (change.type === 'updated' && machineFacts(change.old) === machineFacts(change.object)) return [];
    const node = caches.nodes.store.get(nodeNameOf(change.object));
    // The pool by whose selector the node was a member loses it to the one that refers to its machine.
    const selecting = node ? pools().filter(({ spec }) => selects(spec?.nodeSelector, node)) : [];
    return later([...fleet.poolsOf(change.object, pools()), ...selecting].map(({ metadata }) => metadata.name));
  });
  controller.watch(sets, ({ object }) => {
    const owner = controllerOf(object);
    const above = owner && referring('MachineDeployment', { metadata: { ...object.metadata, name: owner.name } });
    return later([...referring('MachineSet', object), ...(above ?? [])]);
  });
  // The pool that paused or marked a deployment may be gone: no other controller ends that.
  controller.watch(deployments, ({ object }) =>
    later([
      ...referring('MachineDeployment', object),
      ...[pausedBy(object), awaitedBy(object)].filter((name) => name !== ''),
    ]),
  );
}

async function update(context: ConfigContext, options: UpdateControllerOptions, key: Key): Promise<Outcome> {
  const { caches, log } = context;
  const pool = caches.pools.store.get(key);
  if (!pool) {
    await replaceMachines(context, options, key, undefined);
    return done;
  }
  const plans = planPools(snapshotOf(context, options, pool), (one) => snapshotOf(context, options, one));
  for (const planned of plans) {
    const refusal = await carryOut(context, planned);
    if (refusal !== undefined) return tellRefusal(context, options, planned.pool, refusal);
  }
  const refusal = await unlessForbidden(replaceMachines(context, options, key, caches.pools.store.get(key)));
  if (refusal !== undefined) return tellRefusal(context, options, pool, refusal);
  const error = plans.find(({ plan }) => plan.error !== undefined)?.plan.error;
  const waits = plans.flatMap(({ plan }) => plan.againMs ?? []);
  if (error === undefined) return waits.length > 0 ? again(Math.min(...waits)) : done;
  log.warn('pool is not updated', { pool: key, reason: error });
  return again(RETRY_MS);
}

/** What a role forbids is a matter of the operator's: the pool says it, and it is tried again now and then. */
async function tellRefusal(
  context: ConfigContext,
  options: UpdateControllerOptions,
  pool: MachineConfigPool,
  refusal: string,
): Promise<Outcome> {
  const plan = planPool({ ...snapshotOf(context, options, pool), refusal });
  await tellPool(context, pool, { ...plan, events: plan.events.filter(({ type }) => type === 'Warning') });
  return again(RETRY_MS);
}

function snapshotOf(
  { caches, clock, log }: ConfigContext,
  { filters, haltAt, machines }: UpdateControllerOptions,
  pool: MachineConfigPool,
): PoolSnapshot {
  const snapshot = poolSnapshot(
    pool,
    {
      pools: caches.pools.store.list(),
      nodesNear: (one) => nodesNear(one, caches.nodes.store),
      node: (name) => caches.nodes.store.get(name),
      controllerConfig: caches.controllerConfigs.store.get(CONTROLLER_CONFIG_NAME),
      machineConfig: (name) => caches.machineConfigs.store.get(name),
      ...(machines && { fleet: machineFleet(machines) }),
      ...(machines?.access.refusal !== undefined && { refusal: machines.access.refusal }),
    },
    { now: nowText(clock), ...(filters && { filters }), ...(haltAt !== undefined && { haltAt }) },
  );
  for (const reason of snapshot.claims ?? []) log.warn('node is left out', { pool: pool.metadata.name, reason });
  return snapshot;
}

/** Hands the target over to MCM, where machines are replaced; last, since the status says what new ones boot with. */
async function replaceMachines(
  { client, caches }: ConfigContext,
  { machines }: UpdateControllerOptions,
  name: string,
  pool: MachineConfigPool | undefined,
): Promise<void> {
  if (!machines || machines.access.refusal !== undefined) return;
  const held = machines.deployments.store.byIndex(HELD_BY, name);
  const node = (nodeName: string) => caches.nodes.store.get(nodeName);
  const members = pool && membersOf(pool, caches.pools.store.list(), machineFleet(machines), node);
  const handed = pool && members ? handOver(pool, members, caches) : [];
  if (handed === 'later') return;
  const referred = new Set((members?.refs ?? []).flatMap(({ found }) => found?.deployment?.metadata.uid ?? []));
  const writes = [
    ...(handed === 'not' ? [] : handed),
    ...releaseWrites(name, held, { referred, replaces: handed !== 'not' }),
  ];
  for (const { namespace, name: deployment, uid, resourceVersion, body: change } of writes) {
    // A template rolls all machines out: a deployment that has changed since is planned again.
    const body = { ...change, metadata: { ...change.metadata, uid, resourceVersion } };
    const answer = await ignoreNotFound(
      client.resource(machineDeployments, namespace).patch(deployment, { type: 'merge', body }),
    );
    if (answer) machines.deployments.recordWrite(answer);
  }
}

/** What the deployments of a pool need; `not` where no machine of it is replaced, `later` where something is in the way. */
function handOver(
  pool: MachineConfigPool,
  members: PoolMembers,
  caches: ConfigContext['caches'],
): readonly DeploymentWrite[] | 'not' | 'later' {
  if (pool.metadata.deletionTimestamp !== undefined) return 'not';
  if (targetOf(pool) === '' || members.frozen.length > 0 || members.refused.length > 0) return 'later';
  const { replaces } = judgeStrategy(pool, members.nodes, (name) => caches.machineConfigs.store.get(name));
  return replaces ? deploymentWrites(pool, members, (name) => caches.machineConfigs.store.get(name)) : 'not';
}

/** @returns why a role does not let it be done; the status is written all the same */
async function carryOut(context: ConfigContext, { pool, plan }: PlannedPool): Promise<string | undefined> {
  const refusal = await unlessForbidden(
    inParallel(plan.nodes, PARALLEL_WRITES, (write) => writeNode(context, told(context, pool, write))),
  );
  if (refusal === undefined) await tellPool(context, pool, plan);
  return refusal;
}

async function tellPool(context: ConfigContext, pool: MachineConfigPool, { status, events }: PoolPlan): Promise<void> {
  if (status) await writePoolStatus(context, pool, status);
  for (const { type, reason, message } of events) context.recorder.event(pool, type, reason, message);
}

/**
 * The mark of waiting goes in the write that tells the node its target. The original marks it first, and takes the mark
 * away at its next look: two writes more for each node.
 */
function told({ caches }: ConfigContext, pool: MachineConfigPool, write: NodeWrite): NodeWrite {
  const desired = write.annotations[NodeAnnotations.DesiredConfig];
  const node = caches.nodes.store.get(write.name);
  // One that has changed since is a conflict, whatever is written.
  if (typeof desired !== 'string' || !node) return write;
  const annotations = { ...node.metadata.annotations, [NodeAnnotations.DesiredConfig]: desired };
  const taints = wantedTaints({ ...node, metadata: { ...node.metadata, annotations } }, pool);
  const { taints: _marked, ...rest } = write;
  return { ...rest, ...(taints && { taints }) };
}

/** One write a node, as it was looked at: a node that has changed since is a conflict, and looked at anew. */
async function writeNode({ client, target = client, caches }: ConfigContext, write: NodeWrite): Promise<void> {
  const { name, resourceVersion, annotations, labels, taints } = write;
  const body = {
    metadata: {
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
    ...(taints && { spec: { taints } }),
  };
  const answer = await ignoreNotFound(target.resource(nodes).patch(name, { type: 'merge', body }));
  if (answer) caches.nodes.recordWrite(answer);
}
