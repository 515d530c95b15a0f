import { POOL_CONDITIONS } from './condition-meanings.ts';
import type { ConfigEvents } from './conditions.ts';

const { AmbiguousMembership, CannotBeApplied, SelectingAll } = POOL_CONDITIONS.Degraded.reasons;

/** The meaning of an event reason, for the reference and the CLI. */
export interface ConfigEventMeaning {
  readonly on: readonly (
    | 'MachineConfigPool'
    | 'ControllerConfig'
    | 'KubeletConfig'
    | 'ContainerRuntimeConfig'
    | 'Node'
  )[];
  readonly type: 'Normal' | 'Warning';
  readonly means: string;
  readonly help?: string;
}

const POOL = ['MachineConfigPool'] as const;
const NODE = ['Node'] as const;

/** All event reasons of the machine-config-controller. */
export const CONFIG_EVENTS = {
  SelectingAll: { on: POOL, type: 'Warning', means: SelectingAll.means, help: SelectingAll.help },
  RenderedConfigGenerated: {
    on: POOL,
    type: 'Normal',
    means: 'The controller rendered a new configuration, which is the new target of the pool.',
  },
  OSImageURLOverridden: {
    on: POOL,
    type: 'Normal',
    means: 'A MachineConfig replaces the operating system image of the ControllerConfig.',
  },
  SetDesiredConfig: { on: POOL, type: 'Normal', means: 'The controller set the target configuration of some nodes.' },
  Updating: { on: POOL, type: 'Normal', means: 'The pool starts to update its nodes to a new target configuration.' },
  Completed: { on: POOL, type: 'Normal', means: 'All nodes of the pool have the target configuration.' },
  DeferringOperatorNodeUpdate: {
    on: POOL,
    type: 'Normal',
    means: 'The pool updates the node of the machine-config-controller after all other nodes.',
  },
  RenderFailed: {
    on: POOL,
    type: 'Warning',
    means:
      'The controller cannot render a configuration. The target of the pool is still the most recent valid configuration.',
    help: 'Correct the field that the message of the event names. Runbook McmPoolDegraded.',
  },
  RenderedConfigLarge: {
    on: POOL,
    type: 'Warning',
    means: 'The rendered configuration is almost as large as the limit of the API server.',
    help: 'Remove large files from the MachineConfigs.',
  },
  TemplatesFailed: {
    on: ['ControllerConfig'],
    type: 'Warning',
    means:
      'The templates, the pull secret or the ControllerConfig are invalid, so the controller generates no MachineConfigs.',
    help: 'Correct the field that the message of the event names.',
  },
  KubeletConfigRefused: {
    on: ['KubeletConfig'],
    type: 'Warning',
    means: 'The KubeletConfig or ContainerRuntimeConfig is invalid, so the controller did not apply the object.',
    help: 'Correct the field that the message of the event names.',
  },
  ContainerRuntimeConfigRefused: {
    on: ['ContainerRuntimeConfig'],
    type: 'Warning',
    means: 'The KubeletConfig or ContainerRuntimeConfig is invalid, so the controller did not apply the object.',
    help: 'Correct the field that the message of the event names.',
  },
  UnknownFields: {
    on: ['KubeletConfig', 'ContainerRuntimeConfig', 'MachineConfigPool'],
    type: 'Warning',
    means: 'The object, or the Ignition config of a MachineConfig of the pool, has unknown fields.',
    help: 'Correct the names of the fields, or remove the fields.',
  },
  DrainRequestInvalid: {
    on: NODE,
    type: 'Warning',
    means: 'The annotation `desiredDrain` of the node contains neither a drain nor an uncordon request.',
    help: 'Check the annotation `desiredDrain`, and the version of the daemon on the node.',
  },
  DrainThresholdExceeded: {
    on: NODE,
    type: 'Warning',
    means:
      'The drain of a node takes more than ten minutes. The message of the event contains the names of the pods that mcm has not evicted yet.',
    help: 'Check the PodDisruptionBudgets and the finalizers of the pods that the message of the event lists.',
  },
  DrainFailed: {
    on: NODE,
    type: 'Warning',
    means: 'The drain of a node has taken an hour. The node is Degraded, and the drain continues.',
    help: 'Check the budgets and finalizers of the pods that the message of the event lists.',
  },
  EvictionUnavailable: {
    on: NODE,
    type: 'Warning',
    means: 'The API server cannot evict pods, so the controller deleted the listed pods with their grace period.',
    help: 'The target cluster has no eviction API. Enable `pods/eviction` of `policy/v1`.',
  },
  WritesForbidden: {
    on: POOL,
    type: 'Warning',
    means: 'The controller lacks a permission to write.',
    help: 'Grant the permission that the message of the event names.',
  },
  SettingsInvalid: { on: POOL, type: 'Warning', means: CannotBeApplied.means, help: CannotBeApplied.help },
  NodesClaimed: { on: POOL, type: 'Warning', means: AmbiguousMembership.means, help: AmbiguousMembership.help },
  RolloutWaiting: {
    on: POOL,
    type: 'Normal',
    means: 'The rollout waits for a window, for the end of a freeze, or for nodes with a postponed update.',
    help: 'To continue now, set the annotation `rollout.machine.sapcloud.io/open-until` on the pool.',
  },
  RolloutHalted: {
    on: POOL,
    type: 'Warning',
    means: 'Too many nodes are Degraded after the update. The pool updates no further node.',
    help: 'Revert the change of the configuration, or repair the nodes. Runbook McmPoolDegraded.',
  },
} as const satisfies Readonly<Record<keyof typeof ConfigEvents, ConfigEventMeaning>>;

/** Reason of an event of the machine-config-controller. */
export type ConfigEvent = keyof typeof CONFIG_EVENTS;

/** All event reasons of the machine-config-daemon, for events about its Node. */
export const DAEMON_EVENTS = {
  ConfigDriftDetected: {
    on: NODE,
    type: 'Warning',
    means: 'A file or unit on the disk differs from the configuration.',
    help: 'Revert the manual change, or add the change to a MachineConfig. If the force file exists, the daemon writes all files again.',
  },
  PreflightConfigDriftCheckFailed: {
    on: NODE,
    type: 'Warning',
    means:
      'Before the daemon applied a new configuration, it found a file that a user had changed. The daemon does not apply the new configuration.',
    help: 'Revert the manual change, or add the change to a MachineConfig.',
  },
} as const satisfies Readonly<Record<string, ConfigEventMeaning>>;

/** Reason of an event of the machine-config-daemon. */
export type DaemonEvent = keyof typeof DAEMON_EVENTS;
