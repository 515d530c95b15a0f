import { Annotations, type Machine, type MachineClass } from '@mcm/api';

/**
 * What becomes of a machine whose drain timeout has passed with pods left:
 * `Force`: pods are deleted without grace and the VM goes (the original's only way);
 * `Quarantine`: evicting ends, the Node stays cordoned with what is left on it, and the VM goes when that has ended by
 * itself; the set has long replaced the machine, for one that is being deleted does not count;
 * `Hold`: evicting goes on for as long as it takes.
 * Under the last two only the label `force-deletion` or an end of the pods lets the VM go, and the status says so.
 */
export type UndrainablePolicy = 'Force' | 'Quarantine' | 'Hold';

const POLICIES: readonly UndrainablePolicy[] = ['Force', 'Quarantine', 'Hold'];

const isPolicy = (text: string): text is UndrainablePolicy => (POLICIES as readonly string[]).includes(text);

/** The policy asked for, and what is wrong with the annotation if it names none. */
export interface PolicyChoice {
  readonly policy: UndrainablePolicy;
  readonly problem?: string;
}

/** What becomes of every machine without the annotation. */
export const FORCED: PolicyChoice = { policy: 'Force' };

/**
 * The machine's annotation, else its class's, else `Force`. Rubbish counts as `Hold`: who wrote it wanted something
 * other than the default, and what was forced cannot be taken back.
 */
export function undrainablePolicyOf(machine: Machine, machineClass: MachineClass | undefined): PolicyChoice {
  const own = machine.metadata.annotations?.[Annotations.UndrainablePolicy];
  const text = own ?? machineClass?.metadata.annotations?.[Annotations.UndrainablePolicy];
  if (text === undefined) return FORCED;
  if (isPolicy(text)) return { policy: text };
  const where = own === undefined ? `MachineClass ${machineClass?.metadata.name}` : `Machine ${machine.metadata.name}`;
  const problem = `annotation ${Annotations.UndrainablePolicy} of ${where} is "${text}"; it counts as Hold until it is one of ${POLICIES.join(', ')}`;
  return { policy: 'Hold', problem };
}
