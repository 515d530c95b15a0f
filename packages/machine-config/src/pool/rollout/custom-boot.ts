import type { LabelSelector } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { annotationOf } from '../../conditions/predicates.ts';
import { NodeAnnotations } from '../../constants/annotations.ts';
import { MASTER_POOL, WORKER_POOL } from '../../constants/names.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';

/** Returns the labels that a selector requires. */
export function labelsOfSelector(selector: LabelSelector | undefined): Readonly<Record<string, string>> {
  const expressed = (selector?.matchExpressions ?? []).flatMap(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return [[key, '']] as const;
    return operator === 'In' && values.length === 1 ? [[key, values[0] ?? ''] as const] : [];
  });
  return { ...Object.fromEntries(expressed), ...selector?.matchLabels };
}

/**
 * Returns the missing labels of a node that booted with the config of a custom pool, but was registered as a worker.
 * Returns undefined if the selector of the pool determines no labels; the original then never updates the node.
 */
export function labelsOfBootPool(
  node: Node,
  pools: readonly MachineConfigPool[],
  machineConfig: (name: string) => MachineConfig | undefined,
): Readonly<Record<string, string>> | undefined {
  const booted = annotationOf(node, NodeAnnotations.FirstPivotConfig);
  const applied = node.metadata.annotations?.[NodeAnnotations.CustomPoolLabelsApplied] !== undefined;
  if (booted === '' || applied) return undefined;
  const owner = machineConfig(booted)?.metadata.ownerReferences?.[0];
  if (owner?.kind !== 'MachineConfigPool' || owner.name === MASTER_POOL || owner.name === WORKER_POOL) return undefined;
  const pool = pools.find(({ metadata }) => metadata.name === owner.name);
  const labels = labelsOfSelector(pool?.spec?.nodeSelector);
  return Object.keys(labels).length === 0 ? undefined : labels;
}
