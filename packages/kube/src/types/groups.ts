import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';
import {
  csiNodeShape,
  evictionRequestShape,
  evictionShape,
  leaseShape,
  podDisruptionBudgetShape,
  priorityClassShape,
  volumeAttachmentShape,
  webhookConfigurationShape,
} from './shapes.ts';

/** A label selector. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/** The fields of a PodDisruptionBudget that a drain reads. */
export interface PodDisruptionBudget extends KubeObject {
  spec: {
    selector?: LabelSelector;
    minAvailable?: number | string;
    maxUnavailable?: number | string;
    unhealthyPodEvictionPolicy?: string;
  };
  status?: {
    disruptionsAllowed?: number;
    currentHealthy?: number;
    desiredHealthy?: number;
    expectedPods?: number;
    disruptedPods?: Record<string, string>;
    observedGeneration?: number;
  };
}

/** The fields of a VolumeAttachment that a drain reads. */
export interface VolumeAttachment extends KubeObject {
  spec: { attacher: string; nodeName: string; source: { persistentVolumeName?: string; inlineVolumeSpec?: object } };
  status?: { attached: boolean; attachError?: object; detachError?: object };
}

interface EvictionTarget {
  pod?: { name: string; uid: string };
}

/** A request to evict a Pod (alpha in Kubernetes 1.37). */
export interface EvictionRequest extends KubeObject {
  spec: { intent: 'Eviction' | 'Withdrawn'; requester: string; target: EvictionTarget };
}

/** The type has only the fields that a drain reads. */
export interface PodEviction extends KubeObject {
  spec: { target: EvictionTarget };
  status?: {
    conditions?: { type: string; status: string }[];
    targetResponders?: { name: string; priority: number; state: string }[];
    responders?: { name: string; message?: string }[];
  };
}

/** The CSI drivers of a Node, and their limits. */
export interface CsiNode extends KubeObject {
  spec: {
    /** The drivers of a CSINode; `allocatable.count` is the maximum number of the driver's volumes on the Node. */
    drivers?: { name: string; nodeID?: string; topologyKeys?: string[]; allocatable?: { count?: number } }[] | null;
  };
}

/** The type of a Lease; times have the RFC 3339 format with microseconds. */
export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string | null;
    leaseDurationSeconds?: number | null;
    acquireTime?: string | null;
    renewTime?: string | null;
    leaseTransitions?: number | null;
  };
}

/** The fields of a PriorityClass that a drain reads. */
export interface PriorityClass extends KubeObject {
  value: number;
}

/** A MutatingWebhookConfiguration or a ValidatingWebhookConfiguration. */
export interface WebhookConfiguration extends KubeObject {
  webhooks?: {
    name: string;
    clientConfig: { caBundle?: string; url?: string; service?: object };
    [field: string]: unknown;
  }[];
}

/** The resource definition of MutatingWebhookConfigurations. */
export const mutatingWebhookConfigurations: ResourceDefinition<WebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'mutatingwebhookconfigurations',
  kind: 'MutatingWebhookConfiguration',
  namespaced: false,
  shape: webhookConfigurationShape,
};
/** The resource definition of ValidatingWebhookConfigurations. */
export const validatingWebhookConfigurations: ResourceDefinition<WebhookConfiguration> = {
  ...mutatingWebhookConfigurations,
  plural: 'validatingwebhookconfigurations',
  kind: 'ValidatingWebhookConfiguration',
};
/** The resource definition of PodDisruptionBudgets. */
export const podDisruptionBudgets: ResourceDefinition<PodDisruptionBudget> = {
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
  kind: 'PodDisruptionBudget',
  namespaced: true,
  shape: podDisruptionBudgetShape,
};
/** The resource definition of VolumeAttachments. */
export const volumeAttachments: ResourceDefinition<VolumeAttachment> = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'volumeattachments',
  kind: 'VolumeAttachment',
  namespaced: false,
  shape: volumeAttachmentShape,
};
/** The resource definition of EvictionRequests. */
export const evictionRequests: ResourceDefinition<EvictionRequest> = {
  group: 'lifecycle.k8s.io',
  version: 'v1alpha1',
  plural: 'evictionrequests',
  kind: 'EvictionRequest',
  namespaced: true,
  shape: evictionRequestShape,
};
/** The resource definition of Evictions. */
export const evictions: ResourceDefinition<PodEviction> = {
  group: 'lifecycle.k8s.io',
  version: 'v1alpha1',
  plural: 'evictions',
  kind: 'Eviction',
  namespaced: true,
  shape: evictionShape,
};
/** The resource definition of CSINodes. */
export const csiNodes: ResourceDefinition<CsiNode> = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'csinodes',
  kind: 'CSINode',
  namespaced: false,
  shape: csiNodeShape,
};
/** The resource definition of Leases. */
export const leases: ResourceDefinition<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
  shape: leaseShape,
};
/** The resource definition of PriorityClasses. */
export const priorityClasses: ResourceDefinition<PriorityClass> = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  plural: 'priorityclasses',
  kind: 'PriorityClass',
  namespaced: false,
  shape: priorityClassShape,
};
