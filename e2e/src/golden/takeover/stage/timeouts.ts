import { Annotations, type Machine, type MachineDeployment, parseDurationMs } from '@mcm/api';
import type { KubeObject } from '@mcm/kube';
import { DEFAULTS, millis } from './stage.ts';

const MARGIN_MS = 1_000;
const BEING_MADE: ReadonlySet<string> = new Set(['', 'Pending', 'CrashLoopBackOff']);
const IN_PLACE: ReadonlySet<string> = new Set(['InPlaceUpdating', 'InPlaceUpdateSuccessful']);

/** Returns the milliseconds from `now` until a timeout changes one of the objects. */
export function untilTimeout(objects: readonly KubeObject[], now: Date): number {
  const instants = objects.flatMap((object) => {
    if (object.kind === 'Machine') return timeoutsOf(object as Machine);
    return object.kind === 'MachineDeployment' ? deadlineOf(object as MachineDeployment) : [];
  });
  const running = instants.filter((instant) => instant > now.getTime());
  return Math.max(Math.min(...running) - now.getTime() - MARGIN_MS, 0);
}

function timeoutsOf({ metadata, spec, status }: Machine): readonly number[] {
  const { phase = '', lastUpdateTime, preserveExpiryTime } = status?.currentStatus ?? {};
  const ms = (text: string | undefined, otherwise: number): number => parseDurationMs(text ?? '') ?? otherwise;
  const since = millis(lastUpdateTime);
  const creation = metadata.annotations?.[Annotations.EffectiveCreationTimeout] ?? spec.creationTimeout;
  return [
    ...(preserveExpiryTime ? [millis(preserveExpiryTime)] : []),
    ...(BEING_MADE.has(phase) ? [millis(metadata.creationTimestamp) + ms(creation, DEFAULTS.creationTimeoutMs)] : []),
    ...(phase === 'Unknown' && !spec.disableHealthTimeout
      ? [since + ms(spec.healthTimeout, DEFAULTS.healthTimeoutMs)]
      : []),
    ...(IN_PLACE.has(phase) ? [since + ms(spec.inPlaceUpdateTimeout, DEFAULTS.inPlaceUpdateTimeoutMs)] : []),
    ...(metadata.deletionTimestamp
      ? [millis(metadata.deletionTimestamp) + ms(spec.drainTimeout, DEFAULTS.drainTimeoutMs)]
      : []),
  ];
}

/** Returns the time at which a rollout without progress exceeds its progress deadline. */
function deadlineOf({ spec, status }: MachineDeployment): readonly number[] {
  const { progressDeadlineSeconds } = spec;
  const progressing = status?.conditions?.find(({ type }) => type === 'Progressing');
  if (progressDeadlineSeconds === undefined || !progressing || progressing.reason === 'NewMachineSetAvailable')
    return [];
  return [millis(progressing.lastUpdateTime) + progressDeadlineSeconds * 1_000];
}
