import { Annotations, type Machine, type MachineClass } from '@mcm/api';

/**
 * The policy for a machine with pods left after its drain timeout:
 *
 * - `Force`: the pods are deleted without grace, and the VM is deleted. This is the only way of the original.
 * - `Quarantine`: evictions end. The Node stays cordoned, and the VM is deleted when its pods have ended by themselves.
 *   The set has replaced the machine, because one that is being deleted does not count.
 * - `Hold`: evictions continue without a limit.
 *
 * With the last two, only the label `force-deletion` or the end of the pods allows the deletion of the VM. The status
 * reports it.
 */
export type UndrainablePolicy = 'Force' | 'Quarantine' | 'Hold';

const POLICIES: readonly UndrainablePolicy[] = ['Force', 'Quarantine', 'Hold'];

const isPolicy = (text: string): text is UndrainablePolicy => (POLICIES as readonly string[]).includes(text);

/** The requested policy, and the error of an annotation that names none. */
export interface PolicyChoice {
  readonly policy: UndrainablePolicy;
  readonly problem?: string;
}

/** The policy of every machine without the annotation. */
export const FORCED: PolicyChoice = { policy: 'Force' };

/**
 * The annotation of the machine, or of its class, or `Force`. An invalid one counts as `Hold`: the user wanted
 * something other than the default, and a forced drain cannot be undone.
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
