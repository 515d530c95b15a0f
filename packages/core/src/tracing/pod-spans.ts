import type { Machine } from '@mcm/api';
import { type SpanEvent, type SpanValue, spanIdOf } from '@mcm/kube';
import { forcedKey } from '../drain/drain.ts';
import type { Attempt, DrainObservation, DrainPod, PodRef, VolumeMove } from '../drain/model/observation.ts';
import { verdictOf } from '../drain/model/pod-filters.ts';

export interface PodSpan {
  readonly spanId: string;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
  readonly events: readonly SpanEvent[];
}

interface OpenPod {
  readonly ref: PodRef;
  readonly startMs: number;
  readonly attempt: Attempt | undefined;
  readonly forced: boolean;
  readonly refusals: readonly SpanEvent[];
}

/** A budget can refuse the eviction of a pod for hours, so the number of refusals in a span is limited. */
const MAX_REFUSALS = 20;

const attributesOf = ({ namespace, name, uid }: PodRef): Record<string, SpanValue> => ({
  'k8s.namespace.name': namespace,
  'k8s.pod.name': name,
  'k8s.pod.uid': uid,
});

/** After a restart, mcm reads the time of the deletion request from the pod. */
const startOf = (pod: DrainPod, attempt: Attempt | undefined, nowMs: number): number =>
  Math.min(attempt?.at.getTime() ?? nowMs, pod.dueAt ? pod.dueAt.getTime() - pod.graceMs : nowMs);

function refusalOf(attempt: Attempt | undefined, before: OpenPod | undefined): readonly SpanEvent[] {
  const refusals = before?.refusals ?? [];
  if (attempt === undefined || attempt.result === 'asked' || attempt.result === before?.attempt?.result)
    return refusals;
  if (refusals.length >= MAX_REFUSALS) return refusals;
  const event = { name: 'refused', atMs: attempt.at.getTime(), attributes: { 'refusal.message': attempt.message } };
  return [...refusals, event];
}

/**
 * Creates the spans of the pods in a drain. mcm computes the spans of pods from successive observations of the drain,
 * so the spans need no additional requests. After a restart, the spans of existing pods have equal IDs.
 */
export class PodSpans {
  readonly #open = new Map<string, ReadonlyMap<string, OpenPod>>();
  readonly #moved = new Map<string, Set<string>>();

  /** Returns the spans that ended since the last call for the machine. */
  observe({ metadata: { uid } }: Machine, drain: DrainObservation | undefined, now: Date): readonly PodSpan[] {
    if (drain === undefined) {
      this.forget(uid);
      return [];
    }
    const before = this.#open.get(uid) ?? new Map<string, OpenPod>();
    const open = openPods(drain, before, now.getTime());
    this.#open.set(uid, open);
    const present = new Set(drain.pods.map((pod) => pod.uid));
    const gone = [...before.values()].filter(({ ref }) => !present.has(ref.uid));
    return [...gone.map((pod) => podSpan(uid, pod, now.getTime())), ...this.#moves(uid, drain, now.getTime())];
  }

  forget(uid: string): void {
    this.#open.delete(uid);
    this.#moved.delete(uid);
  }

  #moves(uid: string, drain: DrainObservation, nowMs: number): readonly PodSpan[] {
    const reported = this.#moved.get(uid) ?? new Set<string>();
    const ended = [...drain.memory.moves.values()].filter(
      (move) => !reported.has(move.pod.uid) && hasEnded(move, drain.attachedElsewhere),
    );
    for (const { pod } of ended) reported.add(pod.uid);
    if (reported.size > 0) this.#moved.set(uid, reported);
    return ended.map((move) => moveSpan(uid, move, nowMs));
  }
}

function openPods(
  drain: DrainObservation,
  before: ReadonlyMap<string, OpenPod>,
  nowMs: number,
): ReadonlyMap<string, OpenPod> {
  const { attempts } = drain.memory;
  const open = new Map<string, OpenPod>();
  for (const pod of drain.pods) {
    const forced = attempts.get(forcedKey(pod));
    const attempt = attempts.get(pod.uid) ?? forced;
    const known = before.get(pod.uid);
    if (known === undefined && (verdictOf(pod).pod === 'stay' || (attempt === undefined && !pod.dueAt))) continue;
    open.set(pod.uid, {
      ref: { namespace: pod.namespace, name: pod.name, uid: pod.uid },
      startMs: known?.startMs ?? startOf(pod, attempt, nowMs),
      attempt,
      forced: forced !== undefined,
      refusals: refusalOf(attempt, known),
    });
  }
  return open;
}

const podSpan = (uid: string, { ref, startMs, forced, refusals }: OpenPod, endMs: number): PodSpan => ({
  spanId: spanIdOf(uid, 'pod', ref.uid),
  name: `pod ${ref.namespace}/${ref.name}`,
  startMs,
  endMs,
  attributes: Object.assign(attributesOf(ref), { 'drain.forced': forced }),
  events: refusals,
});

const hasEnded = (
  { goneAt, detachedAt, returns, volumes }: VolumeMove,
  attachedElsewhere: ReadonlySet<string>,
): boolean =>
  goneAt !== undefined && detachedAt !== undefined && (!returns || volumes.every((one) => attachedElsewhere.has(one)));

const moveSpan = (uid: string, { pod, volumes, goneAt, detachedAt }: VolumeMove, nowMs: number): PodSpan => ({
  spanId: spanIdOf(uid, 'volumes', pod.uid),
  name: `volumes of pod ${pod.namespace}/${pod.name}`,
  startMs: goneAt?.getTime() ?? nowMs,
  endMs: nowMs,
  attributes: Object.assign(attributesOf(pod), { 'k8s.volumes': volumes.join(',') }),
  events: detachedAt ? [{ name: 'detached', atMs: detachedAt.getTime(), attributes: {} }] : [],
});
