import type { Machine } from '@mcm/api';
import { millis } from '../values/timestamps.ts';

/** Instants are rounded to the minute, so that a count over a window is a few look-ups for a fleet of any size. */
const BUCKET_MS = 60_000;

/** Every machine of the cluster. */
export const CLUSTER = 'cluster';

/** Prefix of the description of a machine's last operation if its Node is gone. The text is from the original. */
const NODE_LOST = 'Node object went missing';

const bucketOf = (ms: number): number => Math.floor(ms / BUCKET_MS);

/** The scopes of a machine: its zone, if known, and the cluster. */
export const scopesOf = (zone: string | undefined): readonly string[] => (zone ? [`zone ${zone}`, CLUSTER] : [CLUSTER]);

const readyOf = ({ status }: Machine) => status?.conditions?.find(({ type }) => type === 'Ready');

/**
 * True if the machine is unreachable: its Node is gone, or its condition `Ready` is not `True`. A Node that is unhealthy
 * for another reason, such as a full disk, is not unreachable.
 */
export function isUnreachable(machine: Machine): boolean {
  const { currentStatus, lastOperation } = machine.status ?? {};
  if (machine.metadata.deletionTimestamp || currentStatus?.phase !== 'Unknown') return false;
  return readyOf(machine)?.status !== 'True' || lastOperation?.description?.startsWith(NODE_LOST) === true;
}

/** True if the machine was unhealthy until the last change of its phase. The object no longer shows the cause. */
function hasRecovered(machine: Machine): boolean {
  const { currentStatus, lastOperation } = machine.status ?? {};
  if (machine.metadata.deletionTimestamp || currentStatus?.phase !== 'Running') return false;
  return lastOperation?.type === 'HealthCheck' && lastOperation.state === 'Successful';
}

/** True if the machine has joined. A machine that is being deleted does not count: its state does not show a problem of the network. */
function hasJoined({ metadata, status }: Machine): boolean {
  const phase = status?.currentStatus?.phase;
  return !metadata.deletionTimestamp && (phase === 'Running' || phase === 'Unknown');
}

const minute = (time: string | undefined): string => String(bucketOf(millis(time)));

/** The marks under which a machine is counted: `joined`, `unreachable/<minute>` and `recovered/<minute>`. */
export const reachabilityMarks = (machine: Machine): readonly string[] => [
  ...(hasJoined(machine) ? ['joined'] : []),
  ...(isUnreachable(machine) ? [`unreachable/${minute(machine.status?.currentStatus?.lastUpdateTime)}`] : []),
  ...(hasRecovered(machine) ? [`recovered/${minute(machine.status?.lastOperation?.lastUpdateTime)}`] : []),
];

/** Counts the machines in a scope that have one of the {@link reachabilityMarks}. */
export type CountMarks = (scope: string, mark: string) => number;

/** Limits from which many unreachable machines count as one common cause. Durations in milliseconds. */
export interface BreakerLimits {
  /** The circuit breaker counts machines together that became unreachable within this time. */
  readonly windowMs: number;
  /** Percentage of unreachable machines of a zone or of the cluster from which replacement stops there. */
  readonly thresholdPercent: number;
  /** Fewer machines are always replaced, unless they are all machines and their VMs run according to the cloud. */
  readonly minimumCount: number;
  /** A recovered machine counts as unreachable for this time, so that an unstable network causes no replacement. */
  readonly stableMs: number;
}

/** Default limits of the circuit breaker. Times in milliseconds. */
export const BREAKER_DEFAULTS: BreakerLimits = {
  windowMs: 10 * 60_000,
  thresholdPercent: 50,
  minimumCount: 3,
  stableMs: 5 * 60_000,
};

/** A scope with an open circuit breaker, and the counts that opened it. */
export interface OpenBreaker {
  readonly scope: string;
  readonly unreachable: number;
  readonly joined: number;
  /** When a recovered machine no longer counts as unreachable. Absent if only events can change the breaker. */
  readonly lookAgainAt?: Date | undefined;
}

/** The open circuit breaker of a scope for machines that became unreachable at `since`. Undefined if it is closed. */
export function openBreaker(
  scope: string,
  since: number,
  count: CountMarks,
  limits: BreakerLimits,
  now: Date,
): OpenBreaker | undefined {
  const joined = count(scope, 'joined');
  const unreachable =
    over(count, scope, 'unreachable', since - limits.windowMs, since + limits.windowMs) +
    over(count, scope, 'recovered', now.getTime() - limits.stableMs, now.getTime());
  const open = unreachable >= limits.minimumCount && unreachable * 100 >= joined * limits.thresholdPercent;
  if (!open) return undefined;
  const lookAgainAt = nextForgotten(count, scope, limits.stableMs, now);
  return { scope, unreachable, joined, lookAgainAt };
}

/** When the next recovered machine has been reachable for long enough. */
function nextForgotten(count: CountMarks, scope: string, stableMs: number, now: Date): Date | undefined {
  for (let bucket = bucketOf(now.getTime() - stableMs); bucket <= bucketOf(now.getTime()); bucket++) {
    if (count(scope, `recovered/${bucket}`) > 0) return new Date((bucket + 1) * BUCKET_MS + stableMs);
  }
  return undefined;
}

/** The instant, in milliseconds, of a mark `unreachable/<minute>`. */
export const instantOf = (unreachableMinute: number): number => unreachableMinute * BUCKET_MS;

function over(count: CountMarks, scope: string, what: 'unreachable' | 'recovered', from: number, to: number): number {
  let sum = 0;
  for (let bucket = bucketOf(from); bucket <= bucketOf(to); bucket++) sum += count(scope, `${what}/${bucket}`);
  return sum;
}
