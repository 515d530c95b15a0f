import type { MachineDeployment } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { differOnlyByCertificates } from '../certificates/bundle.ts';
import { ConfigAnnotations, NodeAnnotations } from '../constants/annotations.ts';
import { PoolConditions } from '../constants/conditions.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { conditionOf, type WantedCondition } from '../pool/conditions.ts';
import { annotationOf, awaitsConfig, targetOf } from '../pool/predicates.ts';
import { irreconcilable } from '../render/reconcile.ts';
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
  }
  return { replaces: false, ...ended };
}

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
  /** Body of a merge patch. */
  readonly body: { readonly metadata?: object; readonly spec?: object };
}

/**
 * What the deployments of a pool whose machines are replaced need: the target in their template, and the pool's pause.
 * Sets without a deployment roll nothing out: their machines get the target when somebody deletes them.
 */
export function deploymentWrites(
  pool: MachineConfigPool,
  { refs, nodes }: PoolMembers,
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
    const { name, namespace = '' } = deployment.metadata;
    if (Object.keys(spec).length === 0 && !pause) return [];
    return [{ namespace, name, body: { ...pause, spec } }];
  });
}

/**
 * Whether MCM rolls the deployment out by updates in place: nothing on the node would bring it the target then, as a pool
 * is brought to it by one orchestrator, ours.
 */
export const keepsMachines = ({ spec }: MachineDeployment): boolean => spec.strategy?.type === 'InPlaceUpdate';

/** Deployments that a pool paused and does not replace machines of any more: their pause was its own, and ends. */
export const releaseWrites = (pool: string, deployments: readonly MachineDeployment[]): readonly DeploymentWrite[] =>
  deployments.flatMap((deployment) => {
    const body = pauseOf(pool, false, deployment);
    const { name, namespace = '' } = deployment.metadata;
    return body ? [{ namespace, name, body }] : [];
  });

/** The pool that paused a deployment; '' if none did. */
export const pausedBy = ({ metadata }: Pick<MachineDeployment, 'metadata'>): string =>
  metadata.annotations?.[ConfigAnnotations.PausedByPool] ?? '';

/** What a user paused, a pool does not go on with: the mark says whose pause it is. */
function pauseOf(pool: string, paused: boolean, deployment: MachineDeployment): DeploymentWrite['body'] | undefined {
  const mark = (value: string | null) => ({ metadata: { annotations: { [ConfigAnnotations.PausedByPool]: value } } });
  const is = deployment.spec.paused === true;
  const ours = pausedBy(deployment) === pool;
  if (paused) return is ? undefined : { ...mark(pool), spec: { paused: true } };
  if (!ours) return undefined;
  return { ...mark(null), ...(is && { spec: { paused: false } }) };
}

/** A node that has no config yet is on its way to its first one, unless it was there before the pool. */
const isAt = (node: Node, target: string): boolean => {
  const current = annotationOf(node, NodeAnnotations.CurrentConfig);
  return current === '' ? !awaitsConfig(node) : current === target;
};
