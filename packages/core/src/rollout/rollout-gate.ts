import {
  Annotations,
  formatDurationMs,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  parseDurationMs,
  phaseOf,
} from '@mcm/api';
import { resolveIntOrPercent } from '../objects/limits.ts';
import { isAvailable, isTerminating } from '../objects/machines.ts';
import type { Violation } from '../objects/violations.ts';
import { parseInstant } from '../values/integers.ts';
import type { Sets } from './revisions.ts';

/** The settings from the rollout annotations. All settings are off by default. */
export interface RolloutSettings {
  /** The number of canaries; 0 disables canaries. */
  readonly canary: number;
  /** The time in milliseconds for which canaries must be available before the rollout continues. */
  readonly soakMs: number;
  /** The time in milliseconds for which all machines of a batch must be available before the next batch. */
  readonly pauseMs: number;
  /** If the cloud has no capacity, the rollout continues with at least this surge (default: `maxSurge`). */
  readonly minSurge?: number | undefined;
  readonly pauseOnFailure: boolean;
  /**
   * Whether the rollout returns to the last good template after a failure. Without a last good template, the rollout
   * pauses.
   */
  readonly undoOnFailure: boolean;
  readonly canaryPodsReady?: boolean | undefined;
  /** Whether the rollout stops after a failed in-place update, and the manager does not replace the machine. */
  readonly keepsFailedUpdates?: boolean | undefined;
}

export const NO_ROLLOUT_SETTINGS: RolloutSettings = {
  canary: 0,
  soakMs: 0,
  pauseMs: 0,
  pauseOnFailure: false,
  undoOnFailure: false,
};

export const hasRolloutSettings = (rolloutSettings: RolloutSettings): boolean =>
  rolloutSettings.canary > 0 || rolloutSettings.pauseMs > 0 || stopsOnFailure(rolloutSettings);

export const stopsOnFailure = ({ pauseOnFailure, undoOnFailure }: RolloutSettings): boolean =>
  pauseOnFailure || undoOnFailure;

/** A limit for the size of the current set while its template is not proven. */
export interface Gate {
  readonly ceiling: number;
  /** The latest time at which the set may grow further. An event may allow the growth earlier. */
  readonly opensAt: Date | undefined;
  readonly because: string;
  /** The reason for a condition about the wait; set only if a user must act. */
  readonly waits?: 'CanaryPodsUnknown';
  /** Whether machines of the set are not available yet, so that the progress deadline applies. */
  readonly needsMachines?: boolean;
}

const KEYS = {
  canary: Annotations.RolloutCanary,
  soak: Annotations.RolloutCanarySoak,
  pause: Annotations.RolloutBatchPause,
  minSurge: Annotations.RolloutMinSurge,
  onFailure: Annotations.RolloutPauseOnFailure,
  undoOnFailure: Annotations.RolloutUndoOnFailure,
  podsReady: Annotations.RolloutCanaryPodsReady,
  onCannotUpdate: Annotations.RolloutOnCannotUpdateInPlace,
} as const;

const countOf = (text: string, replicas: number): number | undefined =>
  resolveIntOrPercent(/^\d+$/.test(text) ? Number(text) : text, replicas, 'up');

export function rolloutSettingViolations({
  metadata: { annotations = {} },
}: {
  readonly metadata: Pick<MachineDeployment['metadata'], 'annotations'>;
}): Violation[] {
  const wrong = (key: string, message: string): Violation => ({ field: `metadata.annotations[${key}]`, message });
  const violations: Violation[] = [];
  const canary = annotations[KEYS.canary];
  const whole = canary === undefined ? 1 : countOf(canary, 100);
  if (whole === undefined || whole < 1 || (canary?.endsWith('%') && whole > 100)) {
    violations.push(
      wrong(KEYS.canary, 'must be a number of machines of at least 1, or a percentage from "1%" to "100%"'),
    );
  }
  const minSurge = annotations[KEYS.minSurge];
  if (minSurge !== undefined && countOf(minSurge, 100) === undefined)
    violations.push(wrong(KEYS.minSurge, 'must be a number of machines of at least 0, or a percentage such as "10%"'));
  for (const key of [KEYS.soak, KEYS.pause]) {
    const text = annotations[key];
    const ms = text === undefined ? 0 : parseDurationMs(text);
    if (ms === undefined || ms < 0) violations.push(wrong(key, 'must be a duration of 0 or more, such as "10m"'));
  }
  if (annotations[KEYS.soak] !== undefined && canary === undefined) {
    violations.push(wrong(KEYS.soak, `requires ${KEYS.canary}`));
  }
  if (annotations[KEYS.podsReady] === 'true') {
    if (annotations[KEYS.soak] === undefined) violations.push(wrong(KEYS.podsReady, `requires ${KEYS.soak}`));
    if (annotations[KEYS.onFailure] !== 'true' && annotations[KEYS.undoOnFailure] !== 'true')
      violations.push(wrong(KEYS.podsReady, `requires ${KEYS.onFailure} or ${KEYS.undoOnFailure}`));
  }
  for (const key of [KEYS.onFailure, KEYS.undoOnFailure, KEYS.podsReady, Annotations.CountTerminating]) {
    if (!['true', 'false', undefined].includes(annotations[key]))
      violations.push(wrong(key, 'must be "true" or "false"'));
  }
  if (!['Replace', 'Stop', undefined].includes(annotations[KEYS.onCannotUpdate]))
    violations.push(wrong(KEYS.onCannotUpdate, 'must be "Replace" or "Stop"'));
  return violations;
}

export function rolloutSettingsOf({ metadata: { annotations = {} }, spec }: MachineDeployment): RolloutSettings {
  const replicas = spec.replicas ?? 0;
  const ms = (key: string) => parseDurationMs(annotations[key] ?? '0s') ?? 0;
  const canary = annotations[KEYS.canary];
  const minSurge = annotations[KEYS.minSurge];
  return {
    canary: canary === undefined ? 0 : Math.min(countOf(canary, replicas) ?? 0, replicas),
    soakMs: ms(KEYS.soak),
    pauseMs: ms(KEYS.pause),
    minSurge: minSurge === undefined ? undefined : countOf(minSurge, replicas),
    pauseOnFailure: annotations[KEYS.onFailure] === 'true',
    undoOnFailure: annotations[KEYS.undoOnFailure] === 'true',
    canaryPodsReady: annotations[KEYS.podsReady] === 'true' ? true : undefined,
    keepsFailedUpdates: annotations[KEYS.onCannotUpdate] === 'Stop' ? true : undefined,
  };
}

const availableSince = (machines: readonly Machine[]): number[] =>
  machines
    .filter(isAvailable)
    .map(
      ({ status, metadata }) => parseInstant(status?.currentStatus?.lastUpdateTime ?? metadata.creationTimestamp) ?? 0,
    )
    .sort((a, b) => a - b);

/** Returns the time in milliseconds at which `count` machines have been available for `waitMs`. */
const soakedAt = (machines: readonly Machine[], count: number, waitMs: number): number | undefined => {
  const last = availableSince(machines)[count - 1];
  return last === undefined ? undefined : last + waitMs;
};

const seconds = (ms: number): string => formatDurationMs(Math.ceil(ms / 1000) * 1000);

/**
 * Returns the limit of the current set. The limit depends only on the machines of the set, so a restart of mcm does not
 * change the limit. When an unhealthy machine recovers, its soak time starts again, so unstable canaries delay the
 * rollout.
 * @param replicas the number of machines of the current set, including machines that will be created
 */
export function gateOf(
  rolloutSettings: RolloutSettings,
  replicas: number,
  machines: readonly Machine[],
  now: Date,
): Gate | undefined {
  const closed = (count: number, waitMs: number, group: string): Gate | undefined => {
    const failed = failedOf(machines);
    const opensAt = soakedAt(machines, count, waitMs);
    if (opensAt !== undefined && opensAt <= now.getTime()) return undefined;
    const because =
      opensAt === undefined
        ? `waiting: ${machines.filter(isAvailable).length} of ${count} ${group} are available${failed === '' ? '' : `; ${failed}`}`
        : `waiting: mcm observes ${group} for ${seconds(opensAt - now.getTime())} more`;
    const ceiling = Math.max(count, replicas);
    return opensAt === undefined
      ? { ceiling, because, opensAt, needsMachines: true }
      : { ceiling, because, opensAt: new Date(opensAt) };
  };
  if (rolloutSettings.canary > 0) {
    if (replicas < rolloutSettings.canary)
      return { ceiling: rolloutSettings.canary, opensAt: undefined, because: 'updating the canaries first' };
    const gate = closed(rolloutSettings.canary, rolloutSettings.soakMs, 'canaries');
    if (gate) return gate;
  }
  return rolloutSettings.pauseMs > 0 && replicas > 0
    ? closed(replicas, rolloutSettings.pauseMs, 'machines of the new template')
    : undefined;
}

export interface GateInput {
  readonly deployment: MachineDeployment;
  readonly rolloutSettings: RolloutSettings;
  readonly current: MachineSet | undefined;
  readonly machines: readonly Machine[];
  readonly old: readonly MachineSet[];
  readonly rolling: boolean;
  readonly now: Date;
}

/** Returns true if the rollout returns to the last good template. mcm neither delays nor pauses such a rollout. */
export const isReturn = ({ metadata }: MachineDeployment, current: MachineSet | undefined): boolean =>
  current !== undefined && metadata.annotations?.[Annotations.RolloutLastGood] === current.metadata.name;

const isObserved = ({ deployment, rolloutSettings, current }: GateInput): boolean =>
  hasRolloutSettings(rolloutSettings) &&
  deployment.spec.strategy?.type !== 'Recreate' &&
  !isReturn(deployment, current);

/**
 * Returns true during a rollout. The creation of a deployment is not a rollout. After the last old machine is gone, the
 * rollout lasts until all machines have the new template.
 */
const isRollout = ({ deployment, old, rolling }: GateInput): boolean =>
  rolling ||
  old.some(({ metadata }) => metadata.name === deployment.metadata.annotations?.[Annotations.RolloutLastGood]);

export const hasSoaked = (input: GateInput): boolean =>
  isObserved(input) && isRollout(input) && input.rolloutSettings.canary > 0 && closedGate(input) === undefined;

/** Returns the end of the last soak time or batch pause of a rollout, which can be in the past. */
export function soakEndOf(input: GateInput): Date | undefined {
  if (!isObserved(input) || !isRollout(input)) return undefined;
  const { rolloutSettings, current, machines } = input;
  const { canary, soakMs, pauseMs } = rolloutSettings;
  const ends = [
    canary > 0 ? soakedAt(machines, canary, soakMs) : undefined,
    pauseMs > 0 ? soakedAt(machines, current?.spec.replicas ?? 0, pauseMs) : undefined,
  ].filter((end) => end !== undefined);
  return ends.length === 0 ? undefined : new Date(Math.max(...ends));
}

/**
 * Returns the limit for a deployment whose template is not proven, or undefined if there is no limit. During a pause,
 * the current set keeps its size. After an automatic pause, the rollout stays paused until a user resumes it, even if
 * the current set has no machines.
 */
export function closedGate(input: GateInput): Gate | undefined {
  const { deployment, rolloutSettings, current, machines, old, now } = input;
  if (!isObserved(input)) return undefined;
  const replicas = current?.spec.replicas ?? 0;
  const paused = deployment.spec.paused === true;
  const note = deployment.metadata.annotations?.[Annotations.RolloutPausedBy];
  if (paused && note !== undefined && old.length > 0) {
    return {
      ceiling: replicas,
      opensAt: undefined,
      because: `waiting: ${notedNames(note)} failed with the new template`,
    };
  }
  const gate = isRollout(input) ? gateOf(rolloutSettings, replicas, machines, now) : undefined;
  return gate && paused ? { ...gate, ceiling: replicas } : gate;
}

/**
 * Returns the time until which mcm keeps failed machines of an unproven template. During a pause, mcm replaces no
 * failed machine, because its replacement would also fail.
 */
export const keptFailures = (
  { spec }: MachineDeployment,
  gate: Gate | undefined,
): { readonly keeps?: { readonly until: Date | undefined } } =>
  spec.paused === true && gate !== undefined ? { keeps: { until: gate.opensAt } } : {};

/** Returns the time until which mcm keeps failed machines of the current set during a pause. */
export function keptInPause(
  deployment: MachineDeployment,
  { current, old }: Sets,
  machinesOf: (set: MachineSet) => readonly Machine[],
  now: Date,
): ReturnType<typeof keptFailures> {
  if (deployment.spec.paused !== true) return {};
  const rolling = old.some((set) => (set.spec.replicas ?? 0) > 0 || machinesOf(set).length > 0);
  const machines = current ? machinesOf(current) : [];
  const rolloutSettings = rolloutSettingsOf(deployment);
  return keptFailures(deployment, closedGate({ deployment, rolloutSettings, current, machines, old, rolling, now }));
}

const FAILURES: ReadonlySet<string> = new Set(['Failed', 'CrashLoopBackOff', 'InPlaceUpdateFailed']);

/**
 * Returns the failed machines that stop a rollout. These machines were created with the new template or updated to it.
 */
export const failuresOf = (current: readonly Machine[], old: readonly Machine[]): Machine[] => [
  ...current.filter((machine) => FAILURES.has(phaseOf(machine) ?? '')),
  ...old.filter((machine) => phaseOf(machine) === 'InPlaceUpdateFailed' && !isTerminating(machine)),
];

/** The note of an automatic pause lists the failed machines, so that each failure pauses the rollout only once. */
export interface AutomaticPause {
  readonly note: string;
  readonly message: string;
  /** The revision to which the rollout returns, or undefined if the rollout is paused instead. */
  readonly undoTo?: number;
}

const MOST_NAMES = 5;

function failedOf(machines: readonly Machine[]): string {
  const names = machines
    .filter((one) => FAILURES.has(phaseOf(one) ?? '') && !isTerminating(one))
    .map(({ metadata }) => metadata.name);
  if (names.length === 0) return '';
  return `${names.slice(0, MOST_NAMES).join(', ')}${names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : ''} failed`;
}

export const isNoted = ({ metadata }: MachineDeployment, set: string): boolean =>
  metadata.annotations?.[Annotations.RolloutPausedBy]?.split(',').some((entry) => entry.startsWith(`${set}-`)) === true;

/** Returns the names of the machines in the note of an automatic pause. */
export const notedNames = (note: string): string =>
  note
    .split(',')
    .map((entry) => entry.split('~')[0])
    .join(', ');

/**
 * Returns an automatic pause for failures that have not paused the rollout before.
 * @param undoTo the revision of the last good template, if the rollout returns to it
 */
export function pauseOn(
  deployment: MachineDeployment,
  failures: readonly Machine[],
  undoTo?: number,
  unready = '',
): AutomaticPause | undefined {
  const noted = deployment.metadata.annotations?.[Annotations.RolloutPausedBy]?.split(',') ?? [];
  const all = failures.map(({ metadata: { name, uid } }) => `${name}~${uid}`).sort();
  if (all.every((entry) => noted.includes(entry))) return undefined;
  const fresh = all.filter((entry) => !noted.includes(entry)).slice(0, MOST_NAMES);
  if (undoTo !== undefined) {
    const message = `mcm undoes the rollout, because ${notedNames(fresh.join(','))} failed with the new template. ${unready}The deployment returns to revision ${undoTo}.`;
    return { note: all.join(','), message, undoTo };
  }
  const message = `mcm paused the rollout, because ${notedNames(fresh.join(','))} failed with the new template. ${unready}Undo the rollout, correct the template, or set spec.paused to false to continue.`;
  return { note: all.join(','), message };
}
