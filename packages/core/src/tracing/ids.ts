import { Annotations } from '@mcm/api';
import { controllerOf, type KubeObject, traceIdOf } from '@mcm/kube';

/** The trace ID is computed from the UID of the machine, so another process continues the trace. */
export const machineTraceId = (uid: string): string => traceIdOf('machine', uid);

export const rolloutTraceId = (deploymentUid: string, revision: string): string =>
  traceIdOf('rollout', deploymentUid, revision);

/** Returns the trace ID of a Machine, or the trace ID of the rollout of a MachineDeployment or MachineSet. */
export function traceIdOfObject(object: KubeObject): string | undefined {
  const { kind, metadata } = object;
  const revision = metadata.annotations?.[Annotations.Revision] ?? '';
  if (kind === 'Machine') return machineTraceId(metadata.uid);
  if (kind === 'MachineDeployment') return rolloutTraceId(metadata.uid, revision);
  const owner = kind === 'MachineSet' ? controllerOf(object) : undefined;
  return owner && rolloutTraceId(owner.uid, revision);
}
