import {
  type Clock,
  createInformer,
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

/** The live copies that the controllers of this package read. */
export interface ConfigCaches {
  readonly machineConfigs: Informer<MachineConfig>;
  readonly pools: Informer<MachineConfigPool>;
  readonly controllerConfigs: Informer<ControllerConfig>;
  readonly kubeletConfigs: Informer<KubeletConfig>;
  readonly containerRuntimeConfigs: Informer<ContainerRuntimeConfig>;
  readonly nodes: Informer<Node>;
}

/** What every controller of this package is given. */
export interface ConfigContext {
  /** The cluster of this package's kinds. */
  readonly client: KubeClient;
  /** The cluster of the nodes; absent: the same. */
  readonly target?: KubeClient;
  readonly caches: ConfigCaches;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly recorder: EventRecorder<ConfigEvent>;
  readonly identity: ControllerIdentity;
  /** Where the queues report; absent: nowhere. */
  readonly metrics?: QueueMetrics;
}

/** Where an informer of nodes finds those with a label: `<key>` and `<key>=<value>`. */
export const NODE_LABEL_INDEX = 'label';

/** Where an informer of nodes finds those that have a rendered MachineConfig, are told it or booted with it. */
export const NODE_CONFIG_INDEX = 'config';

const configTerms = ({ metadata: { annotations = {} } }: Node): readonly string[] => {
  const { CurrentConfig, DesiredConfig, FirstPivotConfig } = NodeAnnotations;
  return [...new Set([CurrentConfig, DesiredConfig, FirstPivotConfig].flatMap((key) => annotations[key] || []))];
};

/** Labels that no two nodes share select no pool; an index of them would only be memory. */
const UNIQUE_LABEL = 'kubernetes.io/hostname';

const labelTerms = ({ metadata }: Node): readonly string[] =>
  Object.entries(metadata.labels ?? {}).flatMap(([key, value]) =>
    key === UNIQUE_LABEL ? [] : [key, `${key}=${value}`],
  );

/** The caches of this package's kinds, and of the nodes with what finding a pool's own takes. */
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

/** What the controllers read of a node: not its images, which are most of it. */
function projectNode(node: Node): Node {
  const { conditions, addresses } = node.status ?? {};
  return {
    ...node,
    status: { ...(conditions && { conditions }), ...(addresses && { addresses }) },
  };
}

/** Now as the API has it: RFC 3339 to the second. */
export const nowText = (clock: Clock): string => `${clock.now().toISOString().slice(0, 19)}Z`;
