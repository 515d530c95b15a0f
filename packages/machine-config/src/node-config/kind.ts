import type { ClusterSettings } from '../controllers/cluster-settings.ts';
import type { IgnitionFile } from '../ignition/index.ts';
import type { ContainerRuntimeConfig } from '../kinds/container-runtime-config.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { KubeletConfig } from '../kinds/kubelet-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import type { ConfigCondition } from '../kinds/shared.ts';
import type { TemplateTree } from '../templates/tree.ts';

/** The controller writes one MachineConfig for each pool that a KubeletConfig or ContainerRuntimeConfig selects. */
export type NodeConfig = KubeletConfig | ContainerRuntimeConfig;

/** The input from which the files of a KubeletConfig or ContainerRuntimeConfig are computed. */
export interface NodeConfigInput {
  readonly tree: TemplateTree;
  readonly controllerConfig: ControllerConfig;
  readonly cluster: ClusterSettings;
}

/** The parts of names that differ between KubeletConfigs and ContainerRuntimeConfigs. */
export interface NodeConfigNaming {
  readonly part: 'kubelet' | 'containerruntime';
  readonly noun: string;
  /** Returns the names that older controllers used for the MachineConfig of a pool. */
  readonly formerNames: (pool: MachineConfigPool) => readonly string[];
}

export interface NodeConfigKind<T extends NodeConfig> {
  readonly kind: T['kind'];
  readonly naming: NodeConfigNaming;
  /** Returns a text with the name of an object whose pool is unknown, for messages. */
  readonly noPool: (config: T) => string;
  readonly unknown: (config: T) => readonly string[];
  /** @throws NodeConfigError naming the field */
  readonly validate: (config: T) => void;
  /** @throws NodeConfigError naming the field */
  readonly validateFor: (config: T, pool: MachineConfigPool) => void;
  /** @throws NodeConfigError, TemplateError */
  readonly files: (config: T, pool: MachineConfigPool, input: NodeConfigInput) => readonly IgnitionFile[];
  readonly withVerdict: (
    existing: readonly ConfigCondition[],
    problem: string | undefined,
    now: string,
  ) => readonly ConfigCondition[];
}
