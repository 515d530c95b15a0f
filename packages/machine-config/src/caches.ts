import type { Clock, EventRecorder, Informer, KubeClient, Logger, Node, Random } from '@mcm/kube';
import type { ContainerRuntimeConfig } from './kinds/container-runtime-config.ts';
import type { ControllerConfig } from './kinds/controller-config.ts';
import type { KubeletConfig } from './kinds/kubelet-config.ts';
import type { MachineConfig } from './kinds/machine-config.ts';
import type { MachineConfigPool } from './kinds/machine-config-pool.ts';
import type { ControllerIdentity } from './render/render.ts';

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
  readonly client: KubeClient;
  readonly caches: ConfigCaches;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly recorder: EventRecorder;
  readonly identity: ControllerIdentity;
}

/** Now as the API has it: RFC 3339 to the second. */
export const nowText = (clock: Clock): string => `${clock.now().toISOString().slice(0, 19)}Z`;
