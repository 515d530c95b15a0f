import { Annotations, type Machine, type MachineClass, parseTime } from '@mcm/api';
import type { OpenBreaker } from './silence.ts';

/** Until when an operator has said, on the machine or its class, that the silence is to be taken for death. */
export function overriddenUntil(machine: Machine, machineClass: MachineClass | undefined, now: Date): Date | undefined {
  const key = Annotations.SilenceOverride;
  const text = machine.metadata.annotations?.[key] ?? machineClass?.metadata.annotations?.[key] ?? '';
  const [expiry, ...reason] = text.trim().split(/\s+/);
  const until = parseTime(expiry);
  return reason.length > 0 && until !== undefined && now < until ? until : undefined;
}

/** Whether an operator has said, on the machine or its class, that the silence is to be taken for death. */
export const overridesBreaker = (machine: Machine, machineClass: MachineClass | undefined, now: Date): boolean =>
  overriddenUntil(machine, machineClass, now) !== undefined;

/** What an operator is told of an open breaker: where, how many, and how to overrule it. */
export const breakerMessage = ({ scope, silent, joined }: OpenBreaker, thresholdPercent?: number): string =>
  `${silent} of ${joined} machines of the ${scope} fell silent together${thresholdPercent === undefined ? '' : ` (${thresholdPercent} % are enough)`}: unhealthy machines are not replaced there until they are heard of again. To replace them all the same annotate the MachineClass or the Machine with ${Annotations.SilenceOverride}: "<RFC 3339 expiry> <reason>".`;
