import { ignoreNotFound, type KubeClient } from '@mcm/kube';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { machineConfigs } from '../kinds/resources.ts';

/**
 * Deletes a MachineConfig. If the MachineConfig has changed since it was read, the API server responds with a conflict.
 * @throws KubeError
 */
export async function deleteConfig(client: KubeClient, { metadata }: MachineConfig): Promise<void> {
  const { name, uid, resourceVersion } = metadata;
  const preconditions = {
    uid,
    resourceVersion,
  };
  await ignoreNotFound(client.resource(machineConfigs).delete(name, { preconditions }));
}
