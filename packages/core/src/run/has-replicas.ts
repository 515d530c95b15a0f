import type { MachineDeployment, MachineSet } from '@mcm/api';
import type { KubeObject } from '@mcm/kube';

/** Returns true for a MachineDeployment or a MachineSet with replicas. A missing field `replicas` means one replica. */
export function hasReplicas(object: KubeObject): boolean {
  const { spec } = object as MachineDeployment | MachineSet;
  return (spec.replicas ?? 1) > 0;
}
