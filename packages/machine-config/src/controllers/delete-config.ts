import { ignoreNotFound, type KubeClient } from '@mcm/kube';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { machineConfigs } from '../kinds/resources.ts';

/**
 * Deletes a MachineConfig, unless it has changed since the read (conflict).
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
