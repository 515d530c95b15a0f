import { Annotations, formatTime, type Machine, type MachineClass, parseDurationMs, parseTime, TRUE } from '@mcm/api';

/**
 * Users can set a separate drain timeout for these causes of a deletion. An interruption has no separate timeout,
 * because the notice of the cloud limits its time.
 */
export type TimedCause = 'Repair' | 'Rollout' | 'ScaleIn';

/** The causes that the manager records on a Machine. The machine controller recognizes a repair without a record. */
export type RecordedCause = Exclude<TimedCause, 'Repair'>;

const KEYS: Readonly<Record<TimedCause, string>> = {
  Repair: Annotations.RepairDrainTimeout,
  Rollout: Annotations.RolloutDrainTimeout,
  ScaleIn: Annotations.ScaleInDrainTimeout,
};

export const DRAIN_TIMEOUT_KEYS: readonly string[] = Object.values(KEYS);

/**
 * The maximum age of a record at the deletion that it belongs to. A deletion after the maximum age has another cause,
 * for example a user.
 */
const RECORD_COUNTS_MS = 5 * 60_000;
/** The maximum difference between the clocks of the manager and of the API server. */
const CLOCK_SKEW_MS = 60_000;

/** Unlike a deletion by a user, a repair deletes an unhealthy machine. */
export const isRepair = ({ metadata, status }: Machine): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (status?.currentStatus?.phase === 'Failed' || metadata.annotations?.[Annotations.DeletedForHealth] === TRUE);

export const causeRecord = (cause: RecordedCause, now: Date): string => `${cause} ${formatTime(now)}`;

/** Returns undefined if the record does not belong to this deletion. */
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
 * The drain timeout is in milliseconds. Returns undefined if no annotation of the machine or its class sets this
 * timeout. The timeout of a repair takes precedence over the timeout of the recorded cause.
 *
 * An invalid value counts as absent. If the value of the machine is invalid, the value of its class does not apply.
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

/** Each problem contains the field and the fix. */
export const drainTimeoutProblems = (annotations: Readonly<Record<string, string>> = {}): readonly string[] =>
  DRAIN_TIMEOUT_KEYS.flatMap((key) => {
    const text = annotations[key];
    if (text === undefined || durationIn(text) !== undefined) return [];
    return [
      `metadata.annotations[${key}]: "${text}" is not a duration, so mcm uses the drain timeout; write a duration such as "15m"`,
    ];
  });
