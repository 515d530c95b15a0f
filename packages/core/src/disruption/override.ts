import { Annotations, type Machine, type MachineClass, parseTime } from '@mcm/api';
import type { OpenBreaker } from './silence.ts';

const parse = (text: string): { readonly until: Date | undefined; readonly reason: string } => {
  const [expiry, ...reason] = text.trim().split(/\s+/);
  return { until: parseTime(expiry), reason: reason.join(' ') };
};

/** What is wrong with an override as it is written; one that has expired was right. */
export function overrideProblem(text: string): string | undefined {
  const { until, reason } = parse(text);
  if (until !== undefined && reason !== '') return undefined;
  const what = until === undefined ? 'does not begin with a time' : 'gives no reason';
  return `"${text}" ${what} and does not count; write "<RFC 3339 expiry> <reason>", such as "2030-01-31T12:00:00Z zone a is lost"`;
}

/** Until when an operator has said, on the machine or its class, that the silence is to be taken for death. */
export function overriddenUntil(machine: Machine, machineClass: MachineClass | undefined, now: Date): Date | undefined {
  const key = Annotations.SilenceOverride;
  const text = machine.metadata.annotations?.[key] ?? machineClass?.metadata.annotations?.[key] ?? '';
  const { until, reason } = parse(text);
  return reason !== '' && until !== undefined && now < until ? until : undefined;
}

/** Whether an operator has said, on the machine or its class, that the silence is to be taken for death. */
export const overridesBreaker = (machine: Machine, machineClass: MachineClass | undefined, now: Date): boolean =>
  overriddenUntil(machine, machineClass, now) !== undefined;

/** What an operator is told of an open breaker: where, how many, and how to overrule it. */
export const breakerMessage = ({ scope, silent, joined }: OpenBreaker, thresholdPercent?: number): string =>
  `${silent} of ${joined} machines of the ${scope} fell silent together${thresholdPercent === undefined ? '' : ` (${thresholdPercent} % are enough)`}: unhealthy machines are not replaced there until they are heard of again. To replace them all the same annotate the MachineClass or the Machine with ${Annotations.SilenceOverride}: "<RFC 3339 expiry> <reason>".`;
