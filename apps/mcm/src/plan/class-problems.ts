import type { MachineClass } from '@mcm/api';
import { providerSpecProblem, type ReadProviderSpec } from '@mcm/core';

/** The parsers of provider specs by provider, in lower case. Each parser is loaded at its first use. */
const READERS: Readonly<Record<string, () => Promise<{ readonly readSpec: ReadProviderSpec }>>> = {
  aws: () => import('@mcm/provider-aws/class'),
  azure: () => import('@mcm/provider-azure/class'),
  gcp: () => import('@mcm/provider-gcp/class'),
  local: () => import('@mcm/provider-local/class'),
};

/**
 * The reason why a class is invalid, with the text of its event `InvalidClass`. Undefined if its provider spec is valid, or
 * if its provider is not part of this project. Reads no Secret.
 */
export async function classProblem(machineClass: MachineClass): Promise<string | undefined> {
  const reader = READERS[machineClass.provider?.toLowerCase() ?? ''];
  return reader && providerSpecProblem((await reader()).readSpec, machineClass);
}
