import { Annotations, type Machine, type MachineClass } from '@mcm/api';

/**
 * The policy for a machine that still has pods after its drain timeout:
 * - `Force`: mcm deletes the pods with grace period 0, and then the VM, as the original does.
 * - `Quarantine`: mcm stops the evictions, keeps the Node cordoned, and deletes the VM when its pods have ended.
 * - `Hold`: mcm continues to evict without a time limit.
 * - `Fail`: mcm stops the evictions permanently, and the machine gets the condition `DrainFailed`.
 *
 * With `Quarantine`, `Hold` and `Fail`, a user can force the deletion with the label `force-deletion`.
 */
export type UndrainablePolicy = 'Force' | 'Quarantine' | 'Hold' | 'Fail';

const POLICIES: readonly UndrainablePolicy[] = ['Force', 'Quarantine', 'Hold', 'Fail'];

const isPolicy = (text: string): text is UndrainablePolicy => (POLICIES as readonly string[]).includes(text);

/** The undrainable policy of a machine, and the problem of an unknown policy. */
export interface PolicyChoice {
  readonly policy: UndrainablePolicy;
  readonly problem?: string;
}

/** The policy of a machine without the annotation. */
export const FORCED: PolicyChoice = { policy: 'Force' };

/**
 * Returns the undrainable policy of a machine. If the machine has no annotation, the policy of its class applies. A
 * forced drain cannot be undone, so an invalid policy counts as `Hold`.
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

export function undrainableProblem(annotations: Readonly<Record<string, string>>): string | undefined {
  const text = annotations[Annotations.UndrainablePolicy];
  if (text === undefined || isPolicy(text)) return undefined;
  const field = `metadata.annotations[${Annotations.UndrainablePolicy}]`;
  return `${field}: "${text}" is not a policy, so mcm uses Hold; write one of ${POLICIES.join(', ')}`;
}
