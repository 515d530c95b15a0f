import type { Machine } from '@mcm/api';
import type { RegionReach } from '@mcm/kube';
import { millis } from '../values/timestamps.ts';

/** mcm rounds times to minutes, so that the count for a period needs only a few lookups. */
const BUCKET_MS = 60_000;

export const CLUSTER = 'cluster';

/**
 * If the Node of a machine no longer exists, the description of the last operation starts with this text, as in the
 * original.
 */
const NODE_LOST = 'Node object went missing';

const bucketOf = (ms: number): number => Math.floor(ms / BUCKET_MS);

const ZONE = 'zone ';

export const scopesOf = (zone: string | undefined): readonly string[] =>
  zone ? [`${ZONE}${zone}`, CLUSTER] : [CLUSTER];

export const zoneIn = (scopes: readonly string[]): string | undefined =>
  scopes.find((scope) => scope.startsWith(ZONE))?.slice(ZONE.length);

const readyOf = ({ status }: Machine) => status?.conditions?.find(({ type }) => type === 'Ready');

/**
 * Returns true if the machine is unreachable. A Node that is unhealthy because of a full disk, for example, is
 * reachable.
 */
export function isUnreachable(machine: Machine): boolean {
  const { currentStatus, lastOperation } = machine.status ?? {};
  if (machine.metadata.deletionTimestamp || currentStatus?.phase !== 'Unknown') return false;
  return readyOf(machine)?.status !== 'True' || lastOperation?.description?.startsWith(NODE_LOST) === true;
}

/**
 * Returns true if the machine has recovered. The status of a recovered machine no longer shows why it was unhealthy.
 */
function hasRecovered(machine: Machine): boolean {
  const { currentStatus, lastOperation } = machine.status ?? {};
  if (machine.metadata.deletionTimestamp || currentStatus?.phase !== 'Running') return false;
  return lastOperation?.type === 'HealthCheck' && lastOperation.state === 'Successful';
}

/**
 * A machine that is being deleted does not count as joined, because the state of its Node does not show whether the
 * network works.
 */
function hasJoined({ metadata, status }: Machine): boolean {
  const phase = status?.currentStatus?.phase;
  return !metadata.deletionTimestamp && (phase === 'Running' || phase === 'Unknown');
}

const minute = (time: string | undefined): string => String(bucketOf(millis(time)));

export const reachabilityMarks = (machine: Machine): readonly string[] => [
  ...(hasJoined(machine) ? ['joined'] : []),
  ...(isUnreachable(machine) ? [`unreachable/${minute(machine.status?.currentStatus?.lastUpdateTime)}`] : []),
  ...(hasRecovered(machine) ? [`recovered/${minute(machine.status?.lastOperation?.lastUpdateTime)}`] : []),
];

export type CountMarks = (scope: string, mark: string) => number;

/** The limits above which mcm treats many unreachable machines as one outage. Durations are in milliseconds. */
export interface BreakerLimits {
  /** The circuit breaker adds up all machines that become unreachable within this period. */
  readonly windowMs: number;
  /**
   * If at least this percentage of a zone or of the cluster is unreachable, mcm replaces no machine of this zone or
   * cluster.
   */
  readonly thresholdPercent: number;
  /** The number of unreachable machines below which mcm replaces unreachable machines. */
  readonly minimumCount: number;
  /**
   * The time for which a recovered machine counts as unreachable, so that an unstable network causes no replacement.
   */
  readonly stableMs: number;
}

/** Default limits of the circuit breaker. */
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
  /** The type of the objects that the circuit breaker counts (default: `machines`). */
  readonly counted?: 'machines' | 'clusters' | undefined;
  readonly lookAgainAt?: Date | undefined;
}

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

/** mcm receives no event when a cluster responds again, so mcm checks the clusters of the region after this delay. */
const REGION_LOOK_MS = 60_000;

/** If many clusters of a region do not respond, the likely cause is the network. */
export function regionBreaker(
  reach: RegionReach | undefined,
  { minimumCount, thresholdPercent }: BreakerLimits,
  now: Date,
): OpenBreaker | undefined {
  if (reach === undefined) return undefined;
  const { region, unreachable, clusters: joined } = reach;
  if (unreachable < minimumCount || unreachable * 100 < joined * thresholdPercent) return undefined;
  const scope = region === '' ? 'fleet' : `region ${region}`;
  return { scope, unreachable, joined, counted: 'clusters', lookAgainAt: new Date(now.getTime() + REGION_LOOK_MS) };
}

function nextForgotten(count: CountMarks, scope: string, stableMs: number, now: Date): Date | undefined {
  for (let bucket = bucketOf(now.getTime() - stableMs); bucket <= bucketOf(now.getTime()); bucket++) {
    if (count(scope, `recovered/${bucket}`) > 0) return new Date((bucket + 1) * BUCKET_MS + stableMs);
  }
  return undefined;
}

export const instantOf = (unreachableMinute: number): number => unreachableMinute * BUCKET_MS;

function over(count: CountMarks, scope: string, what: 'unreachable' | 'recovered', from: number, to: number): number {
  let sum = 0;
  for (let bucket = bucketOf(from); bucket <= bucketOf(to); bucket++) sum += count(scope, `${what}/${bucket}`);
  return sum;
}
