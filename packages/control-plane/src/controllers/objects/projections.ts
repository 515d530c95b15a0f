import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { defined } from '../../apimachinery/objects/plain.ts';
import { NODES, PODS, type Resource } from '../client/resources.ts';

export type Projection = (object: ApiObject) => ApiObject;

/** Keeps only the metadata of an object, which is sufficient to handle owners and finalizers. */
export const metadataOnly: Projection = ({ apiVersion, kind, metadata }) => {
  const { managedFields: _managedFields, annotations: _annotations, labels: _labels, ...rest } = metadata;
  return { apiVersion, kind, metadata: rest };
};

const withoutManagedFields: Projection = (object) => {
  delete object.metadata.managedFields;
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

/**
 * Removes the fields of a pod that only a kubelet needs. Most objects in the caches are pods, and the containers are
 * the largest part of a pod.
 */
const slimPod: Projection = (pod) => {
  delete pod.metadata.managedFields;
  const spec = pod['spec'] as Record<string, unknown> | undefined;
  for (const field of ['containers', 'initContainers']) {
    const containers = spec?.[field];
    if (spec !== undefined && Array.isArray(containers)) spec[field] = containers.map(slimContainer);
  }
  if (spec !== undefined && Array.isArray(spec['volumes'])) spec['volumes'] = spec['volumes'].filter(hasClaim);
  return pod;
};

/** Removes the fields of a node that only users need, such as the list of pulled images. */
const slimNode: Projection = (node) => {
  delete node.metadata.managedFields;
  const status = node['status'] as Record<string, unknown> | undefined;
  delete status?.['images'];
  delete status?.['nodeInfo'];
  return node;
};

/** The fields that the caches store, for kinds with many objects. */
const PROJECTIONS: ReadonlyMap<Resource, Projection> = new Map([
  [PODS, slimPod],
  [NODES, slimNode],
]);

export const projectionOf = (resource: Resource): Projection => PROJECTIONS.get(resource) ?? withoutManagedFields;
