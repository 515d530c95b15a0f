import { Annotations, DEFAULT_NODE_CONDITIONS, type Machine, type MachineClass, parseDurationMs } from '@mcm/api';
import { MAX_UNHEALTHY_REPLACEMENTS } from '../disruption/replacements.ts';
import { BREAKER_DEFAULTS, type BreakerLimits } from '../disruption/unreachable.ts';
import { drainTimeoutOfCause } from './drain-timeouts.ts';

const MINUTE = 60_000;

/** A duration above this limit means "never", because a date has a maximum. */
const LONGEST_MS = 100 * 365 * 24 * 60 * MINUTE;

/** Defaults for every machine, from the flags of the machine controller. Durations are in milliseconds. */
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
  /**
   * First wait after a creation that failed with `ResourceExhausted`. Each further wait is longer, see `CapacityGate`.
   */
  readonly resourceExhaustedRetryMs: number;
  /** If a node is NotReady for this time, mcm force-deletes its pods, because its kubelet does not respond. */
  readonly unresponsiveNodeMs: number;
  /**
   * If the file system of a node is read-only for this time, mcm force-deletes its pods, because these pods cannot end
   * properly.
   */
  readonly readOnlyNodeMs: number;
  readonly breaker: BreakerLimits;
  /** Number or percentage of the machines of a deployment that may be replaced at the same time. */
  readonly maxUnhealthyReplacements: number | string;
  /**
   * Feature `UndrainablePolicy`: true if the annotation has an effect. Without the feature, every drain is forced after
   * its timeout.
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

/** The settings of one machine: the values of the machine, or the defaults. */
export interface MachineSettings extends MachineDefaults {
  readonly healthTimeoutDisabled: boolean;
}

/** An invalid value counts as absent, because a CRD without the rules of mcm accepts invalid values. */
function durationOr(text: string | undefined, fallback: number): number {
  const ms = text === undefined ? undefined : parseDurationMs(text);
  return ms === undefined || ms < 0 ? fallback : Math.min(ms, LONGEST_MS);
}

/**
 * Returns the settings of one machine. The order of precedence is: annotation, spec, flag. An annotation exists only
 * for the creation timeout. The annotations of the class set only the drain timeouts of causes. Source:
 * machine-controller-manager, pkg/util/provider/machinecontroller/machine_util.go.
 */
export function settingsOf(
  machine: Machine,
  defaults: MachineDefaults,
  machineClass?: MachineClass | undefined,
): MachineSettings {
  const { spec } = machine;
  const ofCause = drainTimeoutOfCause(machine, machineClass);
  const annotated = machine.metadata.annotations?.[Annotations.EffectiveCreationTimeout];
  return {
    ...defaults,
    creationTimeoutMs: durationOr(annotated, durationOr(spec.creationTimeout, defaults.creationTimeoutMs)),
    healthTimeoutMs: durationOr(spec.healthTimeout, defaults.healthTimeoutMs),
    drainTimeoutMs: Math.min(ofCause ?? durationOr(spec.drainTimeout, defaults.drainTimeoutMs), LONGEST_MS),
    inPlaceUpdateTimeoutMs: durationOr(spec.inPlaceUpdateTimeout, defaults.inPlaceUpdateTimeoutMs),
    preserveTimeoutMs: durationOr(spec.machinePreserveTimeout, defaults.preserveTimeoutMs),
    maxEvictRetries: spec.maxEvictRetries ?? defaults.maxEvictRetries,
    unhealthyConditionTypes: spec.nodeConditions?.split(',') ?? defaults.unhealthyConditionTypes,
    healthTimeoutDisabled: spec.disableHealthTimeout === true,
  };
}

/** The original evicts a pod once in this interval. mcm converts `maxEvictRetries` to a duration with this interval. */
export const EVICTION_INTERVAL_MS = 20_000;

/**
 * Returns the time for which pods are evicted before they are deleted, in milliseconds. The eviction period is 20 s for
 * each attempt, and at most the drain timeout.
 */
export const evictionPeriodMs = (settings: MachineSettings): number =>
  Math.min(settings.maxEvictRetries, Math.trunc(settings.drainTimeoutMs / EVICTION_INTERVAL_MS)) * EVICTION_INTERVAL_MS;
