import { Labels, type Machine } from '@mcm/api';
import { millis } from '../machine/timestamps.ts';

/** Instants are told apart by the minute: a count over a window is then a few look-ups, whatever the fleet's size. */
const BUCKET_MS = 60_000;

/** Every machine of the cluster. */
const CLUSTER = 'cluster';

const bucketOf = (ms: number): number => Math.floor(ms / BUCKET_MS);

const zoneOf = ({ spec }: Machine): string | undefined => spec.nodeTemplate?.metadata?.labels?.[Labels.Zone];

/** The circles a machine may fall silent with: its zone, where its node template names one, and the cluster. */
export const scopesOf = (machine: Machine): readonly string[] => {
  const zone = zoneOf(machine);
  return zone ? [`zone ${zone}`, CLUSTER] : [CLUSTER];
};

const cellsOf = (machine: Machine, time: string | undefined): readonly string[] =>
  scopesOf(machine).map((scope) => `${scope}/${bucketOf(millis(time))}`);

/** Index functions over machines from which {@link surveySilence} counts; the informer keeps them by each change. */
export const silenceIndexes = {
  /** Machines that have joined, by scope. One that is being deleted tells nothing about the network. */
  joined: (machine: Machine): readonly string[] => {
    const phase = machine.status?.currentStatus?.phase;
    const counts = !machine.metadata.deletionTimestamp && (phase === 'Running' || phase === 'Unknown');
    return counts ? scopesOf(machine) : [];
  },
  /** Those that are silent now, by scope and minute in which they fell silent. */
  silent: (machine: Machine): readonly string[] => {
    const current = machine.status?.currentStatus;
    const counts = !machine.metadata.deletionTimestamp && current?.phase === 'Unknown';
    return counts ? cellsOf(machine, current.lastUpdateTime) : [];
  },
  /** Those that spoke again, by scope and minute of it. */
  recovered: (machine: Machine): readonly string[] => {
    const { currentStatus, lastOperation } = machine.status ?? {};
    const counts =
      !machine.metadata.deletionTimestamp &&
      currentStatus?.phase === 'Running' &&
      lastOperation?.type === 'HealthCheck' &&
      lastOperation.state === 'Successful';
    return counts ? cellsOf(machine, lastOperation.lastUpdateTime) : [];
  },
} as const;

/** How many machines an index of {@link silenceIndexes} has under a key. */
export type CountSilence = (index: keyof typeof silenceIndexes, key: string) => number;

/** When many silent machines are one cause, not many. Durations in milliseconds. */
export interface BreakerLimits {
  /** Machines that fell silent within this time of each other are counted together. */
  readonly windowMs: number;
  /** Share of a zone's or the cluster's machines from which replacement stops there, in percent. */
  readonly thresholdPercent: number;
  /** Fewer than these are always replaced: a deployment of one or two machines is repaired. */
  readonly minimumCount: number;
  /** One that spoke again counts as silent for this long, so that a network that comes and goes replaces nothing. */
  readonly stableMs: number;
}

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
}

/**
 * The first scope of a silent machine in which so many fell silent with it that it is not the machine. Derived from the
 * objects alone, so a restart changes nothing. Source: incidents #12 and #13.
 */
export function openBreaker(
  machine: Machine,
  count: CountSilence,
  limits: BreakerLimits,
  now: Date,
): OpenBreaker | undefined {
  const since = millis(machine.status?.currentStatus?.lastUpdateTime);
  for (const scope of scopesOf(machine)) {
    const joined = count('joined', scope);
    const silent =
      over(count, 'silent', scope, since - limits.windowMs, since + limits.windowMs) +
      over(count, 'recovered', scope, now.getTime() - limits.stableMs, now.getTime());
    if (silent >= limits.minimumCount && silent * 100 >= joined * limits.thresholdPercent) {
      return { scope, silent, joined };
    }
  }
  return undefined;
}

function over(count: CountSilence, index: 'silent' | 'recovered', scope: string, from: number, to: number): number {
  let sum = 0;
  for (let bucket = bucketOf(from); bucket <= bucketOf(to); bucket++) sum += count(index, `${scope}/${bucket}`);
  return sum;
}
