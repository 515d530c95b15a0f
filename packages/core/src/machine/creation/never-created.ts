import { Annotations, type Machine, TRUE_LOWER } from '@mcm/api';
import type { MachineObservation } from '../model/observation.ts';
import { act, type Plan } from '../model/plan.ts';

const isNoted = ({ metadata }: Machine): boolean => metadata.annotations?.[Annotations.NoCreateCall] === TRUE_LOWER;

/**
 * Returns true if no process ever sent a call to create the VM of the machine. The answer is known in two cases: the
 * Machine has an annotation that says so, or it was created while this process was the leader. A machine of an earlier
 * process or of the original may have a VM.
 */
export function wasNeverCreated(o: MachineObservation): boolean {
  const { machine, calls } = o;
  if (machine.spec.providerID || calls.createSent || calls.running?.kind === 'create') return false;
  return isNoted(machine) || o.inherited === false;
}

/** Returns true if the class or its Secrets are invalid, so the cloud got no request. */
export const lastCallWasNotSent = ({ calls: { last } }: MachineObservation): boolean =>
  last !== undefined && !last.outcome.ok && last.outcome.error.unsent;

/** Returns true if the cloud refused the credentials of the last call. */
export const lastCallWasRefused = ({ calls: { last } }: MachineObservation): boolean =>
  last !== undefined && !last.outcome.ok && last.outcome.error.credentialsRefused;

/**
 * Adds an annotation that the machine has no VM, if its class is invalid or has refused credentials. A later process can
 * then delete the machine without its class.
 */
export function planNote(o: MachineObservation): Plan | undefined {
  if (!(lastCallWasNotSent(o) || lastCallWasRefused(o)) || isNoted(o.machine) || !wasNeverCreated(o)) return undefined;
  const annotations = { [Annotations.NoCreateCall]: TRUE_LOWER };
  return act('no create call was sent', { do: 'annotate', annotations });
}

/** Returns true if the plan sends a call that may create a VM. */
export const isCreation = ({ actions }: Plan): boolean =>
  actions.some((action) => action.do === 'call' && action.call === 'create');

/**
 * Removes the annotation before the first call that may create a VM. After a crash between the write and the call, it is
 * unknown whether a VM exists.
 */
export function withoutNote(o: MachineObservation, plan: Plan): Plan {
  if (!isCreation(plan) || !isNoted(o.machine)) return plan;
  return act('its VM will be created next', { do: 'annotate', annotations: { [Annotations.NoCreateCall]: null } });
}
