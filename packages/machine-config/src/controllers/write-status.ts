import type { MachineConfigPool, MachineConfigPoolStatus } from '../kinds/machine-config-pool.ts';
import { machineConfigPools } from '../kinds/resources.ts';
import type { ConfigContext } from './caches.ts';

/**
 * Writes the status of a pool. Each write has the version that the controller read as a precondition, because two
 * controllers write the status of a pool.
 */
export async function writePoolStatus(
  { client, caches }: Pick<ConfigContext, 'client' | 'caches'>,
  { metadata }: MachineConfigPool,
  status: MachineConfigPoolStatus,
): Promise<void> {
  const { name, resourceVersion } = metadata;
  const body = { metadata: { resourceVersion }, status };
  const options = { subresource: 'status' };
  caches.pools.recordWrite(await client.resource(machineConfigPools).patch(name, { type: 'merge', body }, options));
}
