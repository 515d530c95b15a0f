import { Annotations, parseTime } from '@mcm/api';
import { type Attempt, type DrainObservation, type DrainPod, NO_DRAIN_MEMORY } from '@mcm/core';
import { controllerOf, isReady, type Pod } from '@mcm/kube';

const DEFAULT_GRACE_SECONDS = 30;
/** A drain for a config update is never forced, because the daemon has its own timeout and requests the drain again. */
const NEVER = new Date(8.64e15);

/**
 * Returns the input for the drain planner of `@mcm/core`. The node stays in the cluster, so the drain does not wait for
 * volumes.
 */
export const observeNode = (
  nodeName: string,
  pods: readonly Pod[],
  attempts: ReadonlyMap<string, Attempt>,
): DrainObservation => ({
  nodeName,
  pods: pods.map(observePod),
  attachments: [],
  attachedElsewhere: new Set(),
  tracksVolumes: false,
  memory: { ...NO_DRAIN_MEMORY, attempts },
  evictUntil: NEVER,
  forceAt: NEVER,
  forced: false,
  detachTimeoutMs: 0,
  reattachTimeoutMs: 0,
  volumeWindow: Number.MAX_SAFE_INTEGER,
});

function observePod(pod: Pod): DrainPod {
  const { metadata, spec, status } = pod;
  const ownerKind = controllerOf(pod)?.kind;
  const dueAt = parseTime(metadata.deletionTimestamp);
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    phase: status?.phase ?? '',
    ready: isReady(pod),
    graceMs: (spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS) * 1_000,
    priority: spec.priority ?? 0,
    mirror: metadata.annotations?.[Annotations.MirrorPod] !== undefined,
    localStorage: spec.volumes?.some(({ emptyDir }) => emptyDir) ?? false,
    hasClaims: false,
    volumes: [],
    budgets: [],
    ownerKind,
    dueAt,
  };
}
