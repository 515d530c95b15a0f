import type { DrainPod } from './observation.ts';

/** What a filter says about a pod: it has to go, it stays, or it is on its way out. */
export interface Verdict {
  readonly pod: 'evict' | 'stay' | 'leaving';
  readonly because: string;
}

/** Undefined: no opinion, ask the next one. */
export type PodFilter = (pod: DrainPod) => Verdict | undefined;

const mirrorPod: PodFilter = (pod) =>
  pod.mirror ? { pod: 'stay', because: 'a static pod: only its kubelet can end it' } : undefined;

const daemonSetPod: PodFilter = (pod) =>
  pod.ownerKind === 'DaemonSet' ? { pod: 'stay', because: 'a DaemonSet would only start it again' } : undefined;

const leavingPod: PodFilter = (pod) =>
  pod.dueAt ? { pod: 'leaving', because: 'it is being deleted already' } : undefined;

const completedPod: PodFilter = (pod) =>
  pod.phase === 'Succeeded' || pod.phase === 'Failed' ? { pod: 'evict', because: 'it has ended' } : undefined;

const barePod: PodFilter = (pod) =>
  pod.ownerKind === undefined ? { pod: 'evict', because: 'nothing will start it again, but the node goes' } : undefined;

const localStoragePod: PodFilter = (pod) =>
  pod.localStorage ? { pod: 'evict', because: 'its local data goes with the node' } : undefined;

/** In the order in which they are asked. */
export const POD_FILTERS: readonly PodFilter[] = [
  mirrorPod,
  daemonSetPod,
  leavingPod,
  completedPod,
  barePod,
  localStoragePod,
];

/** The first opinion; a pod nobody objects to has to go. Source: pkg/util/provider/drain/drain.go, pod filters. */
export function verdictOf(pod: DrainPod, filters: readonly PodFilter[] = POD_FILTERS): Verdict {
  for (const filter of filters) {
    const verdict = filter(pod);
    if (verdict) return verdict;
  }
  return { pod: 'evict', because: 'its controller will start it elsewhere' };
}
