import { Annotations, Labels, type Machine, type MachineDeployment, MachineDeploymentConditions } from '@mcm/api';
import { controllerOf, type Pod } from '@mcm/kube';
import { findCondition } from '../objects/conditions.ts';
import { parseInstant } from '../values/integers.ts';
import type { CanaryCheck } from './canary-checks.ts';
import { type Gate, type GateInput, hasSoaked, type RolloutSettings } from './rollout-gate.ts';

export interface UnreadyCanary {
  readonly uid: string;
  readonly pods: readonly string[];
}

/** The pods of the canaries whose soak time has ended. */
export interface CanaryPods {
  readonly canaries: readonly UnreadyCanary[];
  /** The reason why the manager cannot read the pods, as a part of a sentence. */
  readonly unseen?: string | undefined;
}

/** A pod may be starting for this time after its creation. */
const START_MS = 120_000;
const RETRY_MS = 60_000;
const MOST_PODS = 5;

const startMs = ({ soakMs }: RolloutSettings): number => Math.min(START_MS, soakMs / 2);

/**
 * Returns the pods that should be Ready but are not, as `namespace/name`. Pods that have ended, pods in deletion, pods
 * that run once, and pods that started a moment ago do not count as unready.
 */
export function unreadyPods(pods: readonly Pod[], settings: RolloutSettings, now: Date): readonly string[] {
  const isOld = ({ metadata, status }: Pod): boolean => {
    const text = typeof status?.['startTime'] === 'string' ? status['startTime'] : metadata.creationTimestamp;
    return (parseInstant(text) ?? 0) + startMs(settings) <= now.getTime();
  };
  const counts = (pod: Pod): boolean =>
    pod.metadata.deletionTimestamp === undefined &&
    !['Succeeded', 'Failed'].includes(pod.status?.phase ?? '') &&
    controllerOf(pod)?.kind !== 'Job' &&
    pod.metadata.labels?.[Labels.IgnoreReadiness] !== 'true';
  const isReady = ({ status }: Pod): boolean =>
    status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
  return pods
    .filter((pod) => counts(pod) && isOld(pod) && !isReady(pod))
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    .toSorted();
}

export const mustSeePods = (input: GateInput): boolean =>
  input.rolloutSettings.canaryPodsReady === true &&
  input.rolling &&
  input.current !== undefined &&
  input.deployment.metadata.annotations?.[Annotations.RolloutCanaryPodsSeen] !== input.current.metadata.name &&
  hasSoaked(input);

/** Returns the canaries with unready pods, except machines that have already paused the rollout. */
export function unreadyCanaries(
  { metadata }: MachineDeployment,
  seen: CanaryPods | undefined,
  machines: readonly Machine[],
): readonly Machine[] {
  const noted = metadata.annotations?.[Annotations.RolloutPausedBy]?.split(',') ?? [];
  const unready = new Set(seen?.canaries.filter(({ pods }) => pods.length > 0).map(({ uid }) => uid));
  return machines.filter(({ metadata: { name, uid } }) => unready.has(uid) && !noted.includes(`${name}~${uid}`));
}

export function checkOf({ canaries, unseen }: CanaryPods): CanaryCheck {
  if (unseen !== undefined) return 'Unknown';
  return canaries.some(({ pods }) => pods.length > 0) ? 'NotReady' : 'Ready';
}

export function unreadyText(seen: CanaryPods | undefined): string {
  const pods = seen?.canaries.flatMap((canary) => canary.pods) ?? [];
  if (pods.length === 0) return '';
  const more = pods.length > MOST_PODS ? ` and ${pods.length - MOST_PODS} more` : '';
  return `These pods are not Ready: ${pods.slice(0, MOST_PODS).join(', ')}${more}. `;
}

const UNREADABLE = 'the manager cannot read the pods of the canaries: ';

/**
 * If the manager cannot read the pods of the canaries, returns the error from the condition of the deployment. Programs
 * without access to the pods read this condition.
 */
export function reportedCanaryPods({ status }: Pick<MachineDeployment, 'status'>): CanaryPods | undefined {
  const waiting = findCondition(status?.conditions ?? [], MachineDeploymentConditions.RolloutWaiting);
  if (waiting?.reason !== 'CanaryPodsUnknown') return undefined;
  const unseen = (waiting.message ?? '').split(UNREADABLE).at(-1) ?? '';
  return { canaries: [], unseen: unseen.replace(/\.$/, '') };
}

/**
 * Returns the limit that applies to a rollout until all pods of its canaries are Ready. Without `seen`, for example in
 * a simulation, all pods of canaries count as Ready.
 */
export function podGate(input: GateInput, seen: CanaryPods | undefined): Gate | undefined {
  if (!mustSeePods(input)) return undefined;
  const { deployment, rolloutSettings, current, machines, now } = input;
  const replicas = current?.spec.replicas ?? 0;
  const paused = deployment.spec.paused === true;
  const ceiling = paused ? replicas : Math.max(rolloutSettings.canary, replicas);
  if (paused) return { ceiling, opensAt: undefined, because: 'waiting: the pods of the canaries were not checked yet' };
  if (seen?.unseen !== undefined) {
    const because = `waiting: ${UNREADABLE}${seen.unseen}`;
    return { ceiling, opensAt: new Date(now.getTime() + RETRY_MS), because, waits: 'CanaryPodsUnknown' };
  }
  const unready = unreadyCanaries(deployment, seen, machines);
  if (unready.length === 0) return undefined;
  const names = unready.map(({ metadata }) => metadata.name).join(', ');
  return { ceiling, opensAt: undefined, because: `waiting: pods of ${names} are not Ready` };
}
