import { Annotations, type Machine, type MachineClass, parseDurationMs, TRUE } from '@mcm/api';

const KEY = Annotations.RepairDrainTimeout;

/** Returns true if the machine is being deleted because it is unhealthy. A deletion by a user does not count. */
export const isRepair = ({ metadata, status }: Machine): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (status?.currentStatus?.phase === 'Failed' || metadata.annotations?.[Annotations.DeletedForHealth] === TRUE);

const durationIn = (text: string): number | undefined => {
  const ms = parseDurationMs(text);
  return ms !== undefined && ms >= 0 ? ms : undefined;
};

/**
 * Returns the drain timeout of a repair in milliseconds, from the machine or from its class. Undefined without the
 * annotation. An invalid value counts as absent. If the value of the machine is invalid, the value of its class is also
 * ignored.
 */
export function repairDrainTimeoutMs(machine: Machine, machineClass: MachineClass | undefined): number | undefined {
  const text = machine.metadata.annotations?.[KEY] ?? machineClass?.metadata.annotations?.[KEY];
  return text === undefined ? undefined : durationIn(text);
}

/** Returns the error in the annotation of an object: the field and the fix. Undefined if the value is valid or absent. */
export function repairDrainProblem(annotations: Readonly<Record<string, string>> = {}): string | undefined {
  const text = annotations[KEY];
  if (text === undefined || durationIn(text) !== undefined) return undefined;
  return `metadata.annotations[${KEY}]: "${text}" is not a duration, so mcm uses the drain timeout; write a duration such as "15m"`;
}
