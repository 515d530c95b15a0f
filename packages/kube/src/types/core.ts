import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';
import {
  configMapShape,
  eventShape,
  nodeShape,
  persistentVolumeClaimShape,
  persistentVolumeShape,
  podShape,
  secretShape,
} from './shapes.ts';

/** A condition of a Node or Pod. Times of a condition have the RFC 3339 format. */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  lastHeartbeatTime?: string | null;
  lastTransitionTime?: string | null;
}

/** Returns true if the Node is ready. A Node without the condition `Ready` is not ready. */
export const isReady = ({ status }: { status?: { conditions?: readonly Condition[] } }): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;

/** A taint of a Node. */
export interface Taint {
  key: string;
  value?: string;
  effect: string;
  timeAdded?: string;
}

/** The fields of a Node that this project reads. */
export interface Node extends KubeObject {
  spec: { providerID?: string; unschedulable?: boolean; taints?: Taint[]; podCIDR?: string; podCIDRs?: string[] };
  status?: {
    addresses?: { type: string; address: string }[];
    allocatable?: Record<string, string>;
    capacity?: Record<string, string>;
    conditions?: Condition[];
    nodeInfo?: Record<string, string>;
    volumesAttached?: { name: string; devicePath: string }[];
    volumesInUse?: string[];
    phase?: string;
  };
}

/** The fields of a volume of a Pod that a drain reads. */
export interface PodVolume {
  name: string;
  persistentVolumeClaim?: { claimName: string };
  emptyDir?: object;
  ephemeral?: object;
  [source: string]: unknown;
}

/** The fields of a Pod that a drain reads. */
export interface Pod extends KubeObject {
  spec: {
    nodeName?: string;
    priority?: number;
    priorityClassName?: string;
    restartPolicy?: string;
    terminationGracePeriodSeconds?: number;
    volumes?: PodVolume[];
    containers?: {
      name: string;
      image?: string;
      resources?: object;
      readinessProbe?: object;
      [field: string]: unknown;
    }[];
    initContainers?: { name: string; [field: string]: unknown }[];
    tolerations?: { key?: string; operator?: string; value?: string; effect?: string; tolerationSeconds?: number }[];
    [field: string]: unknown;
  };
  status?: { phase?: string; conditions?: Condition[]; reason?: string; [field: string]: unknown };
}

/** The type of a Secret; the values in `data` are base64 texts. */
export interface Secret extends KubeObject {
  type?: string;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
}

/** A ConfigMap. */
export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

/** The fields of a PersistentVolumeClaim that a drain reads. */
export interface PersistentVolumeClaim extends KubeObject {
  spec: { volumeName?: string; storageClassName?: string; [field: string]: unknown };
  status?: { phase?: string };
}

/** The fields of a PersistentVolume that a drain reads. */
export interface PersistentVolume extends KubeObject {
  spec: {
    csi?: { driver: string; volumeHandle: string };
    claimRef?: { namespace?: string; name?: string };
    [field: string]: unknown;
  };
  status?: { phase?: string };
}

/** A core/v1 Event. */
export interface EventObject extends KubeObject {
  involvedObject: {
    apiVersion?: string;
    kind?: string;
    name?: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
  };
  reason?: string;
  message?: string;
  type?: string;
  count?: number;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  source?: { component?: string; host?: string };
  reportingComponent?: string;
  reportingInstance?: string;
}

const core = { group: '', version: 'v1' } as const;

/** The resource definition of Nodes. */
export const nodes: ResourceDefinition<Node> = {
  ...core,
  plural: 'nodes',
  kind: 'Node',
  namespaced: false,
  shape: nodeShape,
};
/** The resource definition of Pods. */
export const pods: ResourceDefinition<Pod> = {
  ...core,
  plural: 'pods',
  kind: 'Pod',
  namespaced: true,
  shape: podShape,
};
/** The resource definition of Secrets. */
export const secrets: ResourceDefinition<Secret> = {
  ...core,
  plural: 'secrets',
  kind: 'Secret',
  namespaced: true,
  shape: secretShape,
};
/** The resource definition of ConfigMaps. */
export const configMaps: ResourceDefinition<ConfigMap> = {
  ...core,
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
  shape: configMapShape,
};
/** The resource definition of Namespaces. */
export const namespaces: ResourceDefinition<KubeObject> = {
  ...core,
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};
/** The resource definition of Events. */
export const events: ResourceDefinition<EventObject> = {
  ...core,
  plural: 'events',
  kind: 'Event',
  namespaced: true,
  shape: eventShape,
};
/** The resource definition of PersistentVolumeClaims. */
export const persistentVolumeClaims: ResourceDefinition<PersistentVolumeClaim> = {
  ...core,
  plural: 'persistentvolumeclaims',
  kind: 'PersistentVolumeClaim',
  namespaced: true,
  shape: persistentVolumeClaimShape,
};
/** The resource definition of PersistentVolumes. */
export const persistentVolumes: ResourceDefinition<PersistentVolume> = {
  ...core,
  plural: 'persistentvolumes',
  kind: 'PersistentVolume',
  namespaced: false,
  shape: persistentVolumeShape,
};
