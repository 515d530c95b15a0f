import type { Pod } from '@mcm/kube';
import type { KubeletBehaviour } from '../../machine/behaviour.ts';
import { parseDuration } from '../../values/duration.ts';
import { MIRROR_ANNOTATION, PodAnnotations } from './project-pod.ts';

/** The next step of a kubelet for one pod of its node. */
export type PodStep =
  | { readonly do: 'nothing' }
  /** Nothing before this time (milliseconds). */
  | { readonly do: 'wait'; readonly until: number }
  /** Start the containers: phase Running, with or without readiness. */
  | { readonly do: 'start'; readonly ready: boolean }
  | { readonly do: 'becomeReady' }
  /** The containers ended by themselves. */
  | { readonly do: 'finish'; readonly phase: 'Succeeded' | 'Failed'; readonly exitCode: number }
  /** Containers have ended on request, and a finalizer keeps the pod: report their end. */
  | { readonly do: 'reportEnd' }
  /** Remove the object: the kubelet's last word, with grace period 0. */
  | { readonly do: 'remove' };

export interface PodView {
  readonly pod: Pod;
  readonly behaviour: KubeletBehaviour;
  readonly now: number;
  /** When this kubelet first saw the deletion; milliseconds. */
  readonly deletionSeenAt: number | undefined;
  /** The final status of this pod was already written. */
  readonly removed: boolean;
  /** All volumes of the pod are attached to the node. */
  readonly volumesAttached: boolean;
}

/** Jobs' containers run this long unless their pod says otherwise. */
const JOB_RUNS_MS = 1_000;

/** Decides a pod's next step by the rules of the kubelet's pod lifecycle. */
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
  // Containers that can be restarted run forever: a restart looks like running on.
  const endsAt = runFor !== undefined && pod.spec.restartPolicy !== 'Always' ? startedAt + runFor : undefined;
  if (endsAt !== undefined && now >= endsAt) return finish(pod);
  const readyAt = isReady(pod) ? undefined : startedAt + readyAfter;
  if (readyAt !== undefined && now >= readyAt) return { do: 'becomeReady' };
  const next = Math.min(endsAt ?? Number.POSITIVE_INFINITY, readyAt ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(next) ? { do: 'wait', until: next } : { do: 'nothing' };
}

/** With `OnFailure` a container that fails is started again, and in the end succeeds. */
function finish(pod: Pod): PodStep {
  const exitCode = Number(pod.metadata.annotations?.[PodAnnotations.ExitCode] ?? 0) || 0;
  if (exitCode === 0 || pod.spec.restartPolicy === 'OnFailure')
    return { do: 'finish', phase: 'Succeeded', exitCode: 0 };
  return { do: 'finish', phase: 'Failed', exitCode };
}

function planTermination(view: PodView, deletionTimestamp: string): PodStep {
  const { pod, now, removed } = view;
  const phase = pod.status?.phase ?? 'Pending';
  // A mirror's containers are not the API's: only the object goes.
  const runs = phase === 'Running' && pod.metadata.annotations?.[MIRROR_ANNOTATION] === undefined;
  const endsAt = runs ? terminationEnd(view, Date.parse(deletionTimestamp)) : now;
  if (now < endsAt) return { do: 'wait', until: endsAt };
  // A finalizer keeps the object after its final status, which must stay readable, because Jobs count it.
  const held = (pod.metadata.finalizers?.length ?? 0) > 0;
  if (held && (runs || phase === 'Pending')) return { do: 'reportEnd' };
  if (removed || (held && pod.metadata.deletionGracePeriodSeconds === 0)) return { do: 'nothing' };
  return { do: 'remove' };
}

/** The deletion timestamp is the end of the grace period; containers may be quicker, never slower. */
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

/** A duration that cannot be read is as if it were not there. */
function duration(pod: Pod, annotation: string): number | undefined {
  const text = pod.metadata.annotations?.[annotation];
  return text === undefined ? undefined : parseDuration(text);
}

const isJob = (pod: Pod): boolean => pod.metadata.ownerReferences?.some(({ kind }) => kind === 'Job') ?? false;

const isReady = (pod: Pod): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
