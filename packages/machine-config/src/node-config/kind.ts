import type { ClusterSettings } from '../controllers/cluster-settings.ts';
import type { IgnitionFile } from '../ignition/index.ts';
import type { ContainerRuntimeConfig } from '../kinds/container-runtime-config.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { KubeletConfig } from '../kinds/kubelet-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import type { ConfigCondition } from '../kinds/shared.ts';
import type { TemplateTree } from '../templates/tree.ts';

/** A KubeletConfig or ContainerRuntimeConfig. For each selected pool, the controller writes one MachineConfig. */
export type NodeConfig = KubeletConfig | ContainerRuntimeConfig;

/** The input from which the files of a KubeletConfig or ContainerRuntimeConfig are computed. */
export interface NodeConfigInput {
  readonly tree: TemplateTree;
  readonly controllerConfig: ControllerConfig;
  readonly cluster: ClusterSettings;
}

/** The parts of names that differ between KubeletConfigs and ContainerRuntimeConfigs. */
export interface NodeConfigNaming {
  /** The part of the name. For `kubelet`, the MachineConfigs have the name `99-<pool>-generated-kubelet`. */
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
  /** Returns the unknown fields, one sentence each. The controller ignores unknown fields. */
  readonly unknown: (config: T) => readonly string[];
  /**
   * Validates a KubeletConfig or ContainerRuntimeConfig.
   * @throws NodeConfigError naming the field
   */
  readonly validate: (config: T) => void;
  /**
   * Validates a KubeletConfig or ContainerRuntimeConfig for a pool.
   * @throws NodeConfigError naming the field
   */
  readonly validateFor: (config: T, pool: MachineConfigPool) => void;
  /**
   * Returns the files that a KubeletConfig or ContainerRuntimeConfig adds to a pool.
   * @throws NodeConfigError, TemplateError
   */
  readonly files: (config: T, pool: MachineConfigPool, input: NodeConfigInput) => readonly IgnitionFile[];
  /** Adds a result to the conditions of an object. `now` has the format RFC 3339. */
  readonly withVerdict: (
    existing: readonly ConfigCondition[],
    problem: string | undefined,
    now: string,
  ) => readonly ConfigCondition[];
}
