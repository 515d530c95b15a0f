import type { DrainPod } from './observation.ts';

/**
 * The decision of a pod filter:
 * - `evict`: the drain evicts the pod.
 * - `stay`: the drain ignores the pod.
 * - `leaving`: the pod is terminating, and the drain waits for its end.
 * - `wait`: the drain evicts the pod later.
 */
export interface Verdict {
  readonly pod: 'evict' | 'stay' | 'leaving' | 'wait';
  readonly because: string;
}

/** Returns the decision about a pod, or undefined if the next filter must decide. */
export type PodFilter = (pod: DrainPod) => Verdict | undefined;

const mirrorPod: PodFilter = (pod) =>
  pod.mirror ? { pod: 'stay', because: 'only the kubelet can end a static pod' } : undefined;

const daemonSetPod: PodFilter = (pod) =>
  pod.ownerKind === 'DaemonSet'
    ? { pod: 'stay', because: 'the DaemonSet would start the pod again on the same node' }
    : undefined;

const skippedPod: PodFilter = ({ rule }) =>
  rule?.behavior === 'Skip' ? { pod: 'stay', because: `drain rule ${rule.name} skips the pod` } : undefined;

const leavingPod: PodFilter = (pod) =>
  pod.dueAt ? { pod: 'leaving', because: 'the pod is already being deleted' } : undefined;

const completedPod: PodFilter = (pod) =>
  pod.phase === 'Succeeded' || pod.phase === 'Failed' ? { pod: 'evict', because: 'the pod has ended' } : undefined;

const completingPod: PodFilter = ({ rule }) =>
  rule?.behavior === 'WaitCompleted'
    ? { pod: 'wait', because: `drain rule ${rule.name} waits for the completion of the pod` }
    : undefined;

const laterPod: PodFilter = ({ later }) =>
  later ? { pod: 'wait', because: 'pods with a lower drain order are evicted first' } : undefined;

const barePod: PodFilter = (pod) =>
  pod.ownerKind === undefined
    ? { pod: 'evict', because: 'no controller starts the pod again, but the deletion of the node ends the pod' }
    : undefined;

const localStoragePod: PodFilter = (pod) =>
  pod.localStorage
    ? { pod: 'evict', because: 'the deletion of the node deletes the local data of the pod' }
    : undefined;

/** The filters for the pods of a drain. The first filter with a result decides about a pod. */
export const POD_FILTERS: readonly PodFilter[] = [
  mirrorPod,
  daemonSetPod,
  skippedPod,
  leavingPod,
  completedPod,
  completingPod,
  laterPod,
  barePod,
  localStoragePod,
];

/**
 * Returns the decision about a pod; if no filter decides, the drain evicts the pod. Source:
 * pkg/util/provider/drain/drain.go, pod filters.
 */
export function verdictOf(pod: DrainPod, filters: readonly PodFilter[] = POD_FILTERS): Verdict {
  for (const filter of filters) {
    const verdict = filter(pod);
    if (verdict) return verdict;
  }
  return { pod: 'evict', because: 'the controller of the pod starts a new pod on another node' };
}
