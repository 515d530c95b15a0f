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
import { cureIn, withoutCure } from '../config/cure.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { PoolConditions } from '../constants/conditions.ts';
import { DaemonStates } from '../constants/states.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import type { PoolPlan, PoolSnapshot } from './plan.ts';
import { planPools } from './rollout/arbiter.ts';
import { judgeMaxUnavailable, maxUnavailableOf } from './rollout/max-unavailable.ts';

/** Where a node stands on its way to the pool's target. */
export interface NodeStanding {
  readonly name: string;
  readonly current: string;
  readonly desired: string;
  readonly state: string;
  readonly updated: boolean;
  /** It takes a slot of maxUnavailable. */
  readonly unavailable: boolean;
  /** Why it is not at the target, or what it does about it; '' for a node that is there. */
  readonly why: string;
}

/** Why a pool is where it is. */
export interface PoolExplanation {
  readonly name: string;
  readonly target: string;
  /** What all nodes had when they last agreed. */
  readonly completed: string;
  readonly updateStrategy: string;
  readonly paused: boolean;
  readonly nodes: number;
  readonly updated: number;
  readonly unavailable: number;
  /** How many nodes may be unavailable at once; absent if the field says no count. */
  readonly maxUnavailable?: number;
  /** Nodes that are told the target in the controller's next step, by the controller's own decision. */
  readonly next: readonly string[];
  readonly standing: readonly NodeStanding[];
  /** What keeps it from going on, in the words of its conditions and of the decision. */
  readonly blockers: readonly string[];
  /** What would let it go on. */
  readonly cures: readonly string[];
}

const BLOCKING = [
  ...[PoolConditions.RenderDegraded, PoolConditions.NodesClaimed, PoolConditions.RolloutHalted],
  ...[PoolConditions.RequiresReplacement, PoolConditions.WritesForbidden],
];

/** Explains a pool as the controller sees it. Pure. */
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
    ...{ name: metadata.name, target: targetOf(pool), completed: status?.configuration?.name ?? '' },
    ...{ updateStrategy: spec?.updateStrategy ?? 'InPlace', paused: spec?.paused === true },
    ...{ nodes: nodes.length, updated: standing.filter(({ updated }) => updated).length },
    unavailable: standing.filter(({ unavailable }) => unavailable).length,
    ...(limit !== undefined && { maxUnavailable: limit }),
    next: plan?.targeted ?? [],
    standing,
    blockers: blockersOf(snapshot, plan, heldPool(snapshot, standing, held)),
    cures: curesOf(snapshot, standing, plan),
  };
}

function limitOf({ pool, nodes, replicas = Infinity }: PoolSnapshot): number | undefined {
  if (judgeMaxUnavailable(pool).problem !== undefined) return undefined;
  return Math.min(maxUnavailableOf(pool, nodes.length), Math.max(replicas, 1));
}

const REPLACED = 'its machine is replaced: a new one comes in its place';

/** What holds back every node that is not yet told; undefined: nothing but the room. */
function holdOf({ pool, frozen, replaces, haltAt }: PoolSnapshot, plan: PoolPlan | undefined): string | undefined {
  if (targetOf(pool) === '') return 'the pool has no target yet';
  if (pool.spec?.paused) return 'the pool is paused';
  if (frozen !== undefined) return frozen;
  if (replaces) return REPLACED;
  const said = plan?.conditions ?? [];
  const halted = said.find(({ type, status }) => type === PoolConditions.RolloutHalted && status === 'True');
  // Only the controller knows after how many degraded nodes it halts.
  if (halted || (haltAt === undefined && isTrue(pool.status?.conditions, PoolConditions.RolloutHalted))) {
    return 'the rollout is halted';
  }
  if (plan?.error !== undefined) return withoutCure(plan.error);
  const canary = said.find(({ type }) => type === PoolConditions.CanaryPassed);
  if (canary?.status === 'False') return `canaries first: ${canary.message ?? ''}`;
  return plan?.againMs === undefined ? undefined : `canaries are watched for ${Math.ceil(plan.againMs / 1_000)} s more`;
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
  { pool, filters = [] }: PoolSnapshot,
  plan: PoolPlan | undefined,
  held: string | undefined,
): string {
  const { name } = node.metadata;
  const notReady = notReadyReason(node);
  if (isUpdated(node, pool)) return notReady === undefined ? '' : `has the target, but ${notReady}`;
  if (plan?.targeted.includes(name)) return 'is told the target next';
  if (isDegraded(node)) return `${annotationOf(node, NodeAnnotations.State)}: ${degradedReason(node)}`;
  if (isTargeted(node, pool) && !needsTarget(node, pool)) return working(node);
  if (held !== undefined) return `is not told: ${held}`;
  if (!isManaged(node) && !awaitsConfig(node))
    return 'no daemon has spoken for it yet: annotation currentConfig is not there';
  if (notReady !== undefined) return `is not told: ${notReady}`;
  if (!awaitsConfig(node) && annotationOf(node, NodeAnnotations.State) !== DaemonStates.Done)
    return 'is not told: it is at work on another';
  if (filters.some((filter) => filter(pool, [node]).length > 0))
    return 'is not told: its machine goes away or is worked on';
  return 'waits for its turn: as many nodes are unavailable or failing as may be';
}

/** What a daemon does about what it was told. */
function working(node: Node): string {
  const { DesiredDrain, LastAppliedDrain, PostConfigAction, State } = NodeAnnotations;
  const asked = annotationOf(node, DesiredDrain);
  if (annotationOf(node, PostConfigAction) === 'Rebooting') return 'reboots';
  if (asked.startsWith('drain-') && asked !== annotationOf(node, LastAppliedDrain)) return 'is drained';
  if (asked.startsWith('uncordon-') && asked !== annotationOf(node, LastAppliedDrain))
    return 'is made schedulable again';
  return annotationOf(node, State) === DaemonStates.Working
    ? 'its daemon applies the target'
    : 'was told the target; its daemon has not begun';
}

/** What holds back the pool: one whose machines are all replaced is held back by nothing. */
function heldPool(
  { replaces }: PoolSnapshot,
  standing: readonly NodeStanding[],
  held: string | undefined,
): string | undefined {
  if (!replaces || held !== REPLACED) return held;
  return standing.some(({ updated }) => !updated)
    ? 'new machines come in place of those with another config'
    : undefined;
}

function blockersOf(
  { pool, memberConditions = [] }: PoolSnapshot,
  plan: PoolPlan | undefined,
  held: string | undefined,
): readonly string[] {
  const said = BLOCKING.flatMap((type) => {
    const condition = conditionOf(pool.status?.conditions, type);
    return condition?.status === 'True' ? [`${type}: ${withoutCure(condition.message ?? '')}`] : [];
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
      ...(plan?.error === undefined ? [] : [withoutCure(plan.error)]),
    ]),
  ];
}

const RENDER_HINT = 'try what you write before it is applied: mcm config diff FILES';

function curesOf(
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
    ...(bad ? [`undo the change that made ${targetOf(pool)}, or mend node ${bad.name}: ${bad.why}`] : []),
    ...(frozen === undefined ? [] : ['look why MCM froze the set: mcm explain machinedeployment/NAME']),
    ...(degraded?.status === 'True'
      ? [cureIn(degraded.message ?? '') ?? 'mend the MachineConfig that the condition names', RENDER_HINT]
      : []),
    ...[cureIn(plan?.error ?? '') ?? []].flat(),
  ];
}
