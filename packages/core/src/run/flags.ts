import { DEFAULT_NODE_CONDITIONS } from '@mcm/api';
import {
  durationFlag,
  type FeatureStates,
  type Features,
  type FlagValues,
  flagGroup,
  integerFlag,
  listFlag,
  textFlag,
} from '@mcm/kube';
import { checkSafeguardFlags, safeguardFlags, safeguardsOf } from '../disruption/flags.ts';
import { DRIVER_TIMEOUTS, type DriverTimeouts } from '../driver/invoker-api.ts';
import { EVIDENCE_PER_CLASS } from '../evidence/keeper.ts';
import { KEPT_VM_DEFAULTS, type KeptVmOptions } from '../evidence/kept-vms.ts';
import { MACHINE_DEFAULTS, type MachineDefaults } from '../machine/settings.ts';
import { ORPHAN_DEFAULTS, type OrphanOptions } from '../safety/orphans.ts';
import { REACHABILITY_DEFAULTS, type ReachabilityTimings } from '../safety/reachability.ts';

/** The flags of a machine controller beside the common ones: the original's names and defaults, then our own. */
export const machineFlags = {
  ...flagGroup('Machines', {
    'machine-creation-timeout': durationFlag({
      default: MACHINE_DEFAULTS.creationTimeoutMs,
      help: 'from creation until the node must have joined',
    }),
    'machine-health-timeout': durationFlag({
      default: MACHINE_DEFAULTS.healthTimeoutMs,
      help: 'after this long unhealthy a machine is Failed',
    }),
    'machine-inplace-update-timeout': durationFlag({
      default: MACHINE_DEFAULTS.inPlaceUpdateTimeoutMs,
      help: 'limit of an in-place update',
    }),
    'machine-preserve-timeout': durationFlag({
      default: MACHINE_DEFAULTS.preserveTimeoutMs,
      help: 'length of a preservation',
    }),
    'node-conditions': listFlag({
      default: DEFAULT_NODE_CONDITIONS.split(','),
      help: 'node condition types that make a machine unhealthy unless False',
    }),
    'bootstrap-token-auth-extra-groups': textFlag({
      default: '',
      help: 'comma-separated groups that bootstrap tokens authenticate to as well',
    }),
    'resource-exhausted-retry': durationFlag({
      default: MACHINE_DEFAULTS.resourceExhaustedRetryMs,
      help: 'first wait after a creation that failed with ResourceExhausted, shared by the machines of a class and zone and doubled up to three times it; 0 means 10m',
    }),
    'driver-call-timeout': durationFlag({
      default: DRIVER_TIMEOUTS.create,
      minMs: 1000,
      help: 'the longest that a creation or deletion at the cloud may take before it is tried again',
    }),
    'failure-evidence-per-class': integerFlag({
      min: 0,
      default: EVIDENCE_PER_CLASS,
      help: 'ConfigMaps with what was found of failed machines kept for each MachineClass, the newest; 0 keeps none',
    }),
    'failed-vms-kept-per-class': integerFlag({
      min: 0,
      default: KEPT_VM_DEFAULTS.perClass,
      help: 'emptied VMs of failed machines of a MachineClass that are kept for study at once when their machines are deleted; needs --orphan-policy=delete; 0 keeps none',
    }),
    'failed-vms-kept-for': durationFlag({
      default: KEPT_VM_DEFAULTS.forMs,
      minMs: 60_000,
      help: 'how long such a VM is kept; then it is deleted as one without a machine',
    }),
  }),
  ...flagGroup('Drain', {
    'machine-drain-timeout': durationFlag({
      default: MACHINE_DEFAULTS.drainTimeoutMs,
      help: 'after this long a drain is forced',
    }),
    'machine-max-evict-retries': integerFlag({
      min: 0,
      default: MACHINE_DEFAULTS.maxEvictRetries,
      help: 'evictions tried for a pod, one every 20 s, before it is deleted',
    }),
    'machine-pv-detach-timeout': durationFlag({
      default: MACHINE_DEFAULTS.volumeDetachTimeoutMs,
      help: 'how long a drain waits for a volume to come off the node',
    }),
    'machine-pv-reattach-timeout': durationFlag({
      default: MACHINE_DEFAULTS.volumeReattachTimeoutMs,
      help: 'how long a drain waits for a volume to be attached elsewhere before the next pod with volumes leaves',
    }),
    'machine-unresponsive-node-timeout': durationFlag({
      default: MACHINE_DEFAULTS.unresponsiveNodeMs,
      help: 'NotReady for longer than this, the pods of a node that is deleted are force-deleted',
    }),
    'machine-read-only-node-timeout': durationFlag({
      default: MACHINE_DEFAULTS.readOnlyNodeMs,
      help: 'its file system read-only (condition ReadonlyFilesystem) for longer than this, the pods of a node that is deleted are force-deleted; much longer than the other where pods end well without writing',
    }),
    'drain-volume-window': integerFlag({
      min: 1,
      default: 5,
      help: 'pods with volumes of one node on their way to other nodes at once at most; begins with 1, grows while volumes come off fast, halves when they do not; never more than the CSI drivers can attach to the other nodes of the zone',
    }),
  }),
  ...flagGroup('Orphans and reachability', {
    'machine-safety-orphan-vms-period': durationFlag({
      default: ORPHAN_DEFAULTS.periodMs,
      minMs: 1,
      help: 'time between two searches for VMs and nodes without a machine',
    }),
    'orphan-policy': textFlag({
      default: ORPHAN_DEFAULTS.policy,
      oneOf: ['delete', 'report'],
      help: 'what becomes of VMs and Nodes without a machine',
    }),
    'orphan-max-deletions-per-hour': integerFlag({
      min: 0,
      default: ORPHAN_DEFAULTS.maxPerHour,
      help: 'VMs without a machine, and Nodes without one, deleted within an hour at most',
    }),
    'orphan-former-owners': listFlag({
      default: [],
      help: 'control clusters (UIDs of their namespaces of Machines) that this one was moved from: VMs that they made are its own; those of others are never deleted as orphans',
    }),
    'machine-safety-apiserver-statuscheck-period': durationFlag({
      default: REACHABILITY_DEFAULTS.periodMs,
      minMs: 1,
      help: 'time between two checks of the API servers while machines are not judged; before that, a check comes every fifth of --machine-safety-apiserver-statuscheck-timeout',
    }),
    'machine-safety-apiserver-statuscheck-timeout': durationFlag({
      default: REACHABILITY_DEFAULTS.timeoutMs,
      minMs: 1,
      help: 'an API server gives no answer for longer than this: machines are not judged until 30 s after it is back',
    }),
  }),
  ...safeguardFlags,
} as const;

/** What of a machine controller can be switched on or off beside its flags. */
export const MACHINE_FEATURES = {
  SiblingCredentials: {
    stage: 'BETA',
    help: 'a machine whose class has credentials that the cloud refuses is deleted with those of another class',
  },
  UndrainablePolicy: {
    stage: 'BETA',
    help: 'annotation node.machine.sapcloud.io/undrainable-policy keeps a VM whose drain was not done in time',
  },
} as const satisfies Features;

export type MachineFlagValues = FlagValues<typeof machineFlags>;

interface WithFeatures {
  readonly 'feature-gates': FeatureStates;
}

/** Whether a feature of a machine controller is on. */
export const isFeatureOn = (flags: WithFeatures, name: keyof typeof MACHINE_FEATURES): boolean =>
  flags['feature-gates'][name] === true;

/** What no single flag can know is wrong. */
export const checkMachineFlags = (flags: MachineFlagValues): readonly string[] => [
  ...(flags['machine-safety-apiserver-statuscheck-period'] < flags['machine-safety-apiserver-statuscheck-timeout']
    ? ['--machine-safety-apiserver-statuscheck-period must be at least --machine-safety-apiserver-statuscheck-timeout']
    : []),
  ...(flags['failed-vms-kept-per-class'] > 0 && flags['orphan-policy'] === 'report'
    ? ['--failed-vms-kept-per-class needs --orphan-policy=delete: with report nothing would end what is kept']
    : []),
  ...checkSafeguardFlags(flags),
];

/** The defaults for every machine that parsed flags stand for. */
export const machineDefaultsOf = (flags: MachineFlagValues & WithFeatures): MachineDefaults => ({
  creationTimeoutMs: flags['machine-creation-timeout'],
  healthTimeoutMs: flags['machine-health-timeout'],
  drainTimeoutMs: flags['machine-drain-timeout'],
  inPlaceUpdateTimeoutMs: flags['machine-inplace-update-timeout'],
  preserveTimeoutMs: flags['machine-preserve-timeout'],
  maxEvictRetries: flags['machine-max-evict-retries'],
  unhealthyConditionTypes: flags['node-conditions'],
  volumeDetachTimeoutMs: flags['machine-pv-detach-timeout'],
  volumeReattachTimeoutMs: flags['machine-pv-reattach-timeout'],
  resourceExhaustedRetryMs: flags['resource-exhausted-retry'],
  unresponsiveNodeMs: flags['machine-unresponsive-node-timeout'],
  readOnlyNodeMs: flags['machine-read-only-node-timeout'],
  ...safeguardsOf(flags),
  undrainablePolicy: isFeatureOn(flags, 'UndrainablePolicy'),
});

export const keptVmsOf = (flags: MachineFlagValues): KeptVmOptions => ({
  perClass: flags['failed-vms-kept-per-class'],
  forMs: flags['failed-vms-kept-for'],
});

export const orphanOptionsOf = (flags: MachineFlagValues): OrphanOptions => ({
  ...ORPHAN_DEFAULTS,
  periodMs: flags['machine-safety-orphan-vms-period'],
  maxPerHour: flags['orphan-max-deletions-per-hour'],
  policy: flags['orphan-policy'] === 'report' ? 'report' : 'delete',
  formerOwners: flags['orphan-former-owners'],
});

export const reachabilityOf = (flags: MachineFlagValues): ReachabilityTimings => ({
  periodMs: flags['machine-safety-apiserver-statuscheck-period'],
  timeoutMs: flags['machine-safety-apiserver-statuscheck-timeout'],
});

export const timeoutsOf = (flags: MachineFlagValues): DriverTimeouts => ({
  ...DRIVER_TIMEOUTS,
  create: flags['driver-call-timeout'],
  delete: flags['driver-call-timeout'],
});
