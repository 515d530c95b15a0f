import { type Machine, type MachineDeployment, TRUE_LOWER } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { withoutUndefined } from '@mcm/kube';
import { differOnlyByCertificates } from '../certificates/bundle.ts';
import { conditionOf, type WantedCondition } from '../conditions/conditions.ts';
import { annotationOf, awaitsConfig, isDone, isTargeted, targetOf } from '../conditions/predicates.ts';
import { byName } from '../config/order.ts';
import { irreconcilable } from '../config/reconcile.ts';
import { ConfigAnnotations, NodeAnnotations } from '../constants/annotations.ts';
import { PoolConditions } from '../constants/conditions.ts';
import { DaemonStates } from '../constants/states.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { awaitedBy, pausedBy } from './holds.ts';
import type { PoolMembers } from './members.ts';

/** The way in which the running machines of a pool get a new target. */
export interface StrategyVerdict {
  /** True if new machines replace the nodes, so that the old nodes get no target. */
  readonly replaces: boolean;
  readonly condition?: WantedCondition;
}

/**
 * Decides whether new machines replace the nodes of a pool. With `Replace`, new machines always replace the nodes. With
 * `InPlaceElseReplace`, new machines replace the nodes if a node cannot apply the target.
 */
export function evaluateStrategy(
  pool: MachineConfigPool,
  nodes: readonly Node[],
  machineConfig: FindConfig,
): StrategyVerdict {
  const { updateStrategy = 'InPlace' } = pool.spec ?? {};
  const type = PoolConditions.RequiresReplacement;
  const known = conditionOf(pool.status?.conditions, type);
  const ended = known && { condition: { type, status: 'False' as const } };
  if (updateStrategy === 'Replace') {
    if (!pool.spec?.paused && onlyCertificatesWait(nodes, targetOf(pool), machineConfig)) {
      return { replaces: false, ...ended };
    }
    const message = `updateStrategy is Replace, so mcm replaces the machines that do not have config ${targetOf(pool)}`;
    const due = nodes.some((node) => !isAt(node, targetOf(pool)));
    return { replaces: true, ...(due ? { condition: { type, status: 'True', reason: 'Replace', message } } : ended) };
  }
  if (updateStrategy === 'InPlaceElseReplace') {
    const target = machineConfig(targetOf(pool));
    for (const name of new Set(nodes.map((node) => annotationOf(node, NodeAnnotations.CurrentConfig)))) {
      const current = name === targetOf(pool) ? undefined : machineConfig(name);
      const refusal = current && target && irreconcilable(current, target);
      if (!refusal) continue;
      const message = `an in-place update from ${name} to ${targetOf(pool)} is not possible, so mcm replaces machines: ${refusal.message}`;
      return { replaces: true, condition: { type, status: 'True', reason: 'Irreconcilable', message } };
    }
    const [refused] = byName(nodes.filter((node) => isRefused(node, pool)));
    if (refused) {
      const reason = annotationOf(refused, NodeAnnotations.Reason);
      const message = `an in-place update of node ${refused.metadata.name} to ${targetOf(pool)} is not possible, so mcm replaces machines: ${reason}`;
      return { replaces: true, condition: { type, status: 'True', reason: 'Irreconcilable', message } };
    }
  }
  return { replaces: false, ...ended };
}

/**
 * Returns true if the daemon refused the target. The controller cannot decide this, because only the daemon can check
 * the limits of its host.
 */
const isRefused = (node: Node, pool: MachineConfigPool): boolean =>
  isTargeted(node, pool) && annotationOf(node, NodeAnnotations.State) === DaemonStates.Unreconcilable;

/** Returns true if nodes without the target differ from the target only by certificates. */
function onlyCertificatesWait(nodes: readonly Node[], target: string, machineConfig: FindConfig): boolean {
  const waiting = nodes.filter((node) => !isAt(node, target));
  const names = new Set(waiting.map((node) => annotationOf(node, NodeAnnotations.CurrentConfig)));
  return waiting.length > 0 && [...names].every((name) => isSameButCertificates(name, target, machineConfig));
}

type FindConfig = (name: string) => MachineConfig | undefined;

function isSameButCertificates(name: string, target: string, machineConfig: FindConfig): boolean {
  if (name === target) return true;
  const [old, wanted] = [machineConfig(name), machineConfig(target)];
  return old !== undefined && wanted !== undefined && differOnlyByCertificates(old, wanted);
}

/** A write to a MachineDeployment. */
export interface DeploymentWrite {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly body: { readonly metadata?: object; readonly spec?: object | undefined };
}

/**
 * Returns the writes to the deployments of a pool whose machines are replaced.
 * @param closed true if windows or freezes of the pool forbid the start of a rollout
 */
export function deploymentWrites(
  pool: MachineConfigPool,
  { refs, nodes, machineOf }: PoolMembers,
  machineConfig: FindConfig,
  closed: boolean,
): readonly DeploymentWrite[] {
  const target = targetOf(pool);
  const { TemplateConfig, TemplateSince } = ConfigAnnotations;
  const required = conditionOf(pool.status?.conditions, PoolConditions.RequiresReplacement);
  const since = required?.status === 'True' ? required.lastTransitionTime : undefined;
  const paused = pool.spec?.paused === true;
  return refs.flatMap(({ found }): DeploymentWrite[] => {
    const deployment = found?.deployment;
    if (!deployment) return [];
    const { [TemplateConfig]: has, [TemplateSince]: done } = deployment.spec.template.metadata?.annotations ?? {};
    const others = nodes.some((node) => !isAt(node, target));
    // If the template already contains the target, new machines have the content of the target and need no replacement.
    // If such machines were changed in place later, the template gets a new time, so that a rollout replaces them.
    const same = has !== undefined && isSameButCertificates(has, target, machineConfig);
    const other = same ? others && since !== undefined && since !== done : has !== undefined || others;
    const due = !paused && !closed && other && !keepsMachines(deployment);
    const annotations = { [TemplateConfig]: target, [TemplateSince]: since };
    const pause = pauseOf(pool.metadata.name, paused, deployment);
    const spec = { ...pause?.spec, ...withoutUndefined({ template: due ? { metadata: { annotations } } : undefined }) };
    const marks = { ...pause?.marks, ...awaitMark(pool.metadata.name, deployment, nodes, machineOf) };
    return writeOf(deployment, marks, spec);
  });
}

function writeOf(
  { metadata: { name, namespace = '', uid, resourceVersion } }: MachineDeployment,
  marks: Marks,
  spec: object,
) {
  const isMarked = Object.keys(marks).length > 0;
  const isSpecified = Object.keys(spec).length > 0;
  if (!isMarked && !isSpecified) return [];
  const metadata = isMarked ? { metadata: { annotations: marks } } : {};
  return [{ namespace, name, uid, resourceVersion, body: { ...metadata, spec: isSpecified ? spec : undefined } }];
}

/** The annotations to change; the value null removes an annotation. */
type Marks = Readonly<Record<string, string | null>>;

/**
 * Adds an annotation to a deployment, so that its rollout waits until new machines have applied their configuration.
 */
function awaitMark(
  pool: string,
  deployment: MachineDeployment,
  nodes: readonly Node[],
  machineOf: PoolMembers['machineOf'],
): Marks {
  if (awaitedBy(deployment) === pool) return {};
  const isUnmarked = (node: Node): boolean => {
    const machine = machineOf.get(node.metadata.name);
    return machine !== undefined && isDone(node) && !hasApplied(machine);
  };
  return nodes.some(isUnmarked) ? {} : { [ConfigAnnotations.AwaitedByPool]: pool };
}

/** Returns true if the machine was created without a configuration, or if its node has applied a configuration. */
export const hasApplied = ({ metadata: { annotations = {} } }: Machine): boolean =>
  annotations[ConfigAnnotations.TemplateConfig] === undefined ||
  annotations[ConfigAnnotations.ConfigApplied] === TRUE_LOWER;

/**
 * Returns true if a rollout of the deployment updates its machines in place. A new template then does not change the
 * config of these machines.
 */
export const keepsMachines = ({ spec }: MachineDeployment): boolean => spec.strategy?.type === 'InPlaceUpdate';

/** Removes the pauses and annotations of a pool that no longer replaces machines of the deployments. */
export const releaseWrites = (
  pool: string,
  deployments: readonly MachineDeployment[],
  still: { readonly referred: ReadonlySet<string>; readonly replaces: boolean },
): readonly DeploymentWrite[] =>
  deployments.flatMap((deployment) => {
    const isReferred = still.referred.has(deployment.metadata.uid);
    const pause = isReferred && still.replaces ? undefined : pauseOf(pool, false, deployment);
    const isAwaited = awaitedBy(deployment) === pool && !isReferred;
    const marks = {
      ...pause?.marks,
      ...withoutUndefined({ [ConfigAnnotations.AwaitedByPool]: isAwaited ? null : undefined }),
    };
    return writeOf(deployment, marks, { ...pause?.spec });
  });

/** Removes the pause that the given pool set. A pause of another pool or of a user stays. */
function pauseOf(
  pool: string,
  paused: boolean,
  deployment: MachineDeployment,
): { readonly marks: Marks; readonly spec?: { readonly paused: boolean } | undefined } | undefined {
  const mark = (value: string | null) => ({ [ConfigAnnotations.PausedByPool]: value });
  const is = deployment.spec.paused === true;
  const ours = pausedBy(deployment) === pool;
  if (paused) return is ? undefined : { marks: mark(pool), spec: { paused: true } };
  if (!ours) return undefined;
  return { marks: mark(null), spec: is ? { paused: false } : undefined };
}

/** Returns true if the current config of the node is the target, or if the node waits for its first config. */
const isAt = (node: Node, target: string): boolean => {
  const current = annotationOf(node, NodeAnnotations.CurrentConfig);
  return current === '' ? !awaitsConfig(node) : current === target;
};
