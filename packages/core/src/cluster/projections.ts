import { Annotations } from '@mcm/api';
import {
  type CsiNode,
  controllerOf,
  defined,
  type Node,
  type ObjectMeta,
  type OwnerReference,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type PodVolume,
} from '@mcm/kube';

/**
 * The caches contain only the fields that the controllers use, because the size of the caches determines the memory of
 * the process.
 */

/** Many pods contain equal strings, so each string is stored only once. */
const pool = new Map<string, string>();
const POOL_LIMIT = 10_000;

function shared(text: string): string {
  const known = pool.get(text);
  if (known !== undefined) return known;
  if (pool.size < POOL_LIMIT) pool.set(text, text);
  return text;
}

const sharedMap = (map: Record<string, string>): Record<string, string> => {
  const result: Record<string, string> = {};
  for (const [key, value] of Object.entries(map)) result[shared(key)] = shared(value);
  return result;
};

function owner(object: { readonly metadata: ObjectMeta }): OwnerReference[] | undefined {
  const reference = controllerOf(object);
  if (!reference) return undefined;
  const { apiVersion, kind, name, uid } = reference;
  return [
    { apiVersion: shared(apiVersion), kind: shared(kind), name: shared(name), uid: shared(uid), controller: true },
  ];
}

const volume = ({ name, persistentVolumeClaim, emptyDir, ephemeral }: PodVolume): PodVolume | undefined => {
  if (persistentVolumeClaim) return { name, persistentVolumeClaim: { claimName: persistentVolumeClaim.claimName } };
  if (emptyDir) return { name: shared(name), emptyDir: {} };
  return ephemeral ? { name, ephemeral: {} } : undefined;
};

/** Returns a pod with only the fields that drains read. */
export function projectPod(pod: Pod): Pod {
  const { metadata, spec, status } = pod;
  const owners = owner(pod);
  const volumes = (spec.volumes ?? []).map(volume).filter((kept) => kept !== undefined);
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const mirror = metadata.annotations?.[Annotations.MirrorPod];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: defined({
      name: metadata.name,
      namespace: shared(metadata.namespace ?? ''),
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      creationTimestamp: metadata.creationTimestamp,
      deletionTimestamp: metadata.deletionTimestamp || undefined,
      deletionGracePeriodSeconds: metadata.deletionGracePeriodSeconds,
      labels: metadata.labels ? sharedMap(metadata.labels) : undefined,
      annotations: mirror === undefined ? undefined : { [Annotations.MirrorPod]: mirror },
      ownerReferences: owners,
    }),
    spec: defined({
      nodeName: spec.nodeName ? shared(spec.nodeName) : undefined,
      priority: spec.priority,
      terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds,
      volumes: volumes.length > 0 ? volumes : undefined,
    }),
    status: defined({
      phase: shared(status?.phase ?? ''),
      conditions: ready ? [{ type: 'Ready', status: ready.status }] : undefined,
    }),
  };
}

export function projectNode(node: Node): Node {
  const { capacity, conditions, volumesAttached, volumesInUse } = node.status ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: node.metadata,
    spec: node.spec,
    status: defined({
      capacity,
      conditions,
      volumesAttached,
      volumesInUse,
    }),
  };
}

const identity = ({ name, namespace, uid, resourceVersion, creationTimestamp }: ObjectMeta): ObjectMeta =>
  defined({
    name,
    namespace,
    uid,
    resourceVersion,
    creationTimestamp,
  });

export const projectClaim = (claim: PersistentVolumeClaim): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: identity(claim.metadata),
  spec: claim.spec.volumeName === undefined ? {} : { volumeName: claim.spec.volumeName },
});

const NO_SOURCE = new Set(['accessModes', 'capacity', 'claimRef', 'mountOptions', 'nodeAffinity']);

/** Keeps volume sources of every type, because CSI drivers compute volume IDs from the volume source. */
export const projectVolume = (volume: PersistentVolume): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: identity(volume.metadata),
  spec: Object.fromEntries(
    Object.entries(volume.spec).filter(([field, value]) => typeof value === 'object' && !NO_SOURCE.has(field)),
  ),
});

export const projectCsiNode = ({ metadata, spec }: CsiNode): CsiNode => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSINode',
  metadata: identity(metadata),
  spec: {
    drivers: (spec.drivers ?? []).map(({ name, allocatable }) =>
      defined({
        name: shared(name),
        allocatable: allocatable?.count === undefined ? undefined : { count: allocatable.count },
      }),
    ),
  },
});
