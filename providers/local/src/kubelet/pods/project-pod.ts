import type { Pod } from '@mcm/kube';
import { defined } from '@mcm/kube';

/**
 * Annotations that control the simulated containers of a pod. The exit code is a number, and all other values are
 * durations.
 */
export const PodAnnotations = {
  RunFor: 'kubelet.local.mcm/run-for',
  ExitCode: 'kubelet.local.mcm/exit-code',
  ReadyAfter: 'kubelet.local.mcm/ready-after',
  /**
   * The time between the deletion of the pod and the end of its containers: a duration, `immediate`, or `grace` for the
   * whole grace period.
   */
  ShutdownAfter: 'kubelet.local.mcm/shutdown-after',
} as const;

export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
const KEPT_ANNOTATIONS: readonly string[] = [...Object.values(PodAnnotations), MIRROR_ANNOTATION];

/** Keeps only the fields of a pod that the kubelet needs, because the process may contain tens of thousands of pods. */
export function projectPod(pod: Pod): Pod {
  const { metadata, spec, status } = pod;
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } =
    metadata;
  const annotations = Object.fromEntries(
    KEPT_ANNOTATIONS.flatMap((key) => {
      const value = metadata.annotations?.[key];
      return value === undefined ? [] : [[key, value]];
    }),
  );
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: defined({
      name,
      uid,
      resourceVersion,
      creationTimestamp,
      annotations,
      namespace,
      deletionTimestamp,
      deletionGracePeriodSeconds,
      finalizers: metadata.finalizers,
      ownerReferences: owner === undefined ? undefined : [owner],
    }),
    spec: {
      ...pick(spec, ['nodeName', 'restartPolicy', 'hostNetwork']),
      containers: (spec.containers ?? []).map((container) =>
        defined({
          name: container.name,
          image: container.image,
        }),
      ),
      initContainers: (spec.initContainers ?? []).map((container) => ({
        name: container.name,
        image: container.image,
        restartPolicy: container.restartPolicy,
      })),
      volumes: (spec.volumes ?? []).filter((volume) => volume.persistentVolumeClaim !== undefined),
    },
    status: pick(status ?? {}, ['phase', 'podIP', 'startTime', 'conditions', 'containerStatuses']),
  };
}

function pick<T extends object, K extends string>(object: T, keys: readonly K[]): { [P in K & keyof T]: T[P] } {
  const picked: Partial<Record<string, unknown>> = {};
  for (const key of keys) {
    const value = (object as Readonly<Record<string, unknown>>)[key];
    if (value !== undefined) picked[key] = value;
  }
  return picked as { [P in K & keyof T]: T[P] };
}
