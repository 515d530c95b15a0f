import { Annotations, type Machine, type MachineClass } from '@mcm/api';

/**
 * The policy for a machine that still has pods after its drain timeout:
 *
 * - `Force`: mcm deletes the pods with grace period 0, then the VM. The original always does this.
 * - `Quarantine`: mcm stops evicting. The Node stays cordoned, and the VM is deleted when its pods have ended by
 *   themselves. The set replaces the machine, because a machine that is being deleted does not count.
 * - `Hold`: mcm continues to evict without a time limit.
 *
 * With `Quarantine` and `Hold`, mcm deletes the VM only when the pods have ended, or after a user added the label
 * `force-deletion`. The status reports the policy.
 */
export type UndrainablePolicy = 'Force' | 'Quarantine' | 'Hold';

const POLICIES: readonly UndrainablePolicy[] = ['Force', 'Quarantine', 'Hold'];

const isPolicy = (text: string): text is UndrainablePolicy => (POLICIES as readonly string[]).includes(text);

/** The requested policy. If the annotation contains an unknown policy, also its error. */
export interface PolicyChoice {
  readonly policy: UndrainablePolicy;
  readonly problem?: string;
}

/** The policy of a machine without the annotation. */
export const FORCED: PolicyChoice = { policy: 'Force' };

/**
 * Returns the policy from the annotation of the machine, else of its class, else `Force`. An invalid value counts as
 * `Hold`. The user wanted another policy than the default, and a forced drain cannot be undone.
 */
export function undrainablePolicyOf(machine: Machine, machineClass: MachineClass | undefined): PolicyChoice {
  const own = machine.metadata.annotations?.[Annotations.UndrainablePolicy];
  const text = own ?? machineClass?.metadata.annotations?.[Annotations.UndrainablePolicy];
  if (text === undefined) return FORCED;
  if (isPolicy(text)) return { policy: text };
  const where = own === undefined ? `MachineClass ${machineClass?.metadata.name}` : `Machine ${machine.metadata.name}`;
  const problem = `annotation ${Annotations.UndrainablePolicy} of ${where} is "${text}"; mcm uses Hold until it is one of ${POLICIES.join(', ')}`;
  return { policy: 'Hold', problem };
}

/** Returns the error in the annotation of an object: the field and the fix. Undefined if the value is valid or absent. */
export function undrainableProblem(annotations: Readonly<Record<string, string>>): string | undefined {
  const text = annotations[Annotations.UndrainablePolicy];
  if (text === undefined || isPolicy(text)) return undefined;
  const field = `metadata.annotations[${Annotations.UndrainablePolicy}]`;
  return `${field}: "${text}" is not a policy, so mcm uses Hold; write one of ${POLICIES.join(', ')}`;
}
