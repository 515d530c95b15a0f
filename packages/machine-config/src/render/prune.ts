import { controllerOf } from '@mcm/kube';
import { differOnlyByCertificates } from '../certificates/bundle.ts';
import { compareBytes } from '../config/order.ts';
import { KEPT_RENDERS } from '../constants/names.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';

/** The input for the search for unused rendered MachineConfigs. */
export interface PruneSnapshot {
  readonly pool: MachineConfigPool;
  readonly pools: readonly MachineConfigPool[];
  readonly machineConfigs: readonly MachineConfig[];
  readonly isOnNode: (name: string) => boolean;
  readonly keep?: number;
}

const PREFIX = 'rendered-';

/**
 * Returns the rendered MachineConfigs to delete, oldest first. A rendered MachineConfig is unused if no pool and no
 * node refers to it.
 */
export function oldRenders({
  pool,
  pools,
  machineConfigs,
  isOnNode,
  keep = KEPT_RENDERS,
}: PruneSnapshot): readonly MachineConfig[] {
  const target = machineConfigs.find(({ metadata }) => metadata.name === pool.spec?.configuration?.name);
  // Returns true for a config that differs from the target only by certificates. Without this config, its machines
  // would count as outdated.
  const isOfMachines = (one: MachineConfig): boolean =>
    (pool.spec?.updateStrategy ?? 'InPlace') !== 'InPlace' &&
    target !== undefined &&
    differOnlyByCertificates(one, target);
  const named = new Set(pools.flatMap(({ spec, status }) => [spec?.configuration?.name, status?.configuration?.name]));
  const idle = machineConfigs.filter((one) => {
    const { metadata } = one;
    const owner = controllerOf(one);
    const own = owner?.kind === 'MachineConfigPool' && owner.uid === pool.metadata.uid;
    if (!own || !metadata.name.startsWith(PREFIX) || named.has(metadata.name) || isOnNode(metadata.name)) return false;
    return !isOfMachines(one);
  });
  const oldestFirst = idle.toSorted(
    (a, b) =>
      compareBytes(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
      compareBytes(a.metadata.name, b.metadata.name),
  );
  return oldestFirst.slice(0, Math.max(oldestFirst.length - keep, 0));
}
