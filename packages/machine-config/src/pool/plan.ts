import { isEmptySelector } from '@mcm/api';
import type { Node, Taint } from '@mcm/kube';
import { certificatesName, certificatesVersion } from '../certificates/bundle.ts';
import { conditionOf, isTrue, type PlannedEvent, type WantedCondition } from '../conditions/conditions.ts';
import { annotationOf, isSettled, isStranded, targetOf } from '../conditions/predicates.ts';
import { controllerConfigGate } from '../config/render/gates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { ConfigEvents, PoolConditions } from '../constants/conditions.ts';
import type { MachineConfigPool, MachineConfigPoolStatus } from '../kinds/machine-config-pool.ts';
import { topologyOf } from '../kinds/topology.ts';
import { bootConfigName } from '../server/boot-config.ts';
import { isCustomPool } from './membership.ts';
import type { PoolSnapshot } from './model/snapshot.ts';
import { wantedTaints } from './model/taints.ts';
import { evaluateRollout } from './rollout/breaker.ts';
import { evaluateCanaries } from './rollout/canary.ts';
import { candidatesOf, chooseNodes } from './rollout/candidates.ts';
import { labelsOfBootPool } from './rollout/custom-boot.ts';
import { maxUnavailableOf } from './rollout/max-unavailable.ts';
import { checkSettings, settingConditions } from './rollout/settings.ts';
import { evaluateWindows, type WindowVerdict } from './rollout/windows.ts';
import { poolStatus } from './status.ts';

/** A change of a Node. */
export interface NodeWrite {
  readonly name: string;
  /** The observed resource version of the Node, because a newer Node may belong to another pool. */
  readonly resourceVersion?: string;
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[] | undefined;
}

/** The actions for a pool. */
export interface PoolPlan {
  readonly error?: string;
  readonly nodes: readonly NodeWrite[];
  readonly againMs?: number | undefined;
  readonly conditions?: readonly WantedCondition[];
  readonly targeted: readonly string[];
  readonly status?: MachineConfigPoolStatus | undefined;
  readonly events: readonly PlannedEvent[];
}

const NOTHING: PoolPlan = { nodes: [], targeted: [], events: [] };

/** Plans the next actions for a pool. */
export function planPool(snapshot: PoolSnapshot): PoolPlan {
  const { pool, controllerConfig, nodes } = snapshot;
  const { metadata, spec } = pool;
  if (targetOf(pool) === '') return NOTHING;
  if (!controllerConfig) {
    return {
      ...NOTHING,
      error: `error getting controllerconfig "machine-config-controller", error: ${controllerConfigGate(undefined)}`,
    };
  }
  if (spec?.nodeSelector && isEmptySelector(spec.nodeSelector)) return { ...NOTHING, events: [SELECTING_ALL] };
  if (metadata.deletionTimestamp !== undefined || spec?.paused || snapshot.frozen !== undefined) {
    return withStatus(snapshot, onlyNew(snapshot));
  }
  const windows = evaluateWindows(pool, nodes, new Date(snapshot.now));
  if (snapshot.replaces) return withStatus(snapshot, { ...onlyNew(snapshot), ...waitOf(windows) });
  const { problem } = checkSettings(snapshot);
  if (problem !== undefined) return withStatus(snapshot, { ...onlyNew(snapshot), error: problem });
  const maxUnavailable = Math.min(maxUnavailableOf(pool, nodes.length), Math.max(snapshot.replicas ?? Infinity, 1));
  return withStatus(snapshot, advance(snapshot, maxUnavailable, windows));
}

/** Plans only the first configs of new machines, because the rollout is blocked. */
function onlyNew(snapshot: PoolSnapshot): PoolPlan {
  const writes = new NodeWrites(snapshot.nodes);
  targetNew(snapshot, writes);
  targetCertificates(snapshot, writes);
  return { ...NOTHING, nodes: writes.list() };
}

const SELECTING_ALL: PlannedEvent = {
  type: 'Warning',
  reason: ConfigEvents.SelectingAll,
  message: 'This machineconfigpool is selecting all nodes. A non-empty selector is required.',
};

function advance(snapshot: PoolSnapshot, maxUnavailable: number, windows: WindowVerdict): PoolPlan {
  const { pool, pools, nodes, machineConfig, filters = [], reserved = 0, haltAt = 0, now } = snapshot;
  const writes = new NodeWrites(nodes);
  targetNew(snapshot, writes);
  targetCertificates(snapshot, writes);
  for (const node of nodes) {
    copyTopology(snapshot, node, writes);
    const taints = wantedTaints(node, pool);
    if (taints) writes.of(node).taints = taints;
  }
  const breaker = evaluateRollout(pool, nodes, haltAt);
  const canaries = evaluateCanaries(pool, nodes, Date.parse(now));
  const found = candidatesOf(pool, nodes, maxUnavailable);
  const deferred = filters.flatMap((filter) => filter(pool, found.nodes));
  const kept = found.nodes.filter((node) => {
    if (deferred.some((one) => one.node === node)) return false;
    const labels = labelsOfBootPool(node, pools, machineConfig);
    if (!labels) return true;
    Object.assign(writes.of(node).labels, labels);
    writes.of(node).annotations[NodeAnnotations.CustomPoolLabelsApplied] = '';
    return false;
  });
  const room = breaker.halted || windows.closed ? 0 : canaries.room;
  const capacity = Math.min(Math.max(found.capacity - reserved, 0), room);
  const stranded = nodes.filter((node) => isStranded(node, pool));
  const deferredStranded = new Set(filters.flatMap((filter) => filter(pool, stranded)).map(({ node }) => node));
  const chosen = [
    ...stranded.filter((node) => !deferredStranded.has(node)),
    ...(capacity === 0 ? [] : chooseNodes(kept, capacity)),
  ];
  const target = targetOf(pool);
  for (const node of chosen) setTarget(node, target, writes);
  return {
    nodes: writes.list(),
    targeted: chosen.filter((node) => annotationOf(node, NodeAnnotations.DesiredConfig) !== target).map(nameOf),
    events: [...deferred.flatMap(({ event }) => event ?? []), ...targetEvents(chosen, target)],
    ...waitOf(breaker, canaries, windows),
  };
}

function waitOf(
  ...delays: readonly { readonly condition?: WantedCondition | undefined; readonly againMs?: number | undefined }[]
): Pick<PoolPlan, 'conditions' | 'againMs'> {
  const waits = delays.flatMap(({ againMs }) => againMs ?? []);
  return {
    conditions: delays.flatMap(({ condition }) => condition ?? []),
    againMs: waits.length > 0 ? Math.min(...waits) : undefined,
  };
}

/** Sets the target of new machines, which are already unavailable and do not count towards the limit. */
function targetNew({ pool, nodes, targetsNew, unconfigured, now }: PoolSnapshot, writes: NodeWrites): void {
  const first = targetsNew ? bootConfigName(pool) : undefined;
  if (first === undefined) return;
  const { CurrentConfig, DesiredConfig } = NodeAnnotations;
  for (const node of nodes) {
    if (annotationOf(node, CurrentConfig) !== '' || annotationOf(node, DesiredConfig) !== '') continue;
    if (isSettled(node, Date.parse(now)) && !unconfigured?.has(nameOf(node))) continue;
    writes.of(node).annotations[DesiredConfig] = first;
  }
}

/**
 * Sets the certificates of nodes. New certificates cause no disruption, so every node gets them immediately, even if
 * the rollout is blocked.
 */
function targetCertificates({ pool, nodes, machineConfig }: PoolSnapshot, writes: NodeWrites): void {
  const config = machineConfig(certificatesName(pool.metadata.name));
  if (!config) return;
  const { CurrentConfig, DesiredCertificates } = NodeAnnotations;
  const version = certificatesVersion(config);
  for (const node of nodes) {
    if (annotationOf(node, CurrentConfig) === '' || annotationOf(node, DesiredCertificates) === version) continue;
    writes.of(node).annotations[DesiredCertificates] = version;
  }
}

const nameOf = ({ metadata }: Node): string => metadata.name;

function copyTopology({ controllerConfig }: PoolSnapshot, node: Node, writes: NodeWrites): void {
  const topology = topologyOf(controllerConfig);
  const key = NodeAnnotations.ControlPlaneTopology;
  if (topology !== '' && annotationOf(node, key) !== topology) writes.of(node).annotations[key] = topology;
}

function setTarget(node: Node, target: string, writes: NodeWrites): void {
  const { DesiredConfig, DesiredImage } = NodeAnnotations;
  if (annotationOf(node, DesiredConfig) !== target) writes.of(node).annotations[DesiredConfig] = target;
  if (node.metadata.annotations?.[DesiredImage] !== undefined) writes.of(node).annotations[DesiredImage] = null;
}

function targetEvents(chosen: readonly Node[], target: string): readonly PlannedEvent[] {
  const [first] = chosen;
  if (!first) return [];
  const message =
    chosen.length === 1
      ? `Targeted node ${nameOf(first)} to MachineConfig: ${target}`
      : `Set target for ${chosen.length} nodes to MachineConfig: ${target}`;
  return [{ type: 'Normal', reason: ConfigEvents.SetDesiredConfig, message }];
}

class NodeWrites {
  readonly #order: readonly Node[];
  readonly #writes = new Map<
    string,
    {
      name: string;
      resourceVersion?: string;
      annotations: Record<string, string | null>;
      labels: Record<string, string>;
      taints?: readonly Taint[];
    }
  >();

  constructor(order: readonly Node[]) {
    this.#order = order;
  }

  of({ metadata: { name, resourceVersion } }: Node) {
    const version = resourceVersion === undefined ? {} : { resourceVersion };
    const write = this.#writes.get(name) ?? { name, ...version, annotations: {}, labels: {} };
    this.#writes.set(name, write);
    return write;
  }

  list(): readonly NodeWrite[] {
    return this.#order.flatMap(({ metadata }) => this.#writes.get(metadata.name) ?? []);
  }
}

/**
 * Adds the status of the pool to the plan, computed from the observed nodes, and the events about changes of the
 * status.
 */
function withStatus(snapshot: PoolSnapshot, plan: PoolPlan): PoolPlan {
  const { pool, nodes, now, unresolved, members, frozen, memberConditions = [] } = snapshot;
  const status = poolStatus(pool, nodes, now, {
    unresolved,
    members,
    frozen,
    more: [
      ...claimConditions(snapshot),
      ...settingConditions(snapshot),
      ...refusalCondition(snapshot),
      ...memberConditions,
      ...(plan.conditions ?? []),
    ],
  });
  if (JSON.stringify(status) === JSON.stringify(pool.status ?? {})) return plan;
  return { ...plan, status, events: [...plan.events, ...transitionEvents(pool, status)] };
}

function refusalCondition({ pool, refusal }: PoolSnapshot): readonly WantedCondition[] {
  const type = PoolConditions.WritesForbidden;
  if (refusal !== undefined) return [{ type, status: 'True', reason: 'RoleLacksPermission', message: refusal }];
  return isTrue(pool.status?.conditions, type) ? [{ type, status: 'False' }] : [];
}

const NAMED = 3;

/**
 * Returns the conditions about nodes that several custom pools select. The original only logs nodes that several custom
 * pools select.
 */
function claimConditions({ pool, claims: given = [] }: PoolSnapshot): readonly WantedCondition[] {
  const claims = isCustomPool(pool) ? given : [];
  const { NodesClaimed, Degraded } = PoolConditions;
  if (claims.length === 0) {
    return isTrue(pool.status?.conditions, NodesClaimed) ? [{ type: NodesClaimed, status: 'False' }] : [];
  }
  const more = claims.length > NAMED ? ` and ${claims.length - NAMED} more` : '';
  const message =
    `${claims.slice(0, NAMED).join('; ')}${more}. ` +
    'Change metadata.labels of the nodes, or spec.nodeSelector of the pools, so that at most one custom pool selects a node';
  const reason = 'AmbiguousMembership';
  return [NodesClaimed, Degraded].map((type) => ({ type, status: 'True', reason, message }));
}

/**
 * For each new message of one of these conditions, the controller sends an event with the type of the condition as its
 * reason.
 */
const REPORTED = [
  PoolConditions.WritesForbidden,
  PoolConditions.NodesClaimed,
  PoolConditions.SettingsInvalid,
] as const satisfies readonly (keyof typeof ConfigEvents)[];

function transitionEvents(pool: MachineConfigPool, status: MachineConfigPoolStatus): readonly PlannedEvent[] {
  const { Updated, Updating, RolloutHalted, RolloutWaiting } = PoolConditions;
  const { name } = pool.metadata;
  const old = pool.status?.conditions;
  const warnings = REPORTED.flatMap((type): readonly PlannedEvent[] => {
    const { message = '' } = conditionOf(status.conditions, type) ?? {};
    if (message === '' || conditionOf(old, type)?.message === message) return [];
    return [{ type: 'Warning', reason: ConfigEvents[type], message }];
  });
  const waiting = conditionOf(status.conditions, RolloutWaiting);
  if (waiting?.status === 'True' && conditionOf(old, RolloutWaiting)?.reason !== waiting.reason) {
    return [...warnings, { type: 'Normal', reason: ConfigEvents.RolloutWaiting, message: waiting.message ?? '' }];
  }
  const halted = conditionOf(status.conditions, RolloutHalted);
  if (halted?.status === 'True' && !isTrue(old, RolloutHalted)) {
    return [...warnings, { type: 'Warning', reason: ConfigEvents.RolloutHalted, message: halted.message ?? '' }];
  }
  if (!isTrue(old, Updated) && isTrue(status.conditions, Updated)) {
    const message = `Pool ${name} has completed update to MachineConfig ${targetOf(pool)}`;
    return [...warnings, { type: 'Normal', reason: ConfigEvents.Completed, message }];
  }
  if (conditionOf(old, Updating)?.status !== 'False' || !isTrue(status.conditions, Updating)) return warnings;
  const message = `Pool ${name} is updating to MachineConfig ${targetOf(pool)}`;
  return [...warnings, { type: 'Normal', reason: ConfigEvents.Updating, message }];
}
