import { formatDurationMs, Labels } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { conditionOf, isTrue } from '../conditions/conditions.ts';
import {
  annotationOf,
  awaitsConfig,
  degradedReason,
  isDegraded,
  isManaged,
  isTargeted,
  isUnavailable,
  isUpdated,
  needsTarget,
  notReadyReason,
  targetOf,
} from '../conditions/predicates.ts';
import { hintIn, withoutHint } from '../config/hint.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { PoolConditions } from '../constants/conditions.ts';
import { DaemonStates } from '../constants/states.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { planPools } from './arbiter.ts';
import type { PoolSnapshot } from './model/snapshot.ts';
import type { PoolPlan } from './plan.ts';
import { checkMaxUnavailable, maxUnavailableOf } from './rollout/max-unavailable.ts';
import { postponing } from './rollout/windows.ts';

/** The progress of a node towards the pool's target. */
export interface NodeStanding {
  readonly name: string;
  readonly current: string;
  readonly desired: string;
  readonly state: string;
  readonly updated: boolean;
  readonly unavailable: boolean;
  readonly why: string;
}

/** The progress of a pool, with the reasons for each wait. */
export interface PoolExplanation {
  readonly name: string;
  readonly target: string;
  readonly completed: string;
  readonly updateStrategy: string;
  readonly paused: boolean;
  readonly nodes: number;
  readonly updated: number;
  readonly unavailable: number;
  readonly maxUnavailable?: number | undefined;
  readonly next: readonly string[];
  readonly standing: readonly NodeStanding[];
  readonly blockers: readonly string[];
  readonly hints: readonly string[];
}

const BLOCKING = [
  ...[PoolConditions.RenderDegraded, PoolConditions.NodesClaimed, PoolConditions.RolloutHalted],
  ...[PoolConditions.RequiresReplacement, PoolConditions.WritesForbidden],
];

/** Explains a pool with the decision functions of the controller. */
export function explainPool(
  snapshot: PoolSnapshot,
  snapshotOf: (pool: MachineConfigPool) => PoolSnapshot,
): PoolExplanation {
  const { pool, nodes } = snapshot;
  const { spec, status, metadata } = pool;
  const plan = planPools(snapshot, snapshotOf).find((one) => one.pool === pool)?.plan;
  const limit = limitOf(snapshot);
  const held = holdOf(snapshot, plan);
  const standing = nodes.map((node) => standingOf(node, snapshot, plan, held));
  return {
    name: metadata.name,
    target: targetOf(pool),
    completed: status?.configuration?.name ?? '',
    updateStrategy: spec?.updateStrategy ?? 'InPlace',
    paused: spec?.paused === true,
    nodes: nodes.length,
    updated: standing.filter(({ updated }) => updated).length,
    unavailable: standing.filter(({ unavailable }) => unavailable).length,
    maxUnavailable: limit,
    next: plan?.targeted ?? [],
    standing,
    blockers: blockersOf(snapshot, plan, heldPool(snapshot, standing, held)),
    hints: hintsOf(snapshot, standing, plan),
  };
}

function limitOf({ pool, nodes, replicas = Infinity }: PoolSnapshot): number | undefined {
  if (checkMaxUnavailable(pool).problem !== undefined) return undefined;
  return Math.min(maxUnavailableOf(pool, nodes.length), Math.max(replicas, 1));
}

const REPLACED = 'mcm replaces the machine of the node';

function holdOf({ pool, frozen, replaces, haltAt }: PoolSnapshot, plan: PoolPlan | undefined): string | undefined {
  if (targetOf(pool) === '') return 'the pool has no target configuration yet';
  if (pool.spec?.paused) return 'the pool is paused';
  if (frozen !== undefined) return frozen;
  const said = plan?.conditions ?? [];
  const waits = said.find(({ type, status }) => type === PoolConditions.RolloutWaiting && status === 'True');
  if (waits && waits.reason !== 'NodePostponed') return waits.message;
  if (replaces) return REPLACED;
  const halted = said.find(({ type, status }) => type === PoolConditions.RolloutHalted && status === 'True');
  // Only the controller has the flag with the limit of Degraded nodes, so other programs read the condition.
  if (halted || (haltAt === undefined && isTrue(pool.status?.conditions, PoolConditions.RolloutHalted))) {
    return 'the rollout is stopped';
  }
  if (plan?.error !== undefined) return withoutHint(plan.error);
  const canary = said.find(({ type }) => type === PoolConditions.CanaryPassed);
  if (canary?.status === 'False') return `canaries first: ${canary.message ?? ''}`;
  return plan?.againMs === undefined || canary === undefined
    ? undefined
    : `canaries must stay healthy for ${formatDurationMs(Math.ceil(plan.againMs / 1_000) * 1_000)} more`;
}

function standingOf(
  node: Node,
  snapshot: PoolSnapshot,
  plan: PoolPlan | undefined,
  held: string | undefined,
): NodeStanding {
  const { pool } = snapshot;
  return {
    name: node.metadata.name,
    current: annotationOf(node, NodeAnnotations.CurrentConfig),
    desired: annotationOf(node, NodeAnnotations.DesiredConfig),
    state: annotationOf(node, NodeAnnotations.State),
    updated: isUpdated(node, pool),
    unavailable: isUnavailable(node),
    why: whyNot(node, snapshot, plan, held),
  };
}

function whyNot(
  node: Node,
  { pool, filters = [], now }: PoolSnapshot,
  plan: PoolPlan | undefined,
  held: string | undefined,
): string {
  const { name } = node.metadata;
  const notReady = notReadyReason(node);
  if (isUpdated(node, pool))
    return notReady === undefined ? '' : `the node has the target configuration, but ${notReady}`;
  if (plan?.targeted.includes(name)) return 'the node gets the target configuration next';
  if (isDegraded(node)) return `${annotationOf(node, NodeAnnotations.State)}: ${degradedReason(node)}`;
  if (isTargeted(node, pool) && !needsTarget(node, pool)) return working(node);
  if (held !== undefined) return `the node does not get the target configuration: ${held}`;
  if (!isManaged(node) && !awaitsConfig(node))
    return 'the node has no annotation currentConfig, because the daemon has not reported yet';
  if (notReady !== undefined) return `the node does not get the target configuration: ${notReady}`;
  if (!awaitsConfig(node) && annotationOf(node, NodeAnnotations.State) !== DaemonStates.Done)
    return 'the node does not get the target configuration yet: another update is in progress';
  if (postponing(pool, [node], new Date(now)).length > 0)
    return `the node does not get the target configuration: it has the label ${Labels.RolloutPostpone}`;
  if (filters.some((filter) => filter(pool, [node]).length > 0))
    return 'the node does not get the target configuration: its machine is being deleted or changed';
  return 'the node waits until fewer nodes are unavailable or degraded, because of maxUnavailable';
}

function working(node: Node): string {
  const { DesiredDrain, LastAppliedDrain, PostConfigAction, State } = NodeAnnotations;
  const asked = annotationOf(node, DesiredDrain);
  if (annotationOf(node, PostConfigAction) === 'Rebooting') return 'reboots';
  if (asked.startsWith('drain-') && asked !== annotationOf(node, LastAppliedDrain)) return 'is drained';
  if (asked.startsWith('uncordon-') && asked !== annotationOf(node, LastAppliedDrain)) return 'is uncordoned';
  return annotationOf(node, State) === DaemonStates.Working
    ? 'the daemon is applying the target configuration'
    : 'the node must apply the target configuration, but the daemon has not started the update';
}

function heldPool(
  { replaces }: PoolSnapshot,
  standing: readonly NodeStanding[],
  held: string | undefined,
): string | undefined {
  if (!replaces || held !== REPLACED) return held;
  return standing.some(({ updated }) => !updated)
    ? 'mcm replaces the machines that do not have the target configuration'
    : undefined;
}

function blockersOf(
  { pool, memberConditions = [] }: PoolSnapshot,
  plan: PoolPlan | undefined,
  held: string | undefined,
): readonly string[] {
  const said = BLOCKING.flatMap((type) => {
    const condition = conditionOf(pool.status?.conditions, type);
    return condition?.status === 'True' ? [`${type}: ${withoutHint(condition.message ?? '')}`] : [];
  });
  const unresolved = memberConditions.filter(
    ({ type, status }) => type === PoolConditions.MachineRefResolved && status === 'False',
  );
  const why = unresolved.map(({ type, message }) => `${type}: ${message ?? ''}`);
  return [
    ...new Set([
      ...said,
      ...why,
      ...[held ?? []].flat(),
      ...(plan?.error === undefined ? [] : [withoutHint(plan.error)]),
    ]),
  ];
}

const RENDER_HINT = 'preview a change before you apply it: mcm config diff FILES';

function hintsOf(
  { pool, frozen }: PoolSnapshot,
  standing: readonly NodeStanding[],
  plan: PoolPlan | undefined,
): readonly string[] {
  const { name } = pool.metadata;
  const waiting = standing.some(({ updated }) => !updated);
  const failing = standing.filter(
    ({ state }) => state === DaemonStates.Degraded || state === DaemonStates.Unreconcilable,
  );
  const degraded = conditionOf(pool.status?.conditions, PoolConditions.RenderDegraded);
  const [bad] = failing.filter(({ desired }) => desired === targetOf(pool));
  return [
    ...(pool.spec?.paused && waiting
      ? [`kubectl patch machineconfigpool ${name} --type merge -p '{"spec":{"paused":false}}'`]
      : []),
    ...(bad
      ? [`revert the change that led to configuration ${targetOf(pool)}, or repair node ${bad.name}: ${bad.why}`]
      : []),
    ...(frozen === undefined ? [] : ['find the cause of the freeze: mcm explain machinedeployment/NAME']),
    ...(degraded?.status === 'True'
      ? [hintIn(degraded.message ?? '') ?? 'correct the MachineConfig that the condition names', RENDER_HINT]
      : []),
    ...[hintIn(plan?.error ?? '') ?? []].flat(),
  ];
}
