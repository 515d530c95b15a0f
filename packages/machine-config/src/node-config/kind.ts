import type { ClusterSettings } from '../controllers/cluster-settings.ts';
import type { IgnitionFile } from '../ignition/index.ts';
import type { ContainerRuntimeConfig } from '../kinds/container-runtime-config.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { KubeletConfig } from '../kinds/kubelet-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import type { ConfigCondition } from '../kinds/shared.ts';
import type { TemplateTree } from '../templates/tree.ts';

/** Objects of users that become one MachineConfig for each pool that they select. */
export type NodeConfig = KubeletConfig | ContainerRuntimeConfig;

/** What the files of such an object are made of besides the object. */
export interface NodeConfigInput {
  readonly tree: TemplateTree;
  readonly controllerConfig: ControllerConfig;
  readonly cluster: ClusterSettings;
}

/** What naming differs in. */
export interface NodeConfigNaming {
  /** `kubelet`: the MachineConfigs are `99-<pool>-generated-kubelet`. */
  readonly part: 'kubelet' | 'containerruntime';
  /** What messages call such an object. */
  readonly noun: string;
  /** Names that older controllers gave. */
  readonly formerNames: (pool: MachineConfigPool) => readonly string[];
}

/** What the two kinds differ in. */
export interface NodeConfigKind<T extends NodeConfig> {
  readonly kind: T['kind'];
  readonly naming: NodeConfigNaming;
  /** What messages call an object of which no pool is selected. */
  readonly noPool: (config: T) => string;
  /** Fields that nobody reads, one sentence each: what is known goes on without them. */
  readonly unknown: (config: T) => readonly string[];
  /** Checks what a user wrote. @throws NodeConfigError naming the field */
  readonly validate: (config: T) => void;
  /** Checks what a user wrote against a pool that it selects. @throws NodeConfigError naming the field */
  readonly validateFor: (config: T, pool: MachineConfigPool) => void;
  /** The files for a pool. @throws NodeConfigError, TemplateError */
  readonly files: (config: T, pool: MachineConfigPool, input: NodeConfigInput) => readonly IgnitionFile[];
  /** The conditions after a verdict; `now` is RFC 3339. */
  readonly withVerdict: (
    existing: readonly ConfigCondition[],
    problem: string | undefined,
    now: string,
  ) => readonly ConfigCondition[];
}
