import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { defined } from '../../apimachinery/objects/plain.ts';
import { sharedParts } from '../../resources/shared-parts.ts';
import { NODES, PODS, type Resource } from '../client/resources.ts';

export type Projection = (object: ApiObject) => ApiObject;

/** Keeps only the metadata of an object, which is sufficient to handle owners and finalizers. */
export const metadataOnly: Projection = ({ apiVersion, kind, metadata }) => {
  const { managedFields: _managedFields, annotations: _annotations, labels: _labels, ...rest } = metadata;
  return { apiVersion, kind, metadata: rest };
};

/** Copies the metadata, because V8 represents an object after a `delete` as a hash table, which needs more memory. */
const withoutManagedFields: Projection = (object) => {
  const { managedFields: _managedFields, ...rest } = object.metadata;
  object.metadata = rest;
  return object;
};

const slimContainer = ({ name, ports, resources, restartPolicy }: Record<string, unknown>): Record<string, unknown> =>
  defined({
    name,
    ports,
    resources,
    restartPolicy,
  });

/** The controllers read only volumes with a claim. Most pods have a volume with a token, which has many nested objects. */
const hasClaim = ({ persistentVolumeClaim, ephemeral }: Record<string, unknown>): boolean =>
  persistentVolumeClaim !== undefined || ephemeral !== undefined;

/** The fields of the metadata that are often equal in many pods. */
const SHARED_METADATA = ['namespace', 'creationTimestamp', 'labels', 'ownerReferences', 'finalizers'] as const;

/** A kubelet writes addresses and times to the status of a pod, so few pods on nodes have an equal status. */
const isEqualInMany = (status: object): boolean => !('podIP' in status || 'containerStatuses' in status);

function shareParts(pod: ApiObject): void {
  const { metadata } = pod;
  for (const field of SHARED_METADATA)
    if (metadata[field] !== undefined) Object.assign(metadata, { [field]: sharedParts.of(metadata[field]) });
  const spec = pod['spec'] as Record<string, unknown> | undefined;
  for (const field in spec) spec[field] = sharedParts.of(spec[field]);
  const { status } = pod;
  if (typeof status === 'object' && status !== null && isEqualInMany(status)) pod['status'] = sharedParts.of(status);
}

/**
 * Removes the fields of a pod that only a kubelet needs. Most objects in the caches are pods, and the containers are
 * the largest part of a pod. Pods with equal parts share these parts.
 */
const slimPod: Projection = (pod) => {
  const spec = pod['spec'] as Record<string, unknown> | undefined;
  for (const field of ['containers', 'initContainers']) {
    const containers = spec?.[field];
    if (spec !== undefined && Array.isArray(containers)) spec[field] = containers.map(slimContainer);
  }
  if (spec !== undefined && Array.isArray(spec['volumes'])) spec['volumes'] = spec['volumes'].filter(hasClaim);
  withoutManagedFields(pod);
  shareParts(pod);
  return pod;
};

/** Removes the fields of a node that only users need, such as the list of pulled images. */
const slimNode: Projection = (node) => {
  withoutManagedFields(node);
  const status = node['status'] as Record<string, unknown> | undefined;
  delete status?.['images'];
  delete status?.['nodeInfo'];
  return node;
};

const PROJECTIONS: ReadonlyMap<Resource, Projection> = new Map([
  [PODS, slimPod],
  [NODES, slimNode],
]);

export const projectionOf = (resource: Resource): Projection => PROJECTIONS.get(resource) ?? withoutManagedFields;
