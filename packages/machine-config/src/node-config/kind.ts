import type { ClusterSettings } from '../controllers/cluster-settings.ts';
import type { IgnitionFile } from '../ignition/index.ts';
import type { ContainerRuntimeConfig } from '../kinds/container-runtime-config.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { KubeletConfig } from '../kinds/kubelet-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import type { ConfigCondition } from '../kinds/shared.ts';
import type { TemplateTree } from '../templates/tree.ts';

/** Each object results in one MachineConfig for each selected pool. */
export type NodeConfig = KubeletConfig | ContainerRuntimeConfig;

/** The input for the files of an object, in addition to the object. */
export interface NodeConfigInput {
  readonly tree: TemplateTree;
  readonly controllerConfig: ControllerConfig;
  readonly cluster: ClusterSettings;
}

/** The differences between the names of the two kinds. */
export interface NodeConfigNaming {
  /** `kubelet`: the MachineConfigs are `99-<pool>-generated-kubelet`. */
  readonly part: 'kubelet' | 'containerruntime';
  readonly noun: string;
  /** Returns the names that older controllers used. */
  readonly formerNames: (pool: MachineConfigPool) => readonly string[];
}

export interface NodeConfigKind<T extends NodeConfig> {
  readonly kind: T['kind'];
  readonly naming: NodeConfigNaming;
  /** Returns the text that names an object without a known pool, for messages. */
  readonly noPool: (config: T) => string;
  /** Returns the unknown fields, one sentence each. The controller applies the known fields. */
  readonly unknown: (config: T) => readonly string[];
  /**
   * Validates an object.
   * @throws NodeConfigError naming the field
   */
  readonly validate: (config: T) => void;
  /**
   * Validates an object for a pool.
   * @throws NodeConfigError naming the field
   */
  readonly validateFor: (config: T, pool: MachineConfigPool) => void;
  /**
   * Returns the files of an object for a pool.
   * @throws NodeConfigError, TemplateError
   */
  readonly files: (config: T, pool: MachineConfigPool, input: NodeConfigInput) => readonly IgnitionFile[];
  /** Adds a result to the conditions. `now` is RFC 3339. */
  readonly withVerdict: (
    existing: readonly ConfigCondition[],
    problem: string | undefined,
    now: string,
  ) => readonly ConfigCondition[];
}
