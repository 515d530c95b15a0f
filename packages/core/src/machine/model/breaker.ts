import { breakerMessage, overridesBreaker } from '../../disruption/override.ts';
import type { OpenBreaker } from '../../disruption/unreachable.ts';
import { healthDeadline } from '../../values/timestamps.ts';
import type { MachineObservation } from './observation.ts';
import type { Action } from './plan.ts';

export const isHeld = (o: MachineObservation, now: Date): boolean =>
  o.breaker !== undefined && !overridesBreaker(o.machine, o.machineClass, now);

export const heldBecause = ({ scope, unreachable, joined, counted = 'machines' }: OpenBreaker): string =>
  `${unreachable} of ${joined} ${counted} of the ${scope} became unreachable at the same time, so mcm replaces no unreachable machine`;

const isDue = ({ machine, settings, deletedForHealth }: MachineObservation, now: Date): boolean => {
  const current = machine.status?.currentStatus;
  if (deletedForHealth) return true;
  if (current?.phase !== 'Unknown' || settings.healthTimeoutDisabled) return false;
  return now > healthDeadline(machine, settings);
};

export const awaitsBreaker = (o: MachineObservation, now: Date): boolean => isHeld(o, now) && isDue(o, now);

/** Reports a machine that mcm does not replace because of an open circuit breaker. */
export function reportHeld(o: MachineObservation, now: Date): Action | undefined {
  const held = awaitsBreaker(o, now);
  if (held === (o.held === true)) return undefined;
  if (held && o.breaker) {
    const said = o.cloudSays === undefined ? '' : `${o.cloudSays} `;
    const message = `${said}${breakerMessage(o.breaker, o.settings.breaker.thresholdPercent)}`;
    return { do: 'reportHeld', held, event: { type: 'Warning', reason: 'ReplacementHeld', message } };
  }
  const message = o.breaker
    ? 'An annotation overrides the circuit breaker: mcm can replace the machine'
    : 'mcm can replace the machine again: the circuit breaker closed, or the machine recovered';
  return { do: 'reportHeld', held, event: { type: 'Normal', reason: 'ReplacementResumed', message } };
}
