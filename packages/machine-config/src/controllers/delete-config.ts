import { ignoreNotFound, type KubeClient } from '@mcm/kube';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { machineConfigs } from '../kinds/resources.ts';

/**
 * Deletes a MachineConfig. The API server responds with a conflict if the MachineConfig has changed since the
 * controller read it.
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
