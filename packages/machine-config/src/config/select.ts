import { selectorMatches } from '@mcm/api';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { checkSelector, isSelecting, SelectorError } from '../kinds/selectors.ts';
import { RenderError } from './error.ts';

/**
 * Returns true if the selector of a pool is `{}`. The controller refuses an empty selector, because it would select
 * rendered MachineConfigs.
 */
export const selectsAll = ({ spec }: MachineConfigPool): boolean =>
  Boolean(spec?.machineConfigSelector) && !isSelecting(spec?.machineConfigSelector);

/**
 * Returns the MachineConfigs that a pool selects, in their given order.
 * @throws RenderError for an invalid selector
 */
export function selectMachineConfigs(
  pool: MachineConfigPool,
  configs: readonly MachineConfig[],
): readonly MachineConfig[] {
  const selector = pool.spec?.machineConfigSelector ?? undefined;
  try {
    checkSelector(selector);
  } catch (error) {
    if (error instanceof SelectorError)
      throw new RenderError(`invalid label selector: ${error.message}`, { cause: error });
    throw error;
  }
  return configs.filter(({ metadata }) => selectorMatches(selector, metadata.labels));
}
