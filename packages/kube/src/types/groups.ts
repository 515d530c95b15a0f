import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';
import {
  csiNodeShape,
  leaseShape,
  podDisruptionBudgetShape,
  priorityClassShape,
  volumeAttachmentShape,
  webhookConfigurationShape,
} from './shapes.ts';

/** A label selector as the API has it. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/** A PodDisruptionBudget, as far as a drain reads it. */
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

/** A VolumeAttachment, as far as a drain reads it. */
export interface VolumeAttachment extends KubeObject {
  spec: { attacher: string; nodeName: string; source: { persistentVolumeName?: string; inlineVolumeSpec?: object } };
  status?: { attached: boolean; attachError?: object; detachError?: object };
}

/** What the CSI drivers of a node have told of it; it has the Node's name. */
export interface CsiNode extends KubeObject {
  spec: {
    /** `allocatable.count`: volumes that the driver can attach to the node at once; absent: no limit. */
    drivers?: { name: string; nodeID?: string; topologyKeys?: string[]; allocatable?: { count?: number } }[] | null;
  };
}

/** A Lease; times are RFC 3339 with microseconds. */
export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string | null;
    leaseDurationSeconds?: number | null;
    /** RFC 3339 with microseconds. */
    acquireTime?: string | null;
    renewTime?: string | null;
    leaseTransitions?: number | null;
  };
}

/** A PriorityClass, as far as a drain reads it. */
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

/** Where MutatingWebhookConfigurations are read and written. */
export const mutatingWebhookConfigurations: ResourceDefinition<WebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'mutatingwebhookconfigurations',
  kind: 'MutatingWebhookConfiguration',
  namespaced: false,
  shape: webhookConfigurationShape,
};
/** Where ValidatingWebhookConfigurations are read and written. */
export const validatingWebhookConfigurations: ResourceDefinition<WebhookConfiguration> = {
  ...mutatingWebhookConfigurations,
  plural: 'validatingwebhookconfigurations',
  kind: 'ValidatingWebhookConfiguration',
};
/** Where PodDisruptionBudgets are read and written. */
export const podDisruptionBudgets: ResourceDefinition<PodDisruptionBudget> = {
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
  kind: 'PodDisruptionBudget',
  namespaced: true,
  shape: podDisruptionBudgetShape,
};
/** Where VolumeAttachments are read and written. */
export const volumeAttachments: ResourceDefinition<VolumeAttachment> = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'volumeattachments',
  kind: 'VolumeAttachment',
  namespaced: false,
  shape: volumeAttachmentShape,
};
/** Where CSINodes are read and written. */
export const csiNodes: ResourceDefinition<CsiNode> = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'csinodes',
  kind: 'CSINode',
  namespaced: false,
  shape: csiNodeShape,
};
/** Where Leases are read and written. */
export const leases: ResourceDefinition<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
  shape: leaseShape,
};
/** Where PriorityClasses are read and written. */
export const priorityClasses: ResourceDefinition<PriorityClass> = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  plural: 'priorityclasses',
  kind: 'PriorityClass',
  namespaced: false,
  shape: priorityClassShape,
};
