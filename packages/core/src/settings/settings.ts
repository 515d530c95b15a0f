import { Annotations, DEFAULT_NODE_CONDITIONS, type Machine, type MachineClass, parseDurationMs } from '@mcm/api';
import { MAX_UNHEALTHY_REPLACEMENTS } from '../disruption/replacements.ts';
import { BREAKER_DEFAULTS, type BreakerLimits } from '../disruption/unreachable.ts';
import { drainTimeoutOfCause } from './drain-timeouts.ts';

const MINUTE = 60_000;

/** Longer durations are reduced to this value, because dates have a maximum. */
const LONGEST_MS = 100 * 365 * 24 * 60 * MINUTE;

/** The default settings of all machines from the flags of the machine controller, with durations in milliseconds. */
export interface MachineDefaults {
  readonly creationTimeoutMs: number;
  readonly healthTimeoutMs: number;
  readonly drainTimeoutMs: number;
  readonly inPlaceUpdateTimeoutMs: number;
  readonly preserveTimeoutMs: number;
  readonly maxEvictRetries: number;
  readonly unhealthyConditionTypes: readonly string[];
  readonly volumeDetachTimeoutMs: number;
  readonly volumeReattachTimeoutMs: number;
  /** The wait after a creation that failed with `ResourceExhausted` grows with each failure. */
  readonly resourceExhaustedRetryMs: number;
  /**
   * mcm deletes the pods of a NotReady node with grace period 0 after this time, because the kubelet does not respond.
   */
  readonly unresponsiveNodeMs: number;
  /** The pods of a node with a read-only file system cannot end properly, so mcm deletes them after this time. */
  readonly readOnlyNodeMs: number;
  readonly breaker: BreakerLimits;
  /** The number or percentage of machines of a deployment that may be replaced at the same time. */
  readonly maxUnhealthyReplacements: number | string;
  /**
   * Whether the undrainable policy has an effect (feature `UndrainablePolicy`). Without the feature, every drain is
   * forced.
   */
  readonly undrainablePolicy: boolean;
}

/** The defaults of the original's flags. */
export const MACHINE_DEFAULTS: MachineDefaults = {
  creationTimeoutMs: 20 * MINUTE,
  healthTimeoutMs: 10 * MINUTE,
  drainTimeoutMs: 120 * MINUTE,
  inPlaceUpdateTimeoutMs: 20 * MINUTE,
  preserveTimeoutMs: 96 * 60 * MINUTE,
  maxEvictRetries: 360,
  unhealthyConditionTypes: DEFAULT_NODE_CONDITIONS.split(','),
  volumeDetachTimeoutMs: 2 * MINUTE,
  volumeReattachTimeoutMs: 90_000,
  resourceExhaustedRetryMs: 10 * MINUTE,
  unresponsiveNodeMs: 5 * MINUTE,
  readOnlyNodeMs: 5 * MINUTE,
  breaker: BREAKER_DEFAULTS,
  maxUnhealthyReplacements: MAX_UNHEALTHY_REPLACEMENTS,
  undrainablePolicy: true,
};

/** The settings of one machine. */
export interface MachineSettings extends MachineDefaults {
  readonly healthTimeoutDisabled: boolean;
}

/** The CRDs of the original accept invalid durations, so an invalid duration counts as absent. */
function durationOr(text: string | undefined, fallback: number): number {
  const ms = text === undefined ? undefined : parseDurationMs(text);
  return ms === undefined || ms < 0 ? fallback : Math.min(ms, LONGEST_MS);
}

/**
 * The interval between two evictions of a pod in the original. mcm uses the interval to convert `maxEvictRetries` to a
 * duration.
 */
export const EVICTION_INTERVAL_MS = 20_000;

/**
 * Returns the settings of a machine. The spec of a machine overrides the flags, and an annotation overrides its
 * creation timeout. An annotation of the class can set only drain timeouts. Source: machine-controller-manager,
 * pkg/util/provider/machinecontroller/machine_util.go.
 */
export function settingsOf(
  machine: Machine,
  defaults: MachineDefaults,
  machineClass?: MachineClass | undefined,
): MachineSettings {
  const { spec } = machine;
  const ofCause = drainTimeoutOfCause(machine, machineClass);
  const ownDrainTimeoutMs = durationOr(spec.drainTimeout, defaults.drainTimeoutMs);
  const drainTimeoutMs = Math.min(ofCause ?? ownDrainTimeoutMs, LONGEST_MS);
  // The drain timeout of a deletion cause can be longer than `drainTimeout`. The flag for the number of eviction
  // attempts limits only drains with `drainTimeout`, so the flag does not shorten the longer timeout. If the spec of a
  // machine sets `maxEvictRetries`, this value applies.
  const evictRetries =
    drainTimeoutMs > ownDrainTimeoutMs
      ? Math.max(defaults.maxEvictRetries, Math.trunc(drainTimeoutMs / EVICTION_INTERVAL_MS))
      : defaults.maxEvictRetries;
  const annotated = machine.metadata.annotations?.[Annotations.EffectiveCreationTimeout];
  return {
    ...defaults,
    creationTimeoutMs: durationOr(annotated, durationOr(spec.creationTimeout, defaults.creationTimeoutMs)),
    healthTimeoutMs: durationOr(spec.healthTimeout, defaults.healthTimeoutMs),
    drainTimeoutMs,
    inPlaceUpdateTimeoutMs: durationOr(spec.inPlaceUpdateTimeout, defaults.inPlaceUpdateTimeoutMs),
    preserveTimeoutMs: durationOr(spec.machinePreserveTimeout, defaults.preserveTimeoutMs),
    maxEvictRetries: spec.maxEvictRetries ?? evictRetries,
    unhealthyConditionTypes: spec.nodeConditions?.split(',') ?? defaults.unhealthyConditionTypes,
    healthTimeoutDisabled: spec.disableHealthTimeout === true,
  };
}

/** The drain evicts pods for 20 s per eviction attempt, but not longer than the drain timeout. */
export const evictionPeriodMs = (settings: MachineSettings): number =>
  Math.min(settings.maxEvictRetries, Math.trunc(settings.drainTimeoutMs / EVICTION_INTERVAL_MS)) * EVICTION_INTERVAL_MS;
