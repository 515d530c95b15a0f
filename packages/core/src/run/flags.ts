import { DEFAULT_NODE_CONDITIONS } from '@mcm/api';
import {
  booleanFlag,
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
import { DRIVER_TIMEOUTS, type DriverTimeouts } from '../driver/invoker/api/invoker-api.ts';
import { EVIDENCE_PER_CLASS } from '../evidence/keeper.ts';
import { KEPT_VM_DEFAULTS, type KeptVmOptions } from '../evidence/kept-vms.ts';
import { journalFlags } from '../journal/flags.ts';
import { REACHABILITY_DEFAULTS, type ReachabilityTimings } from '../machine/health/reachability.ts';
import { ORPHAN_DEFAULTS, type OrphanOptions } from '../safety/orphans/orphan-options.ts';
import { MACHINE_DEFAULTS, type MachineDefaults } from '../settings/settings.ts';

/** The flags of a machine controller, in addition to the common flags. */
export const machineFlags = {
  ...flagGroup('Machines', {
    'machine-creation-timeout': durationFlag({
      default: MACHINE_DEFAULTS.creationTimeoutMs,
      help: 'longest time from the creation of a machine until its node joins',
    }),
    'machine-health-timeout': durationFlag({
      default: MACHINE_DEFAULTS.healthTimeoutMs,
      help: 'time after which an unhealthy machine becomes Failed',
    }),
    'machine-inplace-update-timeout': durationFlag({
      default: MACHINE_DEFAULTS.inPlaceUpdateTimeoutMs,
      help: 'longest time of an in-place update',
    }),
    'machine-preserve-timeout': durationFlag({
      default: MACHINE_DEFAULTS.preserveTimeoutMs,
      help: 'time for which a machine is preserved',
    }),
    'node-conditions': listFlag({
      default: DEFAULT_NODE_CONDITIONS.split(','),
      help: 'types of node conditions; a machine is unhealthy if one of the conditions is not False',
    }),
    'ready-condition': booleanFlag({
      default: false,
      help: 'write the condition Ready of machines that have no Node, for kubectl wait, Flux and Argo CD',
    }),
    'blocked-by': booleanFlag({
      default: false,
      help: 'write status.blockedBy of machines: the reasons why the machine controller waits',
    }),
    'record-vm-states': booleanFlag({
      default: false,
      help: 'while a circuit breaker is open, look up the VMs of unreachable machines and record their states',
    }),
    'bootstrap-token-auth-extra-groups': textFlag({
      default: '',
      help: 'comma-separated additional groups of bootstrap tokens',
    }),
    'resource-exhausted-retry': durationFlag({
      default: MACHINE_DEFAULTS.resourceExhaustedRetryMs,
      help: 'first retry delay of a class and zone after ResourceExhausted; the longest delay is three times this value; 0: 10m',
    }),
    'driver-call-timeout': durationFlag({
      default: DRIVER_TIMEOUTS.create,
      minMs: 1000,
      help: 'time limit of a create or delete call to the cloud; after the limit, the controller retries the call',
    }),
    'failure-evidence-per-class': integerFlag({
      min: 0,
      default: EVIDENCE_PER_CLASS,
      help: 'number of ConfigMaps with evidence of failed machines to keep for each MachineClass; 0: none',
    }),
    'failed-vms-kept-per-class': integerFlag({
      min: 0,
      default: KEPT_VM_DEFAULTS.perClass,
      help: 'maximum number of drained VMs of failed machines that mcm keeps for each MachineClass; requires --orphan-policy=delete; 0: none',
    }),
    'failed-vms-kept-for': durationFlag({
      default: KEPT_VM_DEFAULTS.forMs,
      minMs: 60_000,
      help: 'time for which --failed-vms-kept-per-class keeps a VM; after the time, mcm deletes the VM as an orphan',
    }),
  }),
  ...flagGroup('Interruptions', {
    interruptions: booleanFlag({
      default: false,
      help: 'drain and replace a machine if the driver or the Node reports an upcoming interruption of its VM',
    }),
  }),
  ...flagGroup('Hooks', {
    'hook-webhooks': textFlag({
      default: '',
      placeholder: '<file>',
      help: 'JSON file with the HTTPS webhooks that own hooks; empty: only other programs own hooks',
    }),
  }),
  ...flagGroup('Drain', {
    'machine-drain-timeout': durationFlag({
      default: MACHINE_DEFAULTS.drainTimeoutMs,
      help: 'time limit of a drain; when the time expires, mcm forces the drain',
    }),
    'machine-max-evict-retries': integerFlag({
      min: 0,
      default: MACHINE_DEFAULTS.maxEvictRetries,
      help: 'maximum number of attempts to evict a pod, one every 20 s; after the last attempt, mcm deletes the pod',
    }),
    'machine-pv-detach-timeout': durationFlag({
      default: MACHINE_DEFAULTS.volumeDetachTimeoutMs,
      help: 'longest time that a drain waits until a volume is detached from the node',
    }),
    'machine-pv-reattach-timeout': durationFlag({
      default: MACHINE_DEFAULTS.volumeReattachTimeoutMs,
      help: 'longest time that a drain waits until another node attaches a detached volume',
    }),
    'machine-unresponsive-node-timeout': durationFlag({
      default: MACHINE_DEFAULTS.unresponsiveNodeMs,
      help: 'if a node is NotReady for longer than this time, a drain deletes its pods without a grace period',
    }),
    'machine-read-only-node-timeout': durationFlag({
      default: MACHINE_DEFAULTS.readOnlyNodeMs,
      help: 'if a node has ReadonlyFilesystem for longer than this time, a drain deletes its pods without a grace period',
    }),
    'eviction-requests': booleanFlag({
      default: true,
      help: 'drain pods with EvictionRequests, if the API server supports EvictionRequests (Kubernetes 1.37, alpha)',
    }),
    'drain-volume-limit': integerFlag({
      min: 0,
      default: 0,
      help: 'maximum number of volumes of one CSI driver that all drains together move at the same time; 0: no limit',
    }),
    'drain-volume-window': integerFlag({
      min: 1,
      default: 5,
      help: 'maximum number of pods with volumes that a drain evicts in parallel; each drain starts with 1',
    }),
  }),
  ...flagGroup('Orphans and reachability', {
    'machine-safety-orphan-vms-period': durationFlag({
      default: ORPHAN_DEFAULTS.periodMs,
      minMs: 1,
      help: 'interval of the search for orphaned VMs and Nodes',
    }),
    'orphan-policy': textFlag({
      default: ORPHAN_DEFAULTS.policy,
      oneOf: ['delete', 'report'],
      help: 'action for orphaned VMs and Nodes: delete, or only report',
    }),
    'orphan-stop-period': durationFlag({
      default: 0,
      help: 'time between the stop and the deletion of an orphaned VM; 0: delete immediately',
    }),
    'orphan-tags': booleanFlag({
      default: false,
      help: 'tag orphaned VMs in quarantine with the reason for the quarantine; with --orphan-stop-period, mcm always tags orphaned VMs',
    }),
    'orphan-max-deletions-per-hour': integerFlag({
      min: 0,
      default: ORPHAN_DEFAULTS.maxPerHour,
      help: 'maximum number of orphaned VMs, and of orphaned Nodes, that the controller deletes per hour',
    }),
    'orphan-former-owners': listFlag({
      default: [],
      help: 'UIDs of the Machine namespaces of former control clusters; the controller deletes the orphaned VMs of the former control clusters',
    }),
    'machine-safety-apiserver-statuscheck-period': durationFlag({
      default: REACHABILITY_DEFAULTS.periodMs,
      minMs: 1,
      help: 'interval of API server checks during a freeze; without a freeze, the interval is a fifth of --machine-safety-apiserver-statuscheck-timeout',
    }),
    'machine-safety-apiserver-statuscheck-timeout': durationFlag({
      default: REACHABILITY_DEFAULTS.timeoutMs,
      minMs: 1,
      help: 'if an API server does not respond for this time, the controller freezes; 30 s after a response, the controller continues',
    }),
  }),
  ...safeguardFlags,
  ...journalFlags,
} as const;

/** The features of a machine controller. */
export const MACHINE_FEATURES = {
  SiblingCredentials: {
    stage: 'BETA',
    help: 'if the cloud refuses the credentials of a class, use the credentials of another class to delete machines',
  },
  UndrainablePolicy: {
    stage: 'BETA',
    help: 'let the annotation node.machine.sapcloud.io/undrainable-policy keep VMs that mcm cannot drain in time',
  },
} as const satisfies Features;

export type MachineFlagValues = FlagValues<typeof machineFlags>;

interface WithFeatures {
  readonly 'feature-gates': FeatureStates;
}

const isFeatureOn = (flags: WithFeatures, name: keyof typeof MACHINE_FEATURES): boolean =>
  flags['feature-gates'][name] === true;

/** Returns one sentence for each combination of flags that is not allowed. */
export const checkMachineFlags = (flags: MachineFlagValues): readonly string[] => [
  ...(flags['machine-safety-apiserver-statuscheck-period'] < flags['machine-safety-apiserver-statuscheck-timeout']
    ? ['--machine-safety-apiserver-statuscheck-period must be at least --machine-safety-apiserver-statuscheck-timeout']
    : []),
  ...(flags['failed-vms-kept-per-class'] > 0 && flags['orphan-policy'] === 'report'
    ? [
        '--failed-vms-kept-per-class requires --orphan-policy=delete; with the policy "report", mcm never deletes the kept VMs',
      ]
    : []),
  ...checkSafeguardFlags(flags),
];

/** Converts parsed flags to the defaults for machines. */
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

/** Returns the options of a machine controller that its flags contain. */
export const machineOptionsOf = (flags: MachineFlagValues & WithFeatures) => ({
  defaults: machineDefaultsOf(flags),
  bootstrapTokenExtraGroups: flags['bootstrap-token-auth-extra-groups'],
  timeouts: timeoutsOf(flags),
  orphans: orphanOptionsOf(flags),
  reachability: reachabilityOf(flags),
  volumeWindow: flags['drain-volume-window'],
  volumeLimit: flags['drain-volume-limit'],
  evictionRequests: flags['eviction-requests'],
  evidencePerClass: flags['failure-evidence-per-class'],
  keptVms: keptVmsOf(flags),
  readyCondition: flags['ready-condition'],
  blockedBy: flags['blocked-by'],
  recordVmStates: flags['record-vm-states'],
  siblingCredentials: isFeatureOn(flags, 'SiblingCredentials'),
});

const keptVmsOf = (flags: MachineFlagValues): KeptVmOptions => ({
  perClass: flags['failed-vms-kept-per-class'],
  forMs: flags['failed-vms-kept-for'],
});

const orphanOptionsOf = (flags: MachineFlagValues): OrphanOptions => ({
  ...ORPHAN_DEFAULTS,
  periodMs: flags['machine-safety-orphan-vms-period'],
  maxPerHour: flags['orphan-max-deletions-per-hour'],
  stopMs: flags['orphan-stop-period'],
  tags: flags['orphan-tags'],
  policy: flags['orphan-policy'] === 'report' ? 'report' : 'delete',
  formerOwners: flags['orphan-former-owners'],
});

const reachabilityOf = (flags: MachineFlagValues): ReachabilityTimings => ({
  periodMs: flags['machine-safety-apiserver-statuscheck-period'],
  timeoutMs: flags['machine-safety-apiserver-statuscheck-timeout'],
});

const timeoutsOf = (flags: MachineFlagValues): DriverTimeouts => ({
  ...DRIVER_TIMEOUTS,
  create: flags['driver-call-timeout'],
  delete: flags['driver-call-timeout'],
});
