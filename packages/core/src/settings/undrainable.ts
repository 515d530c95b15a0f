import { Annotations, type Machine, type MachineClass } from '@mcm/api';

/**
 * The policy for a machine that still has pods after its drain timeout:
 * - `Force`: mcm deletes the pods with grace period 0, and then the VM. The original always forces the drain.
 * - `Quarantine`: mcm stops the evictions, and deletes the VM when its pods have ended by themselves. The Node stays
 *   cordoned. The MachineSet replaces the machine, because a machine that is being deleted does not count.
 * - `Hold`: mcm continues to evict without a time limit.
 * - `Fail`: mcm stops the evictions permanently, and the machine gets the condition `DrainFailed`.
 *
 * With `Quarantine`, `Hold` and `Fail`, mcm deletes the VM only when the pods have ended, or after a user added the
 * label `force-deletion`.
 */
export type UndrainablePolicy = 'Force' | 'Quarantine' | 'Hold' | 'Fail';

const POLICIES: readonly UndrainablePolicy[] = ['Force', 'Quarantine', 'Hold', 'Fail'];

const isPolicy = (text: string): text is UndrainablePolicy => (POLICIES as readonly string[]).includes(text);

/** The undrainable policy of a machine. If the annotation contains an unknown policy, `problem` describes the error. */
export interface PolicyChoice {
  readonly policy: UndrainablePolicy;
  readonly problem?: string;
}

/** The policy of a machine without the annotation. */
export const FORCED: PolicyChoice = { policy: 'Force' };

/**
 * Returns the undrainable policy of a machine. The annotation of the machine takes precedence over the annotation of
 * its class. An invalid value counts as `Hold`, because a forced drain cannot be undone.
 */
export function undrainablePolicyOf(machine: Machine, machineClass: MachineClass | undefined): PolicyChoice {
  const own = machine.metadata.annotations?.[Annotations.UndrainablePolicy];
  const text = own ?? machineClass?.metadata.annotations?.[Annotations.UndrainablePolicy];
  if (text === undefined) return FORCED;
  if (isPolicy(text)) return { policy: text };
  const owner = own === undefined ? `MachineClass ${machineClass?.metadata.name}` : `Machine ${machine.metadata.name}`;
  const problem = `annotation ${Annotations.UndrainablePolicy} of ${owner} is "${text}", so mcm uses Hold; write one of ${POLICIES.join(', ')}`;
  return { policy: 'Hold', problem };
}

/** Returns the problem of the undrainable policy, or undefined if the policy is valid or absent. */
export function undrainableProblem(annotations: Readonly<Record<string, string>>): string | undefined {
  const text = annotations[Annotations.UndrainablePolicy];
  if (text === undefined || isPolicy(text)) return undefined;
  const field = `metadata.annotations[${Annotations.UndrainablePolicy}]`;
  return `${field}: "${text}" is not a policy, so mcm uses Hold; write one of ${POLICIES.join(', ')}`;
}
