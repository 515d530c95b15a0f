import { Annotations, type Machine, TRUE_LOWER } from '@mcm/api';
import type { MachineObservation } from '../model/observation.ts';
import { act, type Plan } from '../model/plan.ts';

const isNoted = ({ metadata }: Machine): boolean => metadata.annotations?.[Annotations.NoCreateCall] === TRUE_LOWER;

/**
 * Whether it is known that no call to make the machine's VM was ever sent. The machine says so, or it came while this
 * process leads and this process sent none. A machine of an earlier process, or of the original, may have a VM.
 */
export function wasNeverMade(o: MachineObservation): boolean {
  const { machine, calls } = o;
  if (machine.spec.providerID || calls.createSent || calls.running?.kind === 'create') return false;
  return isNoted(machine) || o.inherited === false;
}

/** Class or Secrets were refused before the cloud was asked. */
export const refusedUnsent = ({ calls: { last } }: MachineObservation): boolean =>
  last !== undefined && !last.outcome.ok && last.outcome.error.unsent;

/** Notes on a machine whose class is refused that it has no VM, so that a later process can delete it without its class. */
export function planNote(o: MachineObservation): Plan | undefined {
  if (!refusedUnsent(o) || isNoted(o.machine) || !wasNeverMade(o)) return undefined;
  const annotations = { [Annotations.NoCreateCall]: TRUE_LOWER };
  return act('no call to make its VM was sent', { do: 'annotate', annotations });
}

/** Whether the plan sends the call that may make a VM. */
export const isCreation = ({ actions }: Plan): boolean =>
  actions.some((action) => action.do === 'call' && action.call === 'create');

/** The note goes before the first call that may make a VM: after a crash in between, nobody knows. */
export function withoutNote(o: MachineObservation, plan: Plan): Plan {
  if (!isCreation(plan) || !isNoted(o.machine)) return plan;
  return act('its VM is about to be made', { do: 'annotate', annotations: { [Annotations.NoCreateCall]: null } });
}
