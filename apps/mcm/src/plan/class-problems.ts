import { Annotations, type MachineClass } from '@mcm/api';
import { providerSpecProblem, type ReadProviderSpec } from '@mcm/core';
import type { KubeObject } from '@mcm/kube';

interface Reader {
  readonly readSpec: ReadProviderSpec;
  readonly readAlternatives: (machineClass: MachineClass, text: string | undefined) => readonly string[];
}

const READERS: Readonly<Record<string, () => Promise<Reader>>> = {
  aws: () => import('@mcm/provider-aws/class'),
  azure: () => import('@mcm/provider-azure/class'),
  gcp: () => import('@mcm/provider-gcp/class'),
  local: () => import('@mcm/provider-local/class'),
};

/**
 * Returns the reason why a class is invalid, with the text of its event `InvalidClass`. `classProblem` reads no Secret.
 */
export async function classProblem(machineClass: MachineClass): Promise<string | undefined> {
  const reader = READERS[machineClass.provider?.toLowerCase() ?? ''];
  return reader && providerSpecProblem((await reader()).readSpec, machineClass);
}

/** Returns the problems of a class's capacity alternatives, one sentence for each problem. */
export async function alternativesProblems(
  { metadata }: Pick<KubeObject, 'metadata'>,
  machineClass: MachineClass,
): Promise<readonly string[]> {
  const text = metadata.annotations?.[Annotations.CapacityAlternatives];
  const reader = READERS[machineClass.provider?.toLowerCase() ?? ''];
  if (text === undefined || !reader || (await classProblem(machineClass)) !== undefined) return [];
  return (await reader()).readAlternatives(machineClass, text);
}
