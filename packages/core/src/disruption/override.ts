import { Annotations, type Machine, type MachineClass, parseTime } from '@mcm/api';
import type { OpenBreaker } from './unreachable.ts';

const parse = (text: string): { readonly until: Date | undefined; readonly reason: string } => {
  const [expiry, ...reason] = text.trim().split(/\s+/);
  return { until: parseTime(expiry), reason: reason.join(' ') };
};

/** Returns the problem of an invalid override; an expired override is valid. */
export function overrideProblem(text: string): string | undefined {
  const { until, reason } = parse(text);
  if (until !== undefined && reason !== '') return undefined;
  const defect =
    until === undefined ? `"${text}" does not start with a time` : `"${text}" contains no reason after the time`;
  return `${defect}, so mcm ignores the annotation; write "<RFC 3339 expiry> <reason>", such as "2030-01-31T12:00:00Z zone a is lost"`;
}

export function overriddenUntil(machine: Machine, machineClass: MachineClass | undefined, now: Date): Date | undefined {
  const key = Annotations.BreakerOverride;
  const text = machine.metadata.annotations?.[key] ?? machineClass?.metadata.annotations?.[key] ?? '';
  const { until, reason } = parse(text);
  return reason !== '' && until !== undefined && now < until ? until : undefined;
}

export const overridesBreaker = (machine: Machine, machineClass: MachineClass | undefined, now: Date): boolean =>
  overriddenUntil(machine, machineClass, now) !== undefined;

export const breakerMessage = (
  { scope, unreachable, joined, counted = 'machines' }: OpenBreaker,
  thresholdPercent?: number,
): string =>
  `${unreachable} of ${joined} ${counted} of the ${scope} became unreachable at the same time${thresholdPercent === undefined ? '' : ` (limit ${thresholdPercent} %)`}. mcm replaces no unhealthy machine of the ${scope} until the ${counted} recover. To override the circuit breaker, annotate the MachineClass or the Machine with ${Annotations.BreakerOverride}: "<RFC 3339 expiry> <reason>".`;
