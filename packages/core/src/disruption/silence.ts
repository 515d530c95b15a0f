import type { Machine } from '@mcm/api';
import { millis } from '../values/timestamps.ts';

/** Instants are told apart by the minute: a count over a window is then a few look-ups, whatever the fleet's size. */
const BUCKET_MS = 60_000;

/** Every machine of the cluster. */
export const CLUSTER = 'cluster';

/** What the description of a machine's last operation begins with when its Node is gone. The original's words. */
const NODE_LOST = 'Node object went missing';

const bucketOf = (ms: number): number => Math.floor(ms / BUCKET_MS);

/** The circles a machine may fall silent with: its zone, where that is known, and the cluster. */
export const scopesOf = (zone: string | undefined): readonly string[] => (zone ? [`zone ${zone}`, CLUSTER] : [CLUSTER]);

const readyOf = ({ status }: Machine) => status?.conditions?.find(({ type }) => type === 'Ready');

/**
 * Whether nothing is heard of the machine: its Node is gone, or its kubelet does not report or reports that it is not
 * ready. A node that says of itself that its disk is full is not silent.
 */
export function isSilent(machine: Machine): boolean {
  const { currentStatus, lastOperation } = machine.status ?? {};
  if (machine.metadata.deletionTimestamp || currentStatus?.phase !== 'Unknown') return false;
  return readyOf(machine)?.status !== 'True' || lastOperation?.description?.startsWith(NODE_LOST) === true;
}

/** Whether it has been unhealthy until the last change of its phase; of what kind that was the object does not tell any more. */
function hasRecovered(machine: Machine): boolean {
  const { currentStatus, lastOperation } = machine.status ?? {};
  if (machine.metadata.deletionTimestamp || currentStatus?.phase !== 'Running') return false;
  return lastOperation?.type === 'HealthCheck' && lastOperation.state === 'Successful';
}

/** Machines that have joined. One that is being deleted tells nothing about the network. */
function hasJoined({ metadata, status }: Machine): boolean {
  const phase = status?.currentStatus?.phase;
  return !metadata.deletionTimestamp && (phase === 'Running' || phase === 'Unknown');
}

const minute = (time: string | undefined): string => String(bucketOf(millis(time)));

/** What a machine counts as, `joined`, or with the minute `silent/<minute>` and `recovered/<minute>`. */
export const silenceMarks = (machine: Machine): readonly string[] => [
  ...(hasJoined(machine) ? ['joined'] : []),
  ...(isSilent(machine) ? [`silent/${minute(machine.status?.currentStatus?.lastUpdateTime)}`] : []),
  ...(hasRecovered(machine) ? [`recovered/${minute(machine.status?.lastOperation?.lastUpdateTime)}`] : []),
];

/** How many machines of a scope have a mark of {@link silenceMarks}. */
export type CountSilence = (scope: string, mark: string) => number;

/** When many silent machines are one cause, not many. Durations in milliseconds. */
export interface BreakerLimits {
  /** Machines that fell silent within this time of each other are counted together. */
  readonly windowMs: number;
  /** Share of a zone's or the cluster's machines from which replacement stops there, in percent. */
  readonly thresholdPercent: number;
  /** Fewer than these are always replaced, unless they are all that there are and the cloud says that their VMs run. */
  readonly minimumCount: number;
  /** One that spoke again counts as silent for this long, so that a network that comes and goes replaces nothing. */
  readonly stableMs: number;
}

/** Thresholds of the breaker in effect without flags; times in milliseconds. */
export const BREAKER_DEFAULTS: BreakerLimits = {
  windowMs: 10 * 60_000,
  thresholdPercent: 50,
  minimumCount: 3,
  stableMs: 5 * 60_000,
};

/** A scope where the breaker is open, and what opened it. */
export interface OpenBreaker {
  readonly scope: string;
  readonly silent: number;
  readonly joined: number;
  /** When one that spoke again no longer counts as silent; absent when only events can change anything. */
  readonly lookAgainAt?: Date;
}

/** How the breaker of a scope stands for those that fell silent at `since`. */
export function openBreaker(
  scope: string,
  since: number,
  count: CountSilence,
  limits: BreakerLimits,
  now: Date,
): OpenBreaker | undefined {
  const joined = count(scope, 'joined');
  const silent =
    over(count, scope, 'silent', since - limits.windowMs, since + limits.windowMs) +
    over(count, scope, 'recovered', now.getTime() - limits.stableMs, now.getTime());
  const open = silent >= limits.minimumCount && silent * 100 >= joined * limits.thresholdPercent;
  if (!open) return undefined;
  const lookAgainAt = nextForgotten(count, scope, limits.stableMs, now);
  return { scope, silent, joined, ...(lookAgainAt ? { lookAgainAt } : {}) };
}

/** When the next machine that spoke again has done so for long enough. */
function nextForgotten(count: CountSilence, scope: string, stableMs: number, now: Date): Date | undefined {
  for (let bucket = bucketOf(now.getTime() - stableMs); bucket <= bucketOf(now.getTime()); bucket++) {
    if (count(scope, `recovered/${bucket}`) > 0) return new Date((bucket + 1) * BUCKET_MS + stableMs);
  }
  return undefined;
}

/** The instant, in milliseconds, of a mark `silent/<minute>`. */
export const instantOf = (silentMinute: number): number => silentMinute * BUCKET_MS;

function over(count: CountSilence, scope: string, what: 'silent' | 'recovered', from: number, to: number): number {
  let sum = 0;
  for (let bucket = bucketOf(from); bucket <= bucketOf(to); bucket++) sum += count(scope, `${what}/${bucket}`);
  return sum;
}
