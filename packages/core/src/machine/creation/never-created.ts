import { Annotations, type Machine, TRUE_LOWER } from '@mcm/api';
import type { MachineObservation } from '../model/observation.ts';
import { act, type Plan } from '../model/plan.ts';

const isNoted = ({ metadata }: Machine): boolean => metadata.annotations?.[Annotations.NoCreateCall] === TRUE_LOWER;

/**
 * Returns true if an annotation proves that no process called `create`, or if the machine was created after this
 * process became the leader. A machine that existed before this process may have a VM.
 */
export function wasNeverCreated(o: MachineObservation): boolean {
  const { machine, calls } = o;
  if (machine.spec.providerID || calls.createSent || calls.running?.kind === 'create') return false;
  return isNoted(machine) || o.inherited === false;
}

export const lastCallWasNotSent = ({ calls: { last } }: MachineObservation): boolean =>
  last !== undefined && !last.outcome.ok && last.outcome.error.unsent;

export const lastCallWasRefused = ({ calls: { last } }: MachineObservation): boolean =>
  last !== undefined && !last.outcome.ok && last.outcome.error.credentialsRefused;

/**
 * Adds the annotation that the machine has no VM, if its class is invalid or the cloud refused the credentials. With
 * the annotation that the machine has no VM, a later process can delete the machine without its class.
 */
export function planNote(o: MachineObservation): Plan | undefined {
  if (!(lastCallWasNotSent(o) || lastCallWasRefused(o)) || isNoted(o.machine) || !wasNeverCreated(o)) return undefined;
  const annotations = { [Annotations.NoCreateCall]: TRUE_LOWER };
  return act('the driver sent no create call for the machine', { do: 'annotate', annotations });
}

export const isCreation = ({ actions }: Plan): boolean =>
  actions.some((action) => action.do === 'call' && action.call === 'create');

/**
 * Before the first `create` call, removes the annotation that the machine has no VM. If the annotation stayed, the next
 * leader would assume after a crash that the `create` call made no VM.
 */
export function withoutNote(o: MachineObservation, plan: Plan): Plan {
  if (!isCreation(plan) || !isNoted(o.machine)) return plan;
  return act('mcm creates the VM next', { do: 'annotate', annotations: { [Annotations.NoCreateCall]: null } });
}
