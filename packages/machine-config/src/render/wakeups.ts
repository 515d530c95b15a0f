import { isDeepStrictEqual } from 'node:util';
import { type Change, controllerOf } from '@mcm/kube';
import { ARBITER_POOL, WORKER_POOL } from '../constants/names.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { selects } from '../kinds/selectors.ts';
import { isCustomPool } from '../pool/membership.ts';

function poolsOf(config: MachineConfig, pools: readonly MachineConfigPool[]): readonly MachineConfigPool[] {
  const owner = controllerOf(config);
  const owning = pools.find(({ metadata }) => metadata.name === owner?.name && metadata.uid === owner.uid);
  if (owner?.kind === 'MachineConfigPool' && owning) return [owning];
  const labels = config.metadata.labels ?? {};
  if (Object.keys(labels).length === 0) return [];
  return pools.filter(({ spec }) => selects(spec?.machineConfigSelector, config));
}

/** Returns the pools that must be rendered after a change of a MachineConfig. */
export function poolsToRender(change: Change<MachineConfig>, pools: readonly MachineConfigPool[]): readonly string[] {
  const now = poolsOf(change.object, pools);
  if (change.type !== 'updated') return now.map(({ metadata }) => metadata.name);
  const { old, object } = change;
  const sameLabels = isDeepStrictEqual(old.metadata.labels ?? {}, object.metadata.labels ?? {});
  if (sameLabels && isDeepStrictEqual(old.spec ?? {}, object.spec ?? {})) return [];
  const before = sameLabels ? [] : poolsOf(old, pools);
  return [...new Set([...now, ...before].map(({ metadata }) => metadata.name))];
}

/** Returns true if a pool inherits the MachineConfigs of the workers. The pool of the arbiter does not inherit them. */
export const followsWorkers = (pool: MachineConfigPool): boolean =>
  isCustomPool(pool) && pool.metadata.name !== ARBITER_POOL;

export const isResumed = (change: Change<MachineConfigPool>): boolean =>
  change.type === 'updated' && change.old.spec?.paused === true && change.object.spec?.paused !== true;

/**
 * Returns the pools that must be rendered after a change of a pool. If the OS image of the workers changes, the
 * controller renders all custom pools, because these pools inherit the image.
 */
export function poolsToRenderWith(
  change: Change<MachineConfigPool>,
  pools: readonly MachineConfigPool[],
): readonly string[] {
  const { key, object } = change;
  const streamOf = ({ spec }: MachineConfigPool) => spec?.osImageStream?.name ?? '';
  if (key !== WORKER_POOL || change.type !== 'updated' || streamOf(change.old) === streamOf(object)) return [key];
  return [key, ...pools.filter(followsWorkers).map(({ metadata }) => metadata.name)];
}
