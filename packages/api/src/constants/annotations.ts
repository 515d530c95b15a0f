/**
 * Annotation keys. Source: machine-controller-manager, pkg/apis/machine/v1alpha1/constants.go,
 * pkg/util/provider/machineutils/utils.go, pkg/controller/{deployment_util,machine_safety}.go.
 */
export const Annotations = {
  /**
   * Machine or MachineClass, `<RFC 3339 expiry> <reason>`: until then, mcm replaces machines although many became
   * unreachable together. Only in mcm, not in the original.
   */
  BreakerOverride: 'node.machine.sapcloud.io/replace-despite-common-silence',
  /**
   * Machine, `True`: it was Failed when its deletion began. The deletion stops while many others are unreachable too.
   * The phase no longer shows this during a deletion. Ours.
   */
  DeletedForHealth: 'node.machine.sapcloud.io/deleted-for-health',
  /**
   * MachineClass, provider IDs separated by commas: orphaned VMs in quarantine, until an operator decides.
   * Many machines disappeared together, or the API server of the machines has an older state. Only mcm has this annotation and the next one.
   */
  QuarantinedVMs: 'orphan.machine.sapcloud.io/quarantined-vms',
  /** MachineClass, provider IDs separated by commas: an operator releases these VMs from quarantine, for drain and deletion. */
  ReleaseVMs: 'orphan.machine.sapcloud.io/release-vms',
  /**
   * Machine, `true`: no create call was sent, because its class was refused each time. Removed before the first create call. The deletion of a machine without a VM needs no class. Ours.
   */
  NoCreateCall: 'node.machine.sapcloud.io/no-create-call',
  /**
   * Machine, `true`: it replaces a machine that failed or was deleted; it is not there because its set grew.
   * It counts as a replacement in progress until it runs. Only in mcm, not in the original.
   */
  Replacement: 'node.machine.sapcloud.io/replacement',
  /**
   * MachineSet, decimals: the number of its next machine, then lower numbers whose creation had no answer. The names of
   * machines are derived from these numbers. Ours.
   */
  NextMachineNumbers: 'node.machine.sapcloud.io/next-machine-numbers',
  /** MachineDeployment → MachineSet → Machine, a Go duration: beats `spec.creationTimeout`. */
  EffectiveCreationTimeout: 'node.machine.sapcloud.io/effective-creation-timeout',
  /**
   * Machine and Node, JSON: the cloud ends or disturbs the VM at the deadline. The machine controller writes the one of the
   * Machine, an agent the one of the Node. Ours.
   */
  Interruption: 'node.machine.sapcloud.io/interruption',
  /** Machine, a Go duration: time from creation to first join. */
  MachineJoinDuration: 'node.machine.sapcloud.io/machine-join-duration',
  /**
   * Machine, RFC 3339, written by the machine-config-controller: the latest end of the update of its node. During the update it is
   * unreachable on purpose.
   */
  UpdateInProgressUntil: 'machineconfiguration.openshift.io/update-in-progress-until',
  /** Node: why an in-place update failed. */
  UpdateFailedReason: 'node.machine.sapcloud.io/update-failed-reason',
  /** MachineDeployment, an int or percent: machines of a new template that come first. Only mcm has this annotation and the next five. */
  RolloutCanary: 'rollout.machine.sapcloud.io/canary',
  /** MachineDeployment, a Go duration: how long the canaries must be available before others follow. */
  RolloutCanarySoak: 'rollout.machine.sapcloud.io/canary-soak',
  /** MachineDeployment, a Go duration: how long all new machines must be available before more follow. */
  RolloutBatchPause: 'rollout.machine.sapcloud.io/pause-between-batches',
  /** MachineDeployment, `true`: a machine of the new template that fails pauses the rollout (`spec.paused`). */
  RolloutPauseOnFailure: 'rollout.machine.sapcloud.io/pause-on-failure',
  /** MachineDeployment, `true`: a machine of the new template that fails undoes the rollout. Ours. */
  RolloutUndoOnFailure: 'rollout.machine.sapcloud.io/undo-on-failure',
  /** MachineDeployment, `name~uid,…`: the failed machines that paused the rollout; they do not pause it again. */
  RolloutPausedBy: 'rollout.machine.sapcloud.io/paused-by',
  /**
   * MachineDeployment, the name of a MachineSet: its template last carried the whole deployment, or a user went back to it.
   * The manager writes it for deployments with one of the annotations above.
   */
  RolloutLastGood: 'rollout.machine.sapcloud.io/last-good',
  /**
   * MachineDeployment, MachineClass or pool, `<five cron fields> <time zone> <duration>; …`: only then a rollout replaces or
   * updates machines. Only mcm has this annotation and the next two.
   */
  RolloutWindows: 'rollout.machine.sapcloud.io/windows',
  /** MachineDeployment, MachineClass or pool, `<from>/<until> <reason>; …` with RFC 3339 times: then no rollout acts. */
  RolloutFreezes: 'rollout.machine.sapcloud.io/freezes',
  /** MachineDeployment or pool, RFC 3339: until then its rollout ignores windows, freezes and postponing nodes. */
  RolloutOpenUntil: 'rollout.machine.sapcloud.io/open-until',
  /** MachineDeployment, `true` or `false`: machines that still terminate count towards the surge; beats the flag. Ours. */
  CountTerminating: 'rollout.machine.sapcloud.io/count-terminating-towards-surge',
  /**
   * Node, a template hash: the template of its in-place update. Empty: the last update has ended, and its template
   * is obsolete. Ours. The original counts an update to a replaced template as one to the newest.
   */
  SelectedForTemplate: 'node.machine.sapcloud.io/selected-for-template',
  /** Node, JSON of a NodeTemplateSpec: labels, annotations and taints as last synced. */
  LastAppliedNodeTemplate: 'node.machine.sapcloud.io/last-applied-anno-labels-taints',
  /** Node, JSON of a resource list: virtual capacity as last synced. */
  LastAppliedVirtualCapacity: 'node.machine.sapcloud.io/last-applied-virtual-capacity',
  /**
   * Node, `<namespace>/<class>` of its machine, written when the Node joins. Once the machine is gone, it identifies the
   * controller and the cloud of the Node. Only in mcm, not in the original.
   */
  MachineClassOfNode: 'node.machine.sapcloud.io/machine-class',
  /** Node (presence counts, written as `1`): the node belongs to no Machine and is left alone. */
  NotManagedByMCM: 'node.machine.sapcloud.io/not-managed-by-mcm',
  /** MachineDeployment, `m1~t1,m2` with RFC 3339 times: machines to delete at the next scale-down; no time means now. */
  TriggerDeletion: 'node.machine.sapcloud.io/trigger-deletion-by-mcm',
  /**
   * MachineDeployment, JSON `{"requestID", "machines", "from", "to"}`: scale-in of named machines, in the same write as
   * `spec.replicas`. Only in mcm, not in the original.
   */
  ScaleIn: 'node.machine.sapcloud.io/scale-in',
  /** MachineDeployment, JSON list of `{"requestID", "outcome", "message"}`, newest first: the results of scale-ins. */
  ScaleInResults: 'node.machine.sapcloud.io/scale-in-results',
  /**
   * MachineDeployment, RFC 3339: when the scaler last changed the replicas. MachineSet: its replicas have fallen for the
   * machines that were named up to this time, and they are deleted.
   */
  LastReplicaChangeByScaler: 'machine.sapcloud.io/last-deployment-replica-change-by-scaler-time',
  /** Machine, RFC 3339: when the cluster autoscaler decided to remove this machine. */
  MarkedForDeletionTime: 'machine.sapcloud.io/marked-for-deletion-time',
  /** Machine, an integer, 3 if absent or unparseable: lower is deleted first. */
  Priority: 'machinepriority.machine.sapcloud.io',
  /** Machine and Node, a {@link PreserveValue}: request to keep the machine. The Node's value wins. */
  Preserve: 'node.machine.sapcloud.io/preserve',
  /** Machine: the Node's last preserve value, possibly empty; tells a removed annotation from one never set. */
  LastAppliedNodePreserve: 'node.machine.sapcloud.io/last-applied-node-preserve-value',
  /** Machine, or MachineClass for all its machines, `Force`, `Quarantine` or `Hold`: the policy if a drain exceeds its time. */
  UndrainablePolicy: 'node.machine.sapcloud.io/undrainable-policy',
  /**
   * Machine, `Quarantine` or `Hold`: the time to drain is over, pods are left, and this policy keeps the VM. The machine
   * controller writes it; the deployment no longer counts the machine. Ours.
   */
  Undrained: 'node.machine.sapcloud.io/undrained',
  /** Node, `true`: the cluster autoscaler leaves the node alone. */
  ScaleDownDisabled: 'cluster-autoscaler.kubernetes.io/scale-down-disabled',
  /** Node, `true`: the annotation above is ours and may be removed by us. */
  ScaleDownDisabledByMCM: 'cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm',
  /** Node, `true`, written by the machine-config-controller: the same of its own, as long as the node is updated. */
  ScaleDownDisabledByMCC: 'machineconfiguration.openshift.io/scale-down-disabled-by-mcc',
  /**
   * Node, written by its daemon of machine configs: `drain-<config>` as long as it wants the node empty, then
   * `uncordon-<config>`.
   */
  ConfigDaemonDrain: 'machineconfiguration.openshift.io/desiredDrain',
  /** Node, written by its daemon of machine configs: how it is, such as `Done` or `Degraded`. */
  ConfigDaemonState: 'machineconfiguration.openshift.io/state',
  /** Node, written by its daemon of machine configs: why it is Degraded or Unreconcilable. */
  ConfigDaemonReason: 'machineconfiguration.openshift.io/reason',
  /** MachineDeployment, written by the machine-config-controller: the pool whose configuration new machines must apply. */
  ConfigAwaitedByPool: 'machineconfiguration.openshift.io/awaited-by-pool',
  /** Template of a MachineDeployment and its Machines, written by the machine-config-controller: their configuration. */
  TemplateConfig: 'machineconfiguration.openshift.io/config',
  /** Machine, `true`, written by the machine-config-controller: its node has applied a configuration once. */
  ConfigApplied: 'machineconfiguration.openshift.io/config-applied',
  /** MachineClass, JSON: its provider spec when it last made sense, as long as it does not; by it its VMs are deleted. */
  FormerProviderSpec: 'machine.sapcloud.io/former-provider-spec',
  /** MachineDeployment and MachineSet, a decimal: rollout revision. */
  Revision: 'deployment.kubernetes.io/revision',
  /** MachineSet, a comma list: former revisions of a set that came back into use. */
  RevisionHistory: 'deployment.kubernetes.io/revision-history',
  /** MachineSet, a decimal: the deployment's replicas when the set was last scaled. */
  DesiredReplicas: 'deployment.kubernetes.io/desired-replicas',
  /** MachineSet, a decimal: desired replicas plus maxSurge. */
  MaxReplicas: 'deployment.kubernetes.io/max-replicas',
  /** MachineSet, `True`: its nodes carry the prefer-no-schedule taint. */
  PreferNoSchedule: 'deployment.machine.sapcloud.io/prefer-no-schedule',
  /** MachineDeployment and MachineSet: asks the safety controller to thaw. */
  Unfreeze: 'safety.machine.sapcloud.io/unfreeze',
  /** kubectl's own record; never copied from a MachineDeployment to its sets. */
  LastAppliedConfiguration: 'kubectl.kubernetes.io/last-applied-configuration',
  /** Pod: marks a static pod's mirror, which cannot be evicted. */
  MirrorPod: 'kubernetes.io/config.mirror',
} as const;

/** Values of {@link Annotations.Preserve} that mean something; anything else counts as not annotated. */
export const PreserveValues = {
  Now: 'now',
  WhenFailed: 'when-failed',
  AutoPreserved: 'auto-preserved',
  False: 'false',
} as const;

/** A request to preserve a machine, or to stop (`false`). */
export type PreserveValue = (typeof PreserveValues)[keyof typeof PreserveValues];

/** Priority of a machine without a (parseable) priority annotation. */
export const DEFAULT_MACHINE_PRIORITY = 3;

/** Priority that, together with a mark time, means: delete now. */
export const TRIGGERED_DELETION_PRIORITY = 1;

/** Annotations of a MachineDeployment that are not copied to its MachineSets, nor back in a rollback. */
export const ANNOTATIONS_NOT_COPIED: ReadonlySet<string> = new Set([
  Annotations.LastAppliedConfiguration,
  Annotations.Revision,
  Annotations.RevisionHistory,
  Annotations.DesiredReplicas,
  Annotations.MaxReplicas,
  Annotations.PreferNoSchedule,
  Annotations.NextMachineNumbers,
  Annotations.Unfreeze,
  Annotations.TriggerDeletion,
  Annotations.ScaleIn,
  Annotations.ScaleInResults,
  Annotations.RolloutCanary,
  Annotations.RolloutCanarySoak,
  Annotations.RolloutBatchPause,
  Annotations.RolloutPauseOnFailure,
  Annotations.RolloutUndoOnFailure,
  Annotations.RolloutPausedBy,
  Annotations.RolloutLastGood,
  Annotations.RolloutWindows,
  Annotations.RolloutFreezes,
  Annotations.RolloutOpenUntil,
  Annotations.CountTerminating,
]);
