import { Annotations, freezeProblem, type MachineDeployment, MachineDeploymentConditions } from '@mcm/api';
import type { ConditionChange } from '../../objects/conditions.ts';
import { fenceposts } from '../../objects/limits.ts';
import { isGoDuration, parseTime } from '../../values/integers.ts';

const TYPE = MachineDeploymentConditions.InputIgnored;

/** Annotations that mean nothing and are read by those who would otherwise act on them; no schema can refuse them. */
function unreadable({ metadata: { annotations = {} } }: MachineDeployment): string[] {
  const { [Annotations.EffectiveCreationTimeout]: timeout, [Annotations.LastReplicaChangeByScaler]: time } =
    annotations;
  const told = (key: string, value: string, hint: string) =>
    `metadata.annotations[${key}]: ${JSON.stringify(value)} is not heeded; ${hint}`;
  return [
    ...(timeout === undefined || isGoDuration(timeout)
      ? []
      : [told(Annotations.EffectiveCreationTimeout, timeout, 'write a duration such as "20m"')]),
    ...(time === undefined || parseTime(time) !== undefined
      ? []
      : [told(Annotations.LastReplicaChangeByScaler, time, 'write an RFC 3339 time such as "2026-01-01T12:00:00Z"')]),
  ];
}

/** Both limits come to 0 for so few replicas: nothing could ever move, so one machine may be missing all the same. */
function noLimits({ spec }: MachineDeployment): string | undefined {
  const { type, rollingUpdate, inPlaceUpdate } = spec.strategy ?? {};
  const field = type === 'RollingUpdate' ? 'rollingUpdate' : 'inPlaceUpdate';
  const limits = type === 'RollingUpdate' ? rollingUpdate : inPlaceUpdate;
  const { replicas = 0 } = spec;
  if (type === 'Recreate' || limits === undefined || replicas === 0) return undefined;
  const manual = type === 'InPlaceUpdate' && inPlaceUpdate?.orchestrationType === 'Manual';
  const surge = manual ? 0 : limits.maxSurge;
  // Whether the floor came in: with one more to give, the surge is 0 only where the text of it is.
  const { surge: more, unavailable } = fenceposts(surge, limits.maxUnavailable, replicas);
  const given = fenceposts(1, limits.maxUnavailable, replicas).unavailable;
  if (more !== 0 || unavailable !== 1 || given !== 0) return undefined;
  const texts = `${manual ? '' : `maxSurge ${limits.maxSurge} and `}maxUnavailable ${limits.maxUnavailable}`;
  return `spec.strategy.${field}: ${texts} come to 0 of ${replicas} machines; one may be unavailable all the same, or nothing could be updated. Write maxUnavailable: 1, or a maxSurge of 1 and more`;
}

/** What of a deployment is not done as it is written, though the rest is; undefined: all is. */
export function ignoredInput(
  deployment: MachineDeployment,
): Extract<ConditionChange, { type: typeof TYPE }> | undefined {
  const annotations = unreadable(deployment);
  const limits = noLimits(deployment);
  const label = freezeProblem(deployment);
  const all = [...annotations, ...(label ? [label] : []), ...(limits ? [limits] : [])];
  if (all.length === 0) return undefined;
  const other = label ? 'LabelNotUnderstood' : 'LimitsComeToZero';
  const reason = annotations.length > 0 ? 'AnnotationNotUnderstood' : other;
  return { type: TYPE, status: 'True', reason, message: `${all.join('. ')}.` };
}
