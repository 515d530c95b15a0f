import { Annotations } from '@mcm/api';
import { controllerOf, type KubeObject, traceIdOf } from '@mcm/kube';

/** The ID of the trace of a machine is derived from its UID, so the next process or leader continues the same trace. */
export const machineTraceId = (uid: string): string => traceIdOf('machine', uid);

export const rolloutTraceId = (deploymentUid: string, revision: string): string =>
  traceIdOf('rollout', deploymentUid, revision);

/** Returns the trace of a Machine, or of the rollout of a MachineDeployment or MachineSet. Other objects have no trace. */
export function traceIdOfObject(object: KubeObject): string | undefined {
  const { kind, metadata } = object;
  const revision = metadata.annotations?.[Annotations.Revision] ?? '';
  if (kind === 'Machine') return machineTraceId(metadata.uid);
  if (kind === 'MachineDeployment') return rolloutTraceId(metadata.uid, revision);
  const owner = kind === 'MachineSet' ? controllerOf(object) : undefined;
  return owner && rolloutTraceId(owner.uid, revision);
}
