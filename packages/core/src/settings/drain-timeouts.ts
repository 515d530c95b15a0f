import { Annotations, formatTime, type Machine, type MachineClass, parseDurationMs, parseTime, TRUE } from '@mcm/api';

/**
 * The causes of a deletion for which users can set a separate drain timeout. The notice of the cloud limits the time of
 * an interruption, so an interruption has no separate drain timeout.
 */
export type TimedCause = 'Repair' | 'Rollout' | 'ScaleIn';

/**
 * The causes that the manager records on a Machine. A repair needs no record, because the machine controller can detect
 * a repair.
 */
export type RecordedCause = Exclude<TimedCause, 'Repair'>;

const KEYS: Readonly<Record<TimedCause, string>> = {
  Repair: Annotations.RepairDrainTimeout,
  Rollout: Annotations.RolloutDrainTimeout,
  ScaleIn: Annotations.ScaleInDrainTimeout,
};

export const DRAIN_TIMEOUT_KEYS: readonly string[] = Object.values(KEYS);

/**
 * The recorded cause applies only if the deletion follows within this time. A later deletion has another cause, for
 * example a user.
 */
const RECORD_COUNTS_MS = 5 * 60_000;
/** The maximum difference between the clocks of the manager and of the API server. */
const CLOCK_SKEW_MS = 60_000;

export const isRepair = ({ metadata, status }: Machine): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (status?.currentStatus?.phase === 'Failed' || metadata.annotations?.[Annotations.DeletedForHealth] === TRUE);

export const causeRecord = (cause: RecordedCause, now: Date): string => `${cause} ${formatTime(now)}`;

/** Returns the recorded cause, or undefined if the record belongs to another deletion. */
function recordedCause({ metadata }: Machine): RecordedCause | undefined {
  const [cause, time] = (metadata.annotations?.[Annotations.DeletionCause] ?? '').split(' ');
  const [recorded, deleted] = [parseTime(time), parseTime(metadata.deletionTimestamp)];
  if (recorded === undefined || deleted === undefined || (cause !== 'Rollout' && cause !== 'ScaleIn')) return undefined;
  const age = deleted.getTime() - recorded.getTime();
  return -CLOCK_SKEW_MS <= age && age <= RECORD_COUNTS_MS ? cause : undefined;
}

const durationIn = (text: string): number | undefined => {
  const ms = parseDurationMs(text);
  return ms !== undefined && ms >= 0 ? ms : undefined;
};

type Annotated = Pick<MachineClass, 'metadata'> | undefined;

const textOf = (cause: TimedCause, machine: Machine, machineClass: Annotated): string | undefined =>
  machine.metadata.annotations?.[KEYS[cause]] ?? machineClass?.metadata.annotations?.[KEYS[cause]];

export const hasDrainTimeout = (cause: TimedCause, machine: Machine, machineClass: Annotated): boolean =>
  textOf(cause, machine, machineClass) !== undefined;

/**
 * Returns the drain timeout for the cause of the deletion in milliseconds, or undefined if no annotation sets the
 * timeout. The timeout of a repair takes precedence over the timeout of the recorded cause.
 *
 * An invalid timeout on the machine counts as absent, and the value of its class does not apply.
 */
export function drainTimeoutOfCause(machine: Machine, machineClass: Annotated): number | undefined {
  const recorded = recordedCause(machine);
  const causes: readonly TimedCause[] = [
    ...(isRepair(machine) ? ['Repair' as const] : []),
    ...(recorded ? [recorded] : []),
  ];
  const text = causes.map((cause) => textOf(cause, machine, machineClass)).find((found) => found !== undefined);
  return text === undefined ? undefined : durationIn(text);
}

/** Returns the problems of the annotations with drain timeouts. */
export const drainTimeoutProblems = (annotations: Readonly<Record<string, string>> = {}): readonly string[] =>
  DRAIN_TIMEOUT_KEYS.flatMap((key) => {
    const text = annotations[key];
    if (text === undefined || durationIn(text) !== undefined) return [];
    return [
      `metadata.annotations[${key}]: "${text}" is not a duration, so mcm uses the drain timeout; write a duration such as "15m"`,
    ];
  });
