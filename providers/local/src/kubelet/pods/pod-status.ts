import { formatTime } from '@mcm/api';
import type { Condition, Pod } from '@mcm/kube';
import { defined } from '@mcm/kube';

export interface PodPlace {
  readonly hostIp: string;
  readonly podIp: string;
}

type PodStatusPatch = Readonly<Record<string, unknown>>;

const condition = (type: string, status: 'True' | 'False', now: Date, reason?: string): Condition =>
  defined({
    type,
    status,
    lastTransitionTime: formatTime(now),
    reason,
  });

export function runningStatus(pod: Pod, place: PodPlace, ready: boolean, now: Date): PodStatusPatch {
  const time = formatTime(now);
  return {
    phase: 'Running',
    conditions: [
      condition('PodReadyToStartContainers', 'True', now),
      condition('Initialized', 'True', now),
      ...readiness(ready, now),
    ],
    hostIP: place.hostIp,
    hostIPs: [{ ip: place.hostIp }],
    podIP: place.podIp,
    podIPs: [{ ip: place.podIp }],
    startTime: time,
    initContainerStatuses: (pod.spec.initContainers ?? []).map((container) =>
      // An init container with the restart policy Always is a sidecar, which keeps running.
      container.restartPolicy === 'Always'
        ? containerStatus(pod, container, { running: { startedAt: time } }, true)
        : containerStatus(pod, container, terminated(time, time, 0, pod, container.name), true),
    ),
    containerStatuses: (pod.spec.containers ?? []).map((container) =>
      containerStatus(pod, container, { running: { startedAt: time } }, ready),
    ),
  };
}

export function readyStatus(pod: Pod, now: Date): PodStatusPatch {
  const startedAt = String(pod.status?.startTime ?? formatTime(now));
  return {
    conditions: readiness(true, now),
    containerStatuses: (pod.spec.containers ?? []).map((container) =>
      containerStatus(pod, container, { running: { startedAt } }, true),
    ),
  };
}

export function endedStatus(
  pod: Pod,
  end: { readonly phase: 'Succeeded' | 'Failed'; readonly exitCode: number },
  now: Date,
): PodStatusPatch {
  const finishedAt = formatTime(now);
  const startedAt = String(pod.status?.startTime ?? finishedAt);
  const reason = end.phase === 'Succeeded' ? 'PodCompleted' : 'PodFailed';
  return {
    phase: end.phase,
    conditions: readiness(false, now, reason),
    containerStatuses: (pod.spec.containers ?? []).map((container) =>
      containerStatus(pod, container, terminated(startedAt, finishedAt, end.exitCode, pod, container.name), false),
    ),
  };
}

const readiness = (ready: boolean, now: Date, reason?: string): Condition[] => {
  const status = ready ? 'True' : 'False';
  const why = ready ? undefined : (reason ?? 'ContainersNotReady');
  return [condition('ContainersReady', status, now, why), condition('Ready', status, now, why)];
};

const containerId = (pod: Pod, name: string): string => `hollow://${pod.metadata.uid}/${name}`;

const terminated = (startedAt: string, finishedAt: string, exitCode: number, pod: Pod, name: string): object => ({
  terminated: {
    startedAt,
    finishedAt,
    exitCode,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    containerID: containerId(pod, name),
  },
});

function containerStatus(
  pod: Pod,
  container: { readonly name: string; readonly image?: unknown },
  state: object,
  ready: boolean,
): object {
  const image = typeof container.image === 'string' ? container.image : '';
  return {
    name: container.name,
    state,
    lastState: {},
    ready,
    started: 'running' in state,
    restartCount: 0,
    image,
    imageID: image === '' ? '' : `hollow://${image}`,
    containerID: containerId(pod, container.name),
  };
}
