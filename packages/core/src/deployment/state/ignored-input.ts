import { Annotations, counted, freezeProblem, type MachineDeployment, MachineDeploymentConditions } from '@mcm/api';
import { autoscalerSizesOf } from '../../objects/autoscaler-sizes.ts';
import type { ConditionChange } from '../../objects/conditions.ts';
import { fenceposts } from '../../objects/limits.ts';
import { expiryProblem } from '../../objects/mark-expiry.ts';
import { isGoDuration, parseInstant } from '../../values/integers.ts';
import { bufferProblem } from '../../warm/buffer.ts';
import { warmSettingOf } from '../../warm/warm-machine.ts';

type Annotated = { readonly metadata: Pick<MachineDeployment['metadata'], 'annotations'> };

const TYPE = MachineDeploymentConditions.InputIgnored;

/** The schema of the CRD cannot refuse an invalid annotation, so mcm ignores it. */
export function ignoredAnnotations(deployment: Annotated): string[] {
  const { annotations = {} } = deployment.metadata;
  const sizes = autoscalerSizesOf(deployment);
  const warm = warmSettingOf(deployment);
  const expiry = expiryProblem(annotations);
  const buffer = bufferProblem(annotations);
  const { [Annotations.EffectiveCreationTimeout]: timeout, [Annotations.LastReplicaChangeByScaler]: time } =
    annotations;
  const reported = (key: string, value: string, hint: string) =>
    `metadata.annotations[${key}]: ${JSON.stringify(value)} is ignored; ${hint}`;
  return [
    ...(timeout === undefined || isGoDuration(timeout)
      ? []
      : [reported(Annotations.EffectiveCreationTimeout, timeout, 'write a duration such as "20m"')]),
    ...(time === undefined || parseInstant(time) !== undefined
      ? []
      : [
          reported(
            Annotations.LastReplicaChangeByScaler,
            time,
            'write an RFC 3339 time such as "2026-01-01T12:00:00Z"',
          ),
        ]),
    ...(sizes && 'problem' in sizes ? [sizes.problem] : []),
    ...(warm && 'problem' in warm ? [warm.problem] : []),
    ...(expiry === undefined ? [] : [expiry]),
    ...(buffer === undefined ? [] : [buffer]),
  ];
}

/**
 * With few replicas, `maxSurge` and `maxUnavailable` can both be rounded to zero. To let the rollout make progress, mcm
 * allows one unavailable machine.
 */
function noLimits({ spec }: MachineDeployment): string | undefined {
  const { type, rollingUpdate, inPlaceUpdate } = spec.strategy ?? {};
  const field = type === 'RollingUpdate' ? 'rollingUpdate' : 'inPlaceUpdate';
  const limits = type === 'RollingUpdate' ? rollingUpdate : inPlaceUpdate;
  const { replicas = 0 } = spec;
  if (type === 'Recreate' || limits === undefined || replicas === 0) return undefined;
  const manual = type === 'InPlaceUpdate' && inPlaceUpdate?.orchestrationType === 'Manual';
  const surge = manual ? 0 : limits.maxSurge;
  // If the surge is 0, `fenceposts` returns at least 1 for `unavailable`.
  const { surge: more, unavailable } = fenceposts(surge, limits.maxUnavailable, replicas);
  const given = fenceposts(1, limits.maxUnavailable, replicas).unavailable;
  if (more !== 0 || unavailable !== 1 || given !== 0) return undefined;
  const texts = `${manual ? '' : `maxSurge ${limits.maxSurge} and `}maxUnavailable ${limits.maxUnavailable}`;
  return `spec.strategy.${field}: ${texts} allow no change of ${counted(replicas, 'machine')}, so updates could not start. mcm uses maxUnavailable: 1. Set maxUnavailable or maxSurge to at least 1`;
}

export function ignoredInput(
  deployment: MachineDeployment,
): Extract<ConditionChange, { type: typeof TYPE }> | undefined {
  const annotations = ignoredAnnotations(deployment);
  const limits = noLimits(deployment);
  const label = freezeProblem(deployment);
  const all = [...annotations, ...(label ? [label] : []), ...(limits ? [limits] : [])];
  if (all.length === 0) return undefined;
  const other = label ? 'LabelNotUnderstood' : 'LimitsComeToZero';
  const reason = annotations.length > 0 ? 'AnnotationNotUnderstood' : other;
  return { type: TYPE, status: 'True', reason, message: `${all.join('. ')}.` };
}
