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
import { awaitedBy, pausedBy } from '../machines/holds.ts';
import { membersOf, type PoolMembers } from '../machines/members.ts';
import {
  type DeploymentWrite,
  deploymentWrites,
  evaluateStrategy,
  hasApplied,
  releaseWrites,
} from '../machines/replace.ts';
import { referencesOf } from '../server/machines.ts';
import { type PlannedPool, planPools } from './arbiter.ts';
import { nodesNear } from './model/near.ts';
import type { CandidateFilter, PoolSnapshot } from './model/snapshot.ts';
import { wantedTaints } from './model/taints.ts';
import { type NodeWrite, type PoolPlan, planPool } from './plan.ts';
import { evaluateWindows } from './rollout/windows.ts';
import { poolSnapshot } from './snapshot.ts';
import { poolsToWake, poolsToWakeWith } from './wakeups.ts';

/** Options of the UpdateController. */
export interface UpdateControllerOptions {
  readonly delayMs?: number;
  /** Filters that temporarily exclude candidates for the target. */
  readonly filters?: readonly CandidateFilter[];
  /** The number of Degraded nodes with the target that stops the rollout; 0 means no limit. */
  readonly haltAt?: number;
  readonly machines?: MachineCaches | undefined;
}

const PARALLEL_WRITES = 32;

/** The original waits for 5 s, which would add minutes to the update of a thousand nodes. */
const DELAY_MS = 1000;
const RETRY_MS = 60_000;

/** Creates the controller that executes the decisions of {@link planPools}. */
export function createUpdateController(context: ConfigContext, options: UpdateControllerOptions = {}): Controller {
  const { caches, clock, random, log, metrics } = context;
  const { delayMs = DELAY_MS } = options;
  const reconcile = (key: Key) => update(context, options, key);
  const controller = createController({
    name: 'update',
    concurrency: 2,
    clock,
    random,
    log,
    reconcile,
    of: caches.pools,
    metrics,
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

function poolsOfCertificates(config: MachineConfig): readonly string[] {
  const owner = controllerOf(config);
  return owner?.kind === 'MachineConfigPool' && config.metadata.name === certificatesName(owner.name)
    ? [owner.name]
    : [];
}

/**
 * Returns the values of a machine that matter for a pool: its node, its phase, its deletion, and whether it has applied
 * a configuration.
 */
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
    const selecting = node ? pools().filter(({ spec }) => selects(spec?.nodeSelector, node)) : [];
    return later([...fleet.poolsOf(change.object, pools()), ...selecting].map(({ metadata }) => metadata.name));
  });
  controller.watch(sets, ({ object }) => {
    const owner = controllerOf(object);
    const above = owner && referring('MachineDeployment', { metadata: { ...object.metadata, name: owner.name } });
    return later([...referring('MachineSet', object), ...(above ?? [])]);
  });
  // After the deletion of a pool, this controller ends the pause that the pool set on its deployments. No other
  // controller ends this pause.
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
    if (refusal !== undefined) return reportRefusal(context, options, planned.pool, refusal);
  }
  const refusal = await unlessForbidden(replaceMachines(context, options, key, caches.pools.store.get(key)));
  if (refusal !== undefined) return reportRefusal(context, options, pool, refusal);
  const error = plans.find(({ plan }) => plan.error !== undefined)?.plan.error;
  const waits = plans.flatMap(({ plan }) => plan.againMs ?? []);
  if (error === undefined) return waits.length > 0 ? again(Math.min(...waits)) : done;
  log.warn('the controller does not update the pool', { pool: key, reason: error });
  return again(RETRY_MS);
}

/** Only an operator can grant a missing permission, so the controller retries at an interval. */
async function reportRefusal(
  context: ConfigContext,
  options: UpdateControllerOptions,
  pool: MachineConfigPool,
  refusal: string,
): Promise<Outcome> {
  const plan = planPool({ ...snapshotOf(context, options, pool), refusal });
  await reportToPool(context, pool, { ...plan, events: plan.events.filter(({ type }) => type === 'Warning') });
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
      fleet: machines ? machineFleet(machines) : undefined,
      refusal: machines?.access.refusal !== undefined ? machines.access.refusal : undefined,
    },
    { now: nowText(clock), filters, haltAt },
  );
  for (const reason of snapshot.claims ?? [])
    log.warn('the controller ignores the node', { pool: pool.metadata.name, reason });
  return snapshot;
}

/** Starts the replacement of machines last, because new machines boot with the config in the status of the pool. */
async function replaceMachines(
  { client, caches, clock }: ConfigContext,
  { machines }: UpdateControllerOptions,
  name: string,
  pool: MachineConfigPool | undefined,
): Promise<void> {
  if (!machines || machines.access.refusal !== undefined) return;
  const held = machines.deployments.store.byIndex(HELD_BY, name);
  const node = (nodeName: string) => caches.nodes.store.get(nodeName);
  const members = pool && membersOf(pool, caches.pools.store.list(), machineFleet(machines), node);
  const handed = pool && members ? handOver(pool, members, caches, clock.now()) : [];
  if (handed === 'later') return;
  const referred = new Set((members?.refs ?? []).flatMap(({ found }) => found?.deployment?.metadata.uid ?? []));
  const writes = [
    ...(handed === 'not' ? [] : handed),
    ...releaseWrites(name, held, { referred, replaces: handed !== 'not' }),
  ];
  for (const { namespace, name: deployment, uid, resourceVersion, body: change } of writes) {
    const body = { ...change, metadata: { ...change.metadata, uid, resourceVersion } };
    const answer = await ignoreNotFound(
      client.resource(machineDeployments, namespace).patch(deployment, { type: 'merge', body }),
    );
    if (answer) machines.deployments.recordWrite(answer);
  }
}

/** Plans the replacement of a deployment's machines. */
function handOver(
  pool: MachineConfigPool,
  members: PoolMembers,
  caches: ConfigContext['caches'],
  now: Date,
): readonly DeploymentWrite[] | 'not' | 'later' {
  if (pool.metadata.deletionTimestamp !== undefined) return 'not';
  if (targetOf(pool) === '' || members.frozen.length > 0 || members.refused.length > 0) return 'later';
  const { replaces } = evaluateStrategy(pool, members.nodes, (name) => caches.machineConfigs.store.get(name));
  if (!replaces) return 'not';
  const { closed } = evaluateWindows(pool, members.nodes, now);
  return deploymentWrites(pool, members, (name) => caches.machineConfigs.store.get(name), closed);
}

/**
 * Executes the plan of a pool.
 * @returns the missing permission
 */
async function carryOut(context: ConfigContext, { pool, plan }: PlannedPool): Promise<string | undefined> {
  const refusal = await unlessForbidden(
    inParallel(plan.nodes, PARALLEL_WRITES, (write) => writeNode(context, targeted(context, pool, write))),
  );
  if (refusal === undefined) await reportToPool(context, pool, plan);
  return refusal;
}

async function reportToPool(
  context: ConfigContext,
  pool: MachineConfigPool,
  { status, events }: PoolPlan,
): Promise<void> {
  if (status) await writePoolStatus(context, pool, status);
  for (const { type, reason, message } of events) context.recorder.event(pool, type, reason, message);
}

/** Sets the target of a node and removes the taint with one write; the original needs three writes. */
function targeted({ caches }: ConfigContext, pool: MachineConfigPool, write: NodeWrite): NodeWrite {
  const desired = write.annotations[NodeAnnotations.DesiredConfig];
  const node = caches.nodes.store.get(write.name);
  if (typeof desired !== 'string' || !node) return write;
  const annotations = { ...node.metadata.annotations, [NodeAnnotations.DesiredConfig]: desired };
  const taints = wantedTaints({ ...node, metadata: { ...node.metadata, annotations } }, pool);
  const { taints: _marked, ...rest } = write;
  return { ...rest, taints };
}

/** Writes a change of a Node, and reads the Node again after a conflict. */
async function writeNode({ client, target = client, caches }: ConfigContext, write: NodeWrite): Promise<void> {
  const { name, resourceVersion, annotations, labels, taints } = write;
  const body = {
    metadata: {
      annotations: Object.keys(annotations).length > 0 ? annotations : undefined,
      labels: Object.keys(labels).length > 0 ? labels : undefined,
      resourceVersion,
    },
    spec: taints ? { taints } : undefined,
  };
  const answer = await ignoreNotFound(target.resource(nodes).patch(name, { type: 'merge', body }));
  if (answer) caches.nodes.recordWrite(answer);
}
