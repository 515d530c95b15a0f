import { formatTime } from '@mcm/api';
import {
  type Clock,
  createInformer,
  defined,
  type EventRecorder,
  type Informer,
  type InformerRuntime,
  type KubeClient,
  type Logger,
  type Node,
  nodes,
  type QueueMetrics,
  type Random,
} from '@mcm/kube';
import type { ControllerIdentity } from '../config/render/render.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import type { ConfigEvent } from '../constants/event-meanings.ts';
import type { ContainerRuntimeConfig } from '../kinds/container-runtime-config.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { KubeletConfig } from '../kinds/kubelet-config.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import {
  containerRuntimeConfigs,
  controllerConfigs,
  kubeletConfigs,
  machineConfigPools,
  machineConfigs,
} from '../kinds/resources.ts';

/** The caches that the controllers for machine configs read. */
export interface ConfigCaches {
  readonly machineConfigs: Informer<MachineConfig>;
  readonly pools: Informer<MachineConfigPool>;
  readonly controllerConfigs: Informer<ControllerConfig>;
  readonly kubeletConfigs: Informer<KubeletConfig>;
  readonly containerRuntimeConfigs: Informer<ContainerRuntimeConfig>;
  readonly nodes: Informer<Node>;
}

/** The clients and caches of all controllers for machine configs. */
export interface ConfigContext {
  readonly client: KubeClient;
  /** The client of the cluster with the Nodes, if that cluster has no MachineConfigs. */
  readonly target?: KubeClient;
  readonly caches: ConfigCaches;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly recorder: EventRecorder<ConfigEvent>;
  readonly identity: ControllerIdentity;
  readonly metrics?: QueueMetrics | undefined;
}

/** The index of nodes by label, with the keys `<key>` and `<key>=<value>`. */
export const NODE_LABEL_INDEX = 'label';

/** The index of nodes by rendered MachineConfig. */
export const NODE_CONFIG_INDEX = 'config';

const configTerms = ({ metadata: { annotations = {} } }: Node): readonly string[] => {
  const { CurrentConfig, DesiredConfig, FirstPivotConfig } = NodeAnnotations;
  return [...new Set([CurrentConfig, DesiredConfig, FirstPivotConfig].flatMap((key) => annotations[key] || []))];
};

/** Each node has its own host name, so no pool selects nodes by this label. */
const UNIQUE_LABEL = 'kubernetes.io/hostname';

const labelTerms = ({ metadata }: Node): readonly string[] =>
  Object.entries(metadata.labels ?? {}).flatMap(([key, value]) =>
    key === UNIQUE_LABEL ? [] : [key, `${key}=${value}`],
  );

/**
 * Creates the informers for MachineConfigs, pools and other kinds of the API group, and for Nodes with their indexes.
 */
export function createConfigCaches(control: KubeClient, target: KubeClient, runtime: InformerRuntime): ConfigCaches {
  return {
    machineConfigs: createInformer(control, machineConfigs, runtime),
    pools: createInformer(control, machineConfigPools, runtime),
    controllerConfigs: createInformer(control, controllerConfigs, runtime),
    kubeletConfigs: createInformer(control, kubeletConfigs, runtime),
    containerRuntimeConfigs: createInformer(control, containerRuntimeConfigs, runtime),
    nodes: createInformer(target, nodes, {
      ...runtime,
      project: projectNode,
      indexes: { [NODE_LABEL_INDEX]: labelTerms, [NODE_CONFIG_INDEX]: configTerms },
    }),
  };
}

/** Removes the list of images, which is the largest part of a Node, to save memory. */
function projectNode(node: Node): Node {
  const { conditions, addresses } = node.status ?? {};
  return {
    ...node,
    status: defined({ conditions, addresses }),
  };
}

export const nowText = (clock: Clock): string => formatTime(clock.now());
