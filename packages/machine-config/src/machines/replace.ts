import { type Machine, type MachineDeployment, TRUE_LOWER } from '@mcm/api';
import type { Node } from '@mcm/kube';
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
import type { PoolMembers } from './members.ts';

/** How a pool's running machines get to its target. */
export interface StrategyVerdict {
  /** Nodes are not told: new machines come in their place. */
  readonly replaces: boolean;
  /** Absent: nothing to say about it. */
  readonly condition?: WantedCondition;
}

/**
 * Judges how a target is brought to a pool: `Replace` always by new machines, `InPlaceElseReplace` if what a node has
 * cannot be brought to it.
 * @param machineConfig finds a rendered MachineConfig
 */
export function judgeStrategy(
  pool: MachineConfigPool,
  nodes: readonly Node[],
  machineConfig: FindConfig,
): StrategyVerdict {
  const { updateStrategy = 'InPlace' } = pool.spec ?? {};
  const type = PoolConditions.RequiresReplacement;
  const known = conditionOf(pool.status?.conditions, type);
  const ended = known && { condition: { type, status: 'False' as const } };
  if (updateStrategy === 'Replace') {
    // Certificates come to running machines: a rotation replaces none.
    if (!pool.spec?.paused && onlyCertificatesWait(nodes, targetOf(pool), machineConfig)) {
      return { replaces: false, ...ended };
    }
    const message = `machines with another config than ${targetOf(pool)} are replaced, as updateStrategy says`;
    const due = nodes.some((node) => !isAt(node, targetOf(pool)));
    return { replaces: true, ...(due ? { condition: { type, status: 'True', reason: 'Replace', message } } : ended) };
  }
  if (updateStrategy === 'InPlaceElseReplace') {
    const target = machineConfig(targetOf(pool));
    for (const name of new Set(nodes.map((node) => annotationOf(node, NodeAnnotations.CurrentConfig)))) {
      const current = name === targetOf(pool) ? undefined : machineConfig(name);
      const refusal = current && target && irreconcilable(current, target);
      if (!refusal) continue;
      const message = `machines with ${name} cannot be brought to ${targetOf(pool)} in place and are replaced: ${refusal.message}`;
      return { replaces: true, condition: { type, status: 'True', reason: 'Irreconcilable', message } };
    }
    const [refused] = byName(nodes.filter((node) => isRefused(node, pool)));
    if (refused) {
      const reason = annotationOf(refused, NodeAnnotations.Reason);
      const message = `node ${refused.metadata.name} cannot be brought to ${targetOf(pool)} in place, machines are replaced: ${reason}`;
      return { replaces: true, condition: { type, status: 'True', reason: 'Irreconcilable', message } };
    }
  }
  return { replaces: false, ...ended };
}

/**
 * Whether the daemon of a node refuses the target. It knows what the disk has, also when that MachineConfig is gone, and
 * what the host does not support.
 */
const isRefused = (node: Node, pool: MachineConfigPool): boolean =>
  isTargeted(node, pool) && annotationOf(node, NodeAnnotations.State) === DaemonStates.Unreconcilable;

/** Whether there are nodes with another config than the target, and all of them lack nothing but certificates. */
function onlyCertificatesWait(nodes: readonly Node[], target: string, machineConfig: FindConfig): boolean {
  const waiting = nodes.filter((node) => !isAt(node, target));
  const names = new Set(waiting.map((node) => annotationOf(node, NodeAnnotations.CurrentConfig)));
  return waiting.length > 0 && [...names].every((name) => isSameButCertificates(name, target, machineConfig));
}

/** Finds a rendered MachineConfig. */
type FindConfig = (name: string) => MachineConfig | undefined;

function isSameButCertificates(name: string, target: string, machineConfig: FindConfig): boolean {
  if (name === target) return true;
  const [old, wanted] = [machineConfig(name), machineConfig(target)];
  return old !== undefined && wanted !== undefined && differOnlyByCertificates(old, wanted);
}

/** A change of a MachineDeployment: of its template, which makes MCM roll it out, or of its pause. */
export interface DeploymentWrite {
  readonly namespace: string;
  readonly name: string;
  /** Of the deployment that the write was decided on. */
  readonly uid: string;
  readonly resourceVersion: string;
  /** Body of a merge patch. */
  readonly body: { readonly metadata?: object; readonly spec?: object };
}

/**
 * What the deployments of a pool whose machines are replaced need: the target in their template, and the pool's pause.
 * Sets without a deployment roll nothing out: their machines get the target when somebody deletes them.
 */
export function deploymentWrites(
  pool: MachineConfigPool,
  { refs, nodes, machineOf }: PoolMembers,
  machineConfig: FindConfig,
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
    // Machines that were made before any target, and have it, need no successors. Those that were brought elsewhere in
    // place since they were made for this target do: the time at which that was found is another one then.
    const same = has !== undefined && isSameButCertificates(has, target, machineConfig);
    const other = same ? others && since !== undefined && since !== done : has !== undefined || others;
    const due = !paused && other && !keepsMachines(deployment);
    const annotations = { [TemplateConfig]: target, ...(since !== undefined && { [TemplateSince]: since }) };
    const pause = pauseOf(pool.metadata.name, paused, deployment);
    const spec = { ...pause?.spec, ...(due && { template: { metadata: { annotations } } }) };
    const marks = { ...pause?.marks, ...awaitMark(pool.metadata.name, deployment, nodes, machineOf) };
    return writeOf(deployment, marks, spec);
  });
}

/** A write, unless it changes nothing. */
function writeOf(
  { metadata: { name, namespace = '', uid, resourceVersion } }: MachineDeployment,
  marks: Marks,
  spec: object,
) {
  const isMarked = Object.keys(marks).length > 0;
  const isSpecified = Object.keys(spec).length > 0;
  if (!isMarked && !isSpecified) return [];
  const metadata = isMarked ? { metadata: { annotations: marks } } : {};
  return [{ namespace, name, uid, resourceVersion, body: { ...metadata, ...(isSpecified && { spec }) } }];
}

/** Annotations; null removes. */
type Marks = Readonly<Record<string, string | null>>;

/**
 * The mark that makes the rollout wait until new machines have applied their configuration. Machines that have applied
 * one are marked first: the rollout would take them for machines that serve nobody.
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

/** Whether a machine was made for no configuration, or its node has applied one. */
export const hasApplied = ({ metadata: { annotations = {} } }: Machine): boolean =>
  annotations[ConfigAnnotations.TemplateConfig] === undefined ||
  annotations[ConfigAnnotations.ConfigApplied] === TRUE_LOWER;

/** The pool whose configuration the rollouts of a deployment await; '' if there is none. */
export const awaitedBy = ({ metadata }: Pick<MachineDeployment, 'metadata'>): string =>
  metadata.annotations?.[ConfigAnnotations.AwaitedByPool] ?? '';

/**
 * Whether MCM rolls the deployment out by updates in place: nothing on the node would bring it the target then, as a pool
 * is brought to it by one orchestrator, ours.
 */
export const keepsMachines = ({ spec }: MachineDeployment): boolean => spec.strategy?.type === 'InPlaceUpdate';

/**
 * Ends what a pool did to deployments: its pause where it replaces no machine, and its mark where it does not refer to
 * the deployment any more.
 * @param still uids of deployments that the pool refers to
 */
export const releaseWrites = (
  pool: string,
  deployments: readonly MachineDeployment[],
  still: { readonly referred: ReadonlySet<string>; readonly replaces: boolean },
): readonly DeploymentWrite[] =>
  deployments.flatMap((deployment) => {
    const isReferred = still.referred.has(deployment.metadata.uid);
    const pause = isReferred && still.replaces ? undefined : pauseOf(pool, false, deployment);
    const isAwaited = awaitedBy(deployment) === pool && !isReferred;
    const marks = { ...pause?.marks, ...(isAwaited && { [ConfigAnnotations.AwaitedByPool]: null }) };
    return writeOf(deployment, marks, { ...pause?.spec });
  });

/** The pool that paused a deployment; '' if none did. */
export const pausedBy = ({ metadata }: Pick<MachineDeployment, 'metadata'>): string =>
  metadata.annotations?.[ConfigAnnotations.PausedByPool] ?? '';

/** A pool ends only its own pause: the mark says which pool it was. */
function pauseOf(
  pool: string,
  paused: boolean,
  deployment: MachineDeployment,
): { readonly marks: Marks; readonly spec?: { readonly paused: boolean } } | undefined {
  const mark = (value: string | null) => ({ [ConfigAnnotations.PausedByPool]: value });
  const is = deployment.spec.paused === true;
  const ours = pausedBy(deployment) === pool;
  if (paused) return is ? undefined : { marks: mark(pool), spec: { paused: true } };
  if (!ours) return undefined;
  return { marks: mark(null), ...(is && { spec: { paused: false } }) };
}

/** A node that has no config yet is on its way to its first one, unless it was there before the pool. */
const isAt = (node: Node, target: string): boolean => {
  const current = annotationOf(node, NodeAnnotations.CurrentConfig);
  return current === '' ? !awaitsConfig(node) : current === target;
};
