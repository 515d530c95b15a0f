import { POOL_CONDITIONS } from './condition-meanings.ts';
import type { ConfigEvents } from './conditions.ts';

const { AmbiguousMembership, CannotBeApplied, SelectingAll } = POOL_CONDITIONS.Degraded.reasons;

/** What the reason of an event about machine configs tells. */
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
  /** What an operator does; absent: nothing. */
  readonly help?: string;
}

const POOL = ['MachineConfigPool'] as const;
const NODE = ['Node'] as const;

/** Every reason of an event of the machine-config-controller. */
export const CONFIG_EVENTS = {
  SelectingAll: { on: POOL, type: 'Warning', means: SelectingAll.means, help: SelectingAll.help },
  RenderedConfigGenerated: { on: POOL, type: 'Normal', means: 'A new config was rendered and is the target.' },
  OSImageURLOverridden: {
    on: POOL,
    type: 'Normal',
    means: 'A MachineConfig names another image of the operating system than the ControllerConfig.',
  },
  SetDesiredConfig: { on: POOL, type: 'Normal', means: 'Nodes were told the target.' },
  Updating: { on: POOL, type: 'Normal', means: 'The pool begins to bring a target to its nodes.' },
  Completed: { on: POOL, type: 'Normal', means: 'All nodes of the pool have the target.' },
  DeferringOperatorNodeUpdate: { on: POOL, type: 'Normal', means: 'The node that the operator runs on comes last.' },
  RenderFailed: {
    on: POOL,
    type: 'Warning',
    means: 'No config can be rendered; the last good one stays the target.',
    help: 'Correct what the message names. Runbook McmPoolDegraded.',
  },
  RenderedConfigLarge: {
    on: POOL,
    type: 'Warning',
    means: 'The rendered config comes near the size that the API server takes.',
    help: 'Take large files out of MachineConfigs before the next one is refused.',
  },
  TemplatesFailed: {
    on: ['ControllerConfig'],
    type: 'Warning',
    means: 'Templates, pull secret or ControllerConfig make no MachineConfigs.',
    help: 'Correct what the message names.',
  },
  KubeletConfigRefused: {
    on: ['KubeletConfig'],
    type: 'Warning',
    means: 'The object is not applied.',
    help: 'Correct the field that the message names.',
  },
  ContainerRuntimeConfigRefused: {
    on: ['ContainerRuntimeConfig'],
    type: 'Warning',
    means: 'The object is not applied.',
    help: 'Correct the field that the message names.',
  },
  UnknownFields: {
    on: ['KubeletConfig', 'ContainerRuntimeConfig', 'MachineConfigPool'],
    type: 'Warning',
    means: 'Fields of the object, or of the Ignition config of a MachineConfig of the pool, are read by nobody.',
    help: 'Correct their names, or take them out.',
  },
  DrainRequestInvalid: {
    on: NODE,
    type: 'Warning',
    means: 'The daemon of the node asks for something that is neither drain nor uncordon.',
    help: 'Look at the annotation `desiredDrain` and at the version of the daemon.',
  },
  DrainThresholdExceeded: {
    on: NODE,
    type: 'Warning',
    means: 'A drain takes longer than it should; the message names pods.',
    help: 'Look at the budgets and finalizers of these pods.',
  },
  DrainFailed: {
    on: NODE,
    type: 'Warning',
    means: 'A drain has taken an hour; the node is degraded and the drain goes on.',
    help: 'Look at the budgets and finalizers of the pods that the message names.',
  },
  EvictionUnavailable: {
    on: NODE,
    type: 'Warning',
    means: 'The pods in the message were deleted with their grace period, because they cannot be evicted.',
    help: 'The API server of the nodes has no eviction API. Serve `pods/eviction` of `policy/v1`.',
  },
  WritesForbidden: {
    on: POOL,
    type: 'Warning',
    means: 'A role does not let the controller write what the pool needs.',
    help: 'Grant the verb that the message names.',
  },
  SettingsInvalid: { on: POOL, type: 'Warning', means: CannotBeApplied.means, help: CannotBeApplied.help },
  NodesClaimed: { on: POOL, type: 'Warning', means: AmbiguousMembership.means, help: AmbiguousMembership.help },
  RolloutHalted: {
    on: POOL,
    type: 'Warning',
    means: 'Too many nodes degraded on the target: no further node is told it.',
    help: 'Undo the change that made the target, or mend the nodes. Runbook McmPoolDegraded.',
  },
} as const satisfies Readonly<Record<keyof typeof ConfigEvents, ConfigEventMeaning>>;

/** Reason of an event of the machine-config-controller. */
export type ConfigEvent = keyof typeof CONFIG_EVENTS;

/** Every reason of an event of the machine-config-daemon, on its Node. */
export const DAEMON_EVENTS = {
  ConfigDriftDetected: {
    on: NODE,
    type: 'Warning',
    means: 'A file or unit on the disk is not as the config has it.',
    help: 'Undo what was changed by hand, or put it into a MachineConfig; the file that forces a config writes it anew.',
  },
  PreflightConfigDriftCheckFailed: {
    on: NODE,
    type: 'Warning',
    means: 'The same, found before a new config was written: it is not applied.',
    help: 'As above.',
  },
} as const satisfies Readonly<Record<string, ConfigEventMeaning>>;

/** Reason of an event of the machine-config-daemon. */
export type DaemonEvent = keyof typeof DAEMON_EVENTS;
