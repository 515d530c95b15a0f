import { isEmptySelector } from '@mcm/api';
import type { Node, Taint } from '@mcm/kube';
import { certificatesName, certificatesVersion } from '../certificates/bundle.ts';
import { conditionOf, isTrue, type PlannedEvent, type WantedCondition } from '../conditions/conditions.ts';
import { annotationOf, isSettled, isStranded, targetOf } from '../conditions/predicates.ts';
import { controllerConfigGate } from '../config/render/gates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { ConfigEvents, PoolConditions } from '../constants/conditions.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool, MachineConfigPoolStatus } from '../kinds/machine-config-pool.ts';
import { topologyOf } from '../kinds/topology.ts';
import { bootConfigName } from '../server/boot-config.ts';
import { isCustomPool } from './membership.ts';
import { judgeSettings, settingConditions } from './model/settings.ts';
import { wantedTaints } from './model/taints.ts';
import { judgeRollout } from './rollout/breaker.ts';
import { judgeCanaries } from './rollout/canary.ts';
import { candidatesOf, chooseNodes } from './rollout/candidates.ts';
import { labelsOfBootPool } from './rollout/custom-boot.ts';
import { maxUnavailableOf } from './rollout/max-unavailable.ts';
import { type MemberFacts, poolStatus } from './status.ts';

/** A candidate that is not to be told now. */
export interface Deferred {
  readonly node: Node;
  readonly event?: PlannedEvent;
}

/** Takes candidates out for now: leaders, nodes whose machine goes away, nodes beyond a canary. */
export type CandidateFilter = (pool: MachineConfigPool, candidates: readonly Node[]) => readonly Deferred[];

/** What one look at a pool reads. */
export interface PoolSnapshot extends MemberFacts {
  readonly pool: MachineConfigPool;
  readonly pools: readonly MachineConfigPool[];
  /** The pool's own nodes. */
  readonly nodes: readonly Node[];
  /** Why nodes that the pool selects are not its own, one sentence each. */
  readonly claims?: readonly string[];
  readonly controllerConfig: ControllerConfig | undefined;
  readonly machineConfig: (name: string) => MachineConfig | undefined;
  readonly filters?: readonly CandidateFilter[];
  /** From so many degraded nodes on the target on, no further one is told it. 0, the default: never. */
  readonly haltAt?: number;
  /** More than so many cannot be unavailable at once: machines that are asked for. */
  readonly replicas?: number;
  /** Nodes are machines of the pool: one that was never told anything is new, and told what new ones boot with. */
  readonly tellsNew?: boolean;
  /** Names of nodes whose machine was made for a configuration and has applied none: they are new, however old. */
  readonly unconfigured?: ReadonlySet<string>;
  /** New machines come in place of the nodes, which are not told. */
  readonly replaces?: boolean;
  /** Conditions about the pool's machines. */
  readonly memberConditions?: readonly WantedCondition[];
  /** Nodes outside the pool take so many of its slots. */
  readonly reserved?: number;
  /** Why the API server refuses what the pool needs: what a role lacks. */
  readonly refusal?: string;
  /** RFC 3339. */
  readonly now: string;
}

/** What to write to one node. Null removes. */
export interface NodeWrite {
  readonly name: string;
  /** Of the node that was looked at: one that has changed since may be another pool's, and has taints of others. */
  readonly resourceVersion?: string;
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
}

/** What to do for a pool. */
export interface PoolPlan {
  /** What keeps it from being done; the status is written all the same. */
  readonly error?: string;
  /** One for each node with a change. */
  readonly nodes: readonly NodeWrite[];
  /** Look again after so long, if no event comes. */
  readonly againMs?: number;
  /** Conditions beside those of the status, to be set in the same write. */
  readonly conditions?: readonly WantedCondition[];
  /** Nodes that are told the target, in order. */
  readonly targeted: readonly string[];
  /** Absent: it stays as it is. */
  readonly status?: MachineConfigPoolStatus;
  readonly events: readonly PlannedEvent[];
}

const NOTHING: PoolPlan = { nodes: [], targeted: [], events: [] };

/** Decides what a pool needs now. Pure. */
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
  if (metadata.deletionTimestamp !== undefined || spec?.paused || snapshot.frozen !== undefined || snapshot.replaces) {
    return withStatus(snapshot, onlyNew(snapshot));
  }
  const { problem } = judgeSettings(snapshot);
  if (problem !== undefined) return withStatus(snapshot, { ...onlyNew(snapshot), error: problem });
  const maxUnavailable = Math.min(maxUnavailableOf(pool, nodes.length), Math.max(snapshot.replicas ?? Infinity, 1));
  return withStatus(snapshot, advance(snapshot, maxUnavailable));
}

/** New machines are told what new ones boot with also where all others stand still. */
function onlyNew(snapshot: PoolSnapshot): PoolPlan {
  const writes = new NodeWrites(snapshot.nodes);
  tellNew(snapshot, writes);
  tellCertificates(snapshot, writes);
  return { ...NOTHING, nodes: writes.list() };
}

const SELECTING_ALL: PlannedEvent = {
  type: 'Warning',
  reason: ConfigEvents.SelectingAll,
  message: 'This machineconfigpool is selecting all nodes. A non-empty selector is required.',
};

/** Topology, taints and targets. */
function advance(snapshot: PoolSnapshot, maxUnavailable: number): PoolPlan {
  const { pool, pools, nodes, machineConfig, filters = [], reserved = 0, haltAt = 0, now } = snapshot;
  const writes = new NodeWrites(nodes);
  tellNew(snapshot, writes);
  tellCertificates(snapshot, writes);
  for (const node of nodes) {
    copyTopology(snapshot, node, writes);
    const taints = wantedTaints(node, pool);
    if (taints) writes.of(node).taints = taints;
  }
  const breaker = judgeRollout(pool, nodes, haltAt);
  const canaries = judgeCanaries(pool, nodes, Date.parse(now));
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
  const room = breaker.halted ? 0 : canaries.room;
  const capacity = Math.min(Math.max(found.capacity - reserved, 0), room);
  const stranded = nodes.filter((node) => isStranded(node, pool));
  const deferredStranded = new Set(filters.flatMap((filter) => filter(pool, stranded)).map(({ node }) => node));
  const chosen = [
    ...stranded.filter((node) => !deferredStranded.has(node)),
    ...(capacity === 0 ? [] : chooseNodes(kept, capacity)),
  ];
  const target = targetOf(pool);
  for (const node of chosen) tell(node, target, writes);
  return {
    nodes: writes.list(),
    targeted: chosen.filter((node) => annotationOf(node, NodeAnnotations.DesiredConfig) !== target).map(nameOf),
    events: [...deferred.flatMap(({ event }) => event ?? []), ...targetEvents(chosen, target)],
    conditions: [breaker, canaries].flatMap(({ condition }) => condition ?? []),
    ...(canaries.againMs !== undefined && { againMs: canaries.againMs }),
  };
}

/** New machines are unavailable as they are: what they are told takes no room. Older ones wait for their turn. */
function tellNew({ pool, nodes, tellsNew, unconfigured, now }: PoolSnapshot, writes: NodeWrites): void {
  const first = tellsNew ? bootConfigName(pool) : undefined;
  if (first === undefined) return;
  const { CurrentConfig, DesiredConfig } = NodeAnnotations;
  for (const node of nodes) {
    if (annotationOf(node, CurrentConfig) !== '' || annotationOf(node, DesiredConfig) !== '') continue;
    if (isSettled(node, Date.parse(now)) && !unconfigured?.has(nameOf(node))) continue;
    writes.of(node).annotations[DesiredConfig] = first;
  }
}

/** Certificates disrupt nothing: every node takes them at once, whatever holds its rollout. */
function tellCertificates({ pool, nodes, machineConfig }: PoolSnapshot, writes: NodeWrites): void {
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

function tell(node: Node, target: string, writes: NodeWrites): void {
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

/** Collects the changes of each node, so that each is written once. */
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

/** Adds the status, computed from the nodes as they were read, and the events of its transitions. */
function withStatus(snapshot: PoolSnapshot, plan: PoolPlan): PoolPlan {
  const { pool, nodes, now, unresolved, members, frozen, memberConditions = [] } = snapshot;
  const status = poolStatus(pool, nodes, now, {
    ...(unresolved !== undefined && { unresolved }),
    ...(members && { members }),
    ...(frozen !== undefined && { frozen }),
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

/** How many nodes a message names: the others are counted. */
const NAMED = 3;

/** Nodes that several custom pools claim get nothing from any: the original says so in its log only. */
function claimConditions({ pool, claims: given = [] }: PoolSnapshot): readonly WantedCondition[] {
  // The workers' pool would not have them either.
  const claims = isCustomPool(pool) ? given : [];
  const { NodesClaimed, Degraded } = PoolConditions;
  if (claims.length === 0) {
    return isTrue(pool.status?.conditions, NodesClaimed) ? [{ type: NodesClaimed, status: 'False' }] : [];
  }
  const more = claims.length > NAMED ? ` and ${claims.length - NAMED} more` : '';
  const message =
    `${claims.slice(0, NAMED).join('; ')}${more}. ` +
    'Change metadata.labels of these nodes, or spec.nodeSelector of the pools, so that one custom pool claims each';
  const reason = 'AmbiguousMembership';
  return [NodesClaimed, Degraded].map((type) => ({ type, status: 'True', reason, message }));
}

/** Conditions that are told in an event of the same name whenever they say something new. */
const TOLD = [
  PoolConditions.WritesForbidden,
  PoolConditions.NodesClaimed,
  PoolConditions.SettingsInvalid,
] as const satisfies readonly (keyof typeof ConfigEvents)[];

function transitionEvents(pool: MachineConfigPool, status: MachineConfigPoolStatus): readonly PlannedEvent[] {
  const { Updated, Updating, RolloutHalted } = PoolConditions;
  const { name } = pool.metadata;
  const old = pool.status?.conditions;
  const warnings = TOLD.flatMap((type): readonly PlannedEvent[] => {
    const { message = '' } = conditionOf(status.conditions, type) ?? {};
    if (message === '' || conditionOf(old, type)?.message === message) return [];
    return [{ type: 'Warning', reason: ConfigEvents[type], message }];
  });
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
