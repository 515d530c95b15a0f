import type { Pod } from '@mcm/kube';
import type { KubeletBehaviour } from '../../machine/behaviour.ts';
import { parseDuration } from '../../values/duration.ts';
import { MIRROR_ANNOTATION, PodAnnotations } from './project-pod.ts';

export type PodStep =
  | { readonly do: 'nothing' }
  /** The kubelet waits until the given time in milliseconds, and then plans the pod again. */
  | { readonly do: 'wait'; readonly until: number }
  /** The kubelet starts the containers. */
  | { readonly do: 'start'; readonly ready: boolean }
  | { readonly do: 'becomeReady' }
  /** The kubelet reports that containers have ended although the pod was not deleted. */
  | { readonly do: 'finish'; readonly phase: 'Succeeded' | 'Failed'; readonly exitCode: number }
  /** The kubelet reports the end of the containers of a deleted pod. A finalizer keeps the Pod object. */
  | { readonly do: 'reportEnd' }
  /** The kubelet deletes the Pod object with a grace period of 0. */
  | { readonly do: 'remove' };

export interface PodView {
  readonly pod: Pod;
  readonly behaviour: KubeletBehaviour;
  readonly now: number;
  readonly deletionSeenAt: number | undefined;
  /** Whether the kubelet has written the final status of the pod. */
  readonly removed: boolean;
  readonly volumesAttached: boolean;
}

/** The default time after which the containers of a Job end. An annotation of the pod can set another time. */
const JOB_RUNS_MS = 1_000;

/** Plans the next step of a pod with the rules of the kubelet's pod lifecycle. */
export function planPod(view: PodView): PodStep {
  const { pod } = view;
  if (pod.metadata.deletionTimestamp !== undefined) return planTermination(view, pod.metadata.deletionTimestamp);
  const phase = pod.status?.phase ?? 'Pending';
  if (phase === 'Succeeded' || phase === 'Failed') return { do: 'nothing' };
  const readyAfter = duration(pod, PodAnnotations.ReadyAfter) ?? view.behaviour.podReadyDelay ?? 0;
  if (phase !== 'Running') return view.volumesAttached ? { do: 'start', ready: readyAfter <= 0 } : { do: 'nothing' };
  return planRunning(view, readyAfter);
}

function planRunning({ pod, now }: PodView, readyAfter: number): PodStep {
  const startedAt = Date.parse(String(pod.status?.startTime ?? '')) || now;
  const runFor = duration(pod, PodAnnotations.RunFor) ?? (isJob(pod) ? JOB_RUNS_MS : undefined);
  // With the restart policy Always, containers are restarted, so the end of a container does not change the status.
  const endsAt = runFor !== undefined && pod.spec.restartPolicy !== 'Always' ? startedAt + runFor : undefined;
  if (endsAt !== undefined && now >= endsAt) return finish(pod);
  const readyAt = isReady(pod) ? undefined : startedAt + readyAfter;
  if (readyAt !== undefined && now >= readyAt) return { do: 'becomeReady' };
  const next = Math.min(endsAt ?? Number.POSITIVE_INFINITY, readyAt ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(next) ? { do: 'wait', until: next } : { do: 'nothing' };
}

/** Plans the end of a pod. With the restart policy `OnFailure`, a failed container is restarted until it succeeds. */
function finish(pod: Pod): PodStep {
  const exitCode = Number(pod.metadata.annotations?.[PodAnnotations.ExitCode] ?? 0) || 0;
  if (exitCode === 0 || pod.spec.restartPolicy === 'OnFailure')
    return { do: 'finish', phase: 'Succeeded', exitCode: 0 };
  return { do: 'finish', phase: 'Failed', exitCode };
}

function planTermination(view: PodView, deletionTimestamp: string): PodStep {
  const { pod, now, removed } = view;
  const phase = pod.status?.phase ?? 'Pending';
  // The API server does not control the containers of a mirror pod, so the kubelet only deletes the Pod object.
  const runs = phase === 'Running' && pod.metadata.annotations?.[MIRROR_ANNOTATION] === undefined;
  const endsAt = runs ? terminationEnd(view, Date.parse(deletionTimestamp)) : now;
  if (now < endsAt) return { do: 'wait', until: endsAt };
  // A finalizer keeps a pod after its final status. The status must stay readable, because the Job controller counts
  // it.
  const held = (pod.metadata.finalizers?.length ?? 0) > 0;
  if (held && (runs || phase === 'Pending')) return { do: 'reportEnd' };
  if (removed || (held && pod.metadata.deletionGracePeriodSeconds === 0)) return { do: 'nothing' };
  return { do: 'remove' };
}

/** Returns the time at which the containers of a deleted pod end. */
function terminationEnd({ pod, behaviour, now, deletionSeenAt }: PodView, graceEnd: number): number {
  const wish = shutdownWish(pod) ?? behaviour.podShutdown ?? 'grace';
  if (wish === 'grace') return graceEnd;
  const seen = deletionSeenAt ?? now;
  return wish === 'immediate' ? seen : Math.min(graceEnd, seen + wish);
}

function shutdownWish(pod: Pod): 'grace' | 'immediate' | number | undefined {
  const text = pod.metadata.annotations?.[PodAnnotations.ShutdownAfter];
  return text === 'grace' || text === 'immediate' ? text : duration(pod, PodAnnotations.ShutdownAfter);
}

/** Parses a duration in an annotation. */
function duration(pod: Pod, annotation: string): number | undefined {
  const text = pod.metadata.annotations?.[annotation];
  return text === undefined ? undefined : parseDuration(text);
}

const isJob = (pod: Pod): boolean => pod.metadata.ownerReferences?.some(({ kind }) => kind === 'Job') ?? false;

const isReady = (pod: Pod): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
