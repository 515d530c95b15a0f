import type { MachineDeployment } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { ConfigAnnotations, NodeAnnotations } from '../constants/annotations.ts';
import { PoolConditions } from '../constants/conditions.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { conditionOf, type WantedCondition } from '../pool/conditions.ts';
import { annotationOf, targetOf } from '../pool/predicates.ts';
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
  machineConfig: (name: string) => MachineConfig | undefined,
): StrategyVerdict {
  const { updateStrategy = 'InPlace' } = pool.spec ?? {};
  if (updateStrategy === 'Replace') return { replaces: true };
  const type = PoolConditions.RequiresReplacement;
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
  const known = conditionOf(pool.status?.conditions, type);
  return { replaces: false, ...(known && { condition: { type, status: 'False' as const } }) };
}

/** A change of a MachineDeployment's template, which makes MCM roll it out. */
export interface DeploymentWrite {
  readonly namespace: string;
  readonly name: string;
  /** Body of a merge patch. */
  readonly body: { readonly spec: object };
}

/**
 * What the deployments of a pool whose machines are replaced need: the target in their template, and the pool's pause.
 * Sets without a deployment roll nothing out: their machines get the target when somebody deletes them.
 */
export function deploymentWrites(pool: MachineConfigPool, { refs, nodes }: PoolMembers): readonly DeploymentWrite[] {
  const target = targetOf(pool);
  const key = ConfigAnnotations.TemplateConfig;
  const paused = pool.spec?.paused === true;
  return refs.flatMap(({ found }): DeploymentWrite[] => {
    const deployment = found?.deployment;
    if (!deployment) return [];
    const has = deployment.spec.template.metadata?.annotations?.[key];
    // Machines that were made before any target, and have it, need no successors.
    const due = has !== target && !paused && (has !== undefined || nodes.some((node) => !isAt(node, target)));
    const change = {
      ...(isPaused(deployment) !== paused && { paused }),
      ...(due && { template: { metadata: { annotations: { [key]: target } } } }),
    };
    const { name, namespace = '' } = deployment.metadata;
    return Object.keys(change).length === 0 ? [] : [{ namespace, name, body: { spec: change } }];
  });
}

const isPaused = ({ spec }: MachineDeployment): boolean => spec.paused === true;
const isAt = (node: Node, target: string): boolean => annotationOf(node, NodeAnnotations.CurrentConfig) === target;
