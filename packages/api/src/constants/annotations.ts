/**
 * Annotation keys. Source: machine-controller-manager, pkg/apis/machine/v1alpha1/constants.go,
 * pkg/util/provider/machineutils/utils.go, pkg/controller/{deployment_util,machine_safety}.go.
 */
export const Annotations = {
  /**
   * On a Machine or MachineClass, the value `<RFC 3339 expiry> <reason>` lets mcm ignore an open circuit breaker until
   * the expiry. Only in mcm.
   */
  BreakerOverride: 'node.machine.sapcloud.io/replace-despite-common-silence',
  /**
   * On a Machine, the value `<RFC 3339> <state>` records the state of its VM while many machines were unreachable. The
   * states are `exists`, `ended`, `gone` and `unknown`. Only in mcm.
   */
  VmState: 'node.machine.sapcloud.io/vm-state',
  /**
   * On a Machine, the value `True` records that the machine was `Failed` when its deletion started. An open circuit
   * breaker stops the deletion of the machine. Only in mcm.
   */
  DeletedForHealth: 'node.machine.sapcloud.io/deleted-for-health',
  /**
   * On an Event, the value is the ID of the trace of its object. mcm sets the trace ID only if tracing is on. Only in
   * mcm.
   */
  TraceId: 'trace.machine.sapcloud.io/id',
  /**
   * On a MachineClass, the value lists the provider IDs of the orphaned VMs in quarantine, separated by commas. mcm
   * keeps these VMs until an operator releases them. Only in mcm.
   */
  QuarantinedVMs: 'orphan.machine.sapcloud.io/quarantined-vms',
  /**
   * On a MachineClass, an operator lists provider IDs, separated by commas. mcm releases the listed VMs from
   * quarantine, and drains and deletes these VMs. Only in mcm.
   */
  ReleaseVMs: 'orphan.machine.sapcloud.io/release-vms',
  /**
   * On a MachineClass, the value lists the stopped orphaned VMs as entries `<provider ID>=<RFC 3339 time>`. mcm deletes
   * each VM at its time. Only in mcm.
   */
  StoppedVMs: 'orphan.machine.sapcloud.io/stopped-vms',
  /**
   * On a Machine, the value is `true` until the machine controller sends the first create call. Until then, the
   * machine has no VM, so mcm can delete the machine without a valid class. Only in mcm.
   */
  NoCreateCall: 'node.machine.sapcloud.io/no-create-call',
  /**
   * On a Machine, the value `true` marks the replacement of a failed or deleted machine until the new machine is
   * `Running`. Only in mcm.
   */
  Replacement: 'node.machine.sapcloud.io/replacement',
  /**
   * On a MachineSet, the value contains decimal numbers from which mcm computes the names of new machines. Only in mcm.
   */
  NextMachineNumbers: 'node.machine.sapcloud.io/next-machine-numbers',
  /** On a MachineClass, the value is the price of one machine for an hour, such as `0.096 USD`. Only in mcm. */
  HourlyPrice: 'capacity.machine.sapcloud.io/hourly-price',
  /**
   * On a MachineClass, the value is the number of machines that the quota of the cloud allows. `mcm plan` warns above
   * this number. Only in mcm.
   */
  Quota: 'capacity.machine.sapcloud.io/quota',
  /**
   * On a MachineClass, MachineDeployment, MachineSet or Machine, a JSON list contains alternative offerings. mcm uses
   * an alternative offering for new VMs if the cloud has no capacity. Only in mcm.
   */
  CapacityAlternatives: 'capacity.machine.sapcloud.io/alternatives',
  /**
   * On a Machine, the value is the offering of the VM: one object of the list of alternatives, or `{}` for the first
   * offering. Only in mcm.
   */
  CapacityOffering: 'capacity.machine.sapcloud.io/offering',
  /**
   * On a MachineDeployment, a JSON list contains the zones of its machines, and the changes to the provider spec for
   * each zone. The manager spreads new machines across the zones. Only in mcm.
   */
  Zones: 'zones.machine.sapcloud.io/zones',
  /**
   * On a MachineDeployment, the value lists zones, separated by commas, whose machines the manager moves to the other
   * zones. `mcm zone evacuate` writes the annotation. Only in mcm.
   */
  ZonesEvacuated: 'zones.machine.sapcloud.io/evacuated',
  /**
   * On a MachineDeployment, the manager writes entries `<zone>=<RFC 3339>` with the time at which all machines of the
   * zone became unreachable. The manager creates no machines in these zones. Only in mcm.
   */
  ZonesStandby: 'zones.machine.sapcloud.io/standby',
  /**
   * On a MachineDeployment, the manager writes entries `<zone>=<RFC 3339>` for zones in which an evacuation found no
   * capacity. Only in mcm.
   */
  ZonesShort: 'zones.machine.sapcloud.io/short',
  /**
   * On a MachineDeployment, the value is the maximum number of missing machines of each zone during a rollout, as an
   * integer or a percentage. Only in mcm.
   */
  ZonesMaxUnavailable: 'zones.machine.sapcloud.io/max-unavailable',
  /** On a MachineSet, the value is the number of replicas of each zone in the format `a=2,b=1`. Only in mcm. */
  ZonesOfReplicas: 'zones.machine.sapcloud.io/replicas',
  /**
   * On a Machine, the value is the entry of the annotation `zones.machine.sapcloud.io/zones` for which the MachineSet
   * created the machine. Only in mcm.
   */
  ZoneOffering: 'zones.machine.sapcloud.io/offering',
  /** On a Machine, the value states why the MachineSet chose the zone of the machine. Only in mcm. */
  ZoneReason: 'zones.machine.sapcloud.io/reason',
  /**
   * On a MachineDeployment, the value is the number of warm machines that mcm keeps for a scale-up, in addition to the
   * replicas. Only in mcm.
   */
  WarmMachines: 'warm.machine.sapcloud.io/machines',
  /**
   * On a MachineDeployment, the value `<namespace>/<name>` identifies the CapacityBuffer whose pods fit on the warm
   * machines. Only in mcm.
   */
  WarmBuffer: 'warm.machine.sapcloud.io/capacity-buffer',
  /**
   * On a MachineDeployment, the manager writes the number of warm machines that its CapacityBuffer needs. Only in mcm.
   */
  WarmBufferMachines: 'warm.machine.sapcloud.io/capacity-buffer-machines',
  /**
   * On a MachineDeployment and on each warm Machine, the value is the power state of waiting warm VMs: `Stopped`,
   * `Hibernated` or `Running`. Only in mcm.
   */
  WarmState: 'warm.machine.sapcloud.io/state',
  /** On a warm Machine, the value is the hash of its template. Only in mcm. */
  WarmTemplate: 'warm.machine.sapcloud.io/template',
  /**
   * On a Machine, the value is the power state of a VM that does not run: `Stopping <RFC 3339>`, `Stopped` or `Starting
   * <RFC 3339>`. Only in mcm.
   */
  WarmPower: 'warm.machine.sapcloud.io/power',
  /**
   * On a MachineDeployment, its MachineSets and Machines, the value is a Go duration. mcm uses this creation timeout
   * instead of `spec.creationTimeout`.
   */
  EffectiveCreationTimeout: 'node.machine.sapcloud.io/effective-creation-timeout',
  /**
   * On a Machine or its Node, the value is JSON with the deadline at which the cloud terminates or interrupts the VM.
   * Only in mcm.
   */
  Interruption: 'node.machine.sapcloud.io/interruption',
  /**
   * On a Machine, the value is the time from the creation of the Machine until its first join, as a Go duration. Only
   * in mcm.
   */
  MachineJoinDuration: 'node.machine.sapcloud.io/machine-join-duration',
  /**
   * On a Machine, the value is an RFC 3339 time. An unhealthy machine does not become `Failed` before this time. Only
   * in mcm.
   */
  UpdateInProgressUntil: 'machineconfiguration.openshift.io/update-in-progress-until',
  /** On a Node, the value states why the in-place update of the Node failed. */
  UpdateFailedReason: 'node.machine.sapcloud.io/update-failed-reason',
  /**
   * On a MachineDeployment, an integer or a percentage sets the number of canaries that the rollout of a new template
   * creates first. Only in mcm.
   */
  RolloutCanary: 'rollout.machine.sapcloud.io/canary',
  /**
   * On a MachineDeployment, a Go duration sets the time for which the canaries must be available before the rollout
   * continues. Only in mcm.
   */
  RolloutCanarySoak: 'rollout.machine.sapcloud.io/canary-soak',
  /**
   * On a MachineDeployment, a Go duration sets the pause between the batches of a rollout. The next batch of a rollout
   * starts when all new machines have been available for this duration. Only in mcm.
   */
  RolloutBatchPause: 'rollout.machine.sapcloud.io/pause-between-batches',
  /**
   * On a MachineDeployment, an integer or a percentage sets the surge with which a rolling update continues if the
   * cloud has no capacity for `maxSurge`. Only in mcm.
   */
  RolloutMinSurge: 'rollout.machine.sapcloud.io/min-surge',
  /**
   * On a MachineDeployment, the value `true` lets the manager pause the rollout (`spec.paused`) if a machine of the new
   * template fails. Only in mcm.
   */
  RolloutPauseOnFailure: 'rollout.machine.sapcloud.io/pause-on-failure',
  /**
   * On a MachineDeployment, the value `true` lets the manager undo the rollout if a machine of the new template fails.
   * Only in mcm.
   */
  RolloutUndoOnFailure: 'rollout.machine.sapcloud.io/undo-on-failure',
  /**
   * On a MachineDeployment, the value `true` means that a canary fails if its pods are not Ready after the soak time of
   * the canaries. Only in mcm.
   */
  RolloutCanaryPodsReady: 'rollout.machine.sapcloud.io/canary-pods-ready',
  /**
   * On a MachineDeployment, the value names the MachineSet whose canaries the manager has checked for pods that are not
   * Ready. Only in mcm.
   */
  RolloutCanaryPodsSeen: 'rollout.machine.sapcloud.io/canary-pods-seen',
  /**
   * On a MachineDeployment, the value is the maximum age of deletion marks of the autoscaler, such as `1h`. mcm removes
   * an older deletion mark of the autoscaler, and keeps the marked machine. Only in mcm.
   */
  MarkExpiry: 'deployment.machine.sapcloud.io/mark-expiry',
  /**
   * On a MachineDeployment, the value is the time at which the manager last removed expired deletion marks of the
   * autoscaler. Only in mcm.
   */
  MarksExpired: 'deployment.machine.sapcloud.io/marks-expired',
  /**
   * On a MachineDeployment, the value is `Replace` or `Stop`. With `Stop`, mcm keeps a machine whose in-place update
   * failed, and selects no other node. The manager copies `Stop` to selected Nodes. Only in mcm.
   */
  RolloutOnCannotUpdateInPlace: 'rollout.machine.sapcloud.io/on-cannot-update-in-place',
  /**
   * On a MachineDeployment, entries `name~uid` list the failed machines that paused the rollout. A listed machine does
   * not pause the rollout again. Only in mcm.
   */
  RolloutPausedBy: 'rollout.machine.sapcloud.io/paused-by',
  /** On a MachineDeployment, the value is the name of the last good MachineSet. Only in mcm. */
  RolloutLastGood: 'rollout.machine.sapcloud.io/last-good',
  /**
   * On a MachineDeployment, MachineClass or MachineConfigPool, the value contains the maintenance windows for rollouts,
   * as a list of entries `<five cron fields> <time zone> <duration>; …`. Only in mcm.
   */
  RolloutWindows: 'rollout.machine.sapcloud.io/windows',
  /**
   * On a MachineDeployment, MachineClass or MachineConfigPool, the value contains the freezes of rollouts, as a list of
   * entries `<from>/<until> <reason>; …` with RFC 3339 times. Only in mcm.
   */
  RolloutFreezes: 'rollout.machine.sapcloud.io/freezes',
  /**
   * On a MachineDeployment or MachineConfigPool, the value is an RFC 3339 time. Until this time, the rollout ignores
   * windows, freezes and postponed nodes. Only in mcm.
   */
  RolloutOpenUntil: 'rollout.machine.sapcloud.io/open-until',
  /**
   * On a MachineDeployment, `true` or `false` sets whether terminating machines count towards the surge. The annotation
   * takes precedence over `--count-terminating-towards-surge`. Only in mcm.
   */
  CountTerminating: 'rollout.machine.sapcloud.io/count-terminating-towards-surge',
  /**
   * On a Node, the value is the hash of the template that the in-place update of the Node applies. The value is empty
   * if the in-place update has ended and its template is obsolete. Only in mcm.
   */
  SelectedForTemplate: 'node.machine.sapcloud.io/selected-for-template',
  /**
   * On a Machine or MachineClass, the value contains drift policies in the format `labels/<key>=Enforce|Warn|Yield, …`.
   * The kinds are `labels`, `annotations` and `taints`, and a key may end with `*`. Only in mcm.
   */
  DriftPolicy: 'node.machine.sapcloud.io/drift-policy',
  /**
   * On a Node, the value is a NodeTemplateSpec as JSON, with the labels, annotations and taints that the machine
   * controller most recently applied.
   */
  LastAppliedNodeTemplate: 'node.machine.sapcloud.io/last-applied-anno-labels-taints',
  /**
   * On a Node, the value is a resource list as JSON, with the virtual capacity that the machine controller most
   * recently applied.
   */
  LastAppliedVirtualCapacity: 'node.machine.sapcloud.io/last-applied-virtual-capacity',
  /**
   * On a Node, the value `<namespace>/<class>` is the class of its machine. mcm needs the class if the Node becomes an
   * orphan. Only in mcm.
   */
  MachineClassOfNode: 'node.machine.sapcloud.io/machine-class',
  /**
   * On a Machine, the value `true` records that the manager created the machine during a rollout. The machine
   * controller then sets `scale-down-disabled` on the new Node. Only in mcm.
   */
  ProtectNewNode: 'deployment.machine.sapcloud.io/protect-new-node',
  /** On a Node, any value means that the Node belongs to no Machine, and that mcm does not change the Node. */
  NotManagedByMCM: 'node.machine.sapcloud.io/not-managed-by-mcm',
  /**
   * On a MachineDeployment, entries such as `m1~t1,m2` with RFC 3339 times name machines that the next scale-in
   * deletes. The manager adds the current time to a name without a time.
   */
  TriggerDeletion: 'node.machine.sapcloud.io/trigger-deletion-by-mcm',
  /**
   * On a MachineDeployment, the value is a request to scale in named machines, `{"requestID", "machines", "from",
   * "to"}` as JSON. The same write changes `spec.replicas`. Only in mcm.
   */
  ScaleIn: 'node.machine.sapcloud.io/scale-in',
  /**
   * On a MachineDeployment, a JSON list of `{"requestID", "outcome", "message"}` contains the results of scale-ins,
   * newest first. Only in mcm.
   */
  ScaleInResults: 'node.machine.sapcloud.io/scale-in-results',
  /**
   * On a MachineDeployment, the value is the RFC 3339 time at which the autoscaler last changed the replicas. On a
   * MachineSet, the manager deletes machines that the autoscaler named until this time.
   */
  LastReplicaChangeByScaler: 'machine.sapcloud.io/last-deployment-replica-change-by-scaler-time',
  /** On a Machine, the value is the RFC 3339 time at which the cluster autoscaler decided to remove the machine. */
  MarkedForDeletionTime: 'machine.sapcloud.io/marked-for-deletion-time',
  /**
   * On a Machine, the value is the RFC 3339 time at which the manager saw the scale-in that names the machine. A later
   * increase of the replicas does not cancel the deletion of the machine. Only in mcm.
   */
  ScaleInSeen: 'node.machine.sapcloud.io/scale-in-seen',
  /**
   * On a Machine, the value is its priority, an integer. A scale-in deletes machines with a lower priority first. An
   * absent or invalid priority counts as 3.
   */
  Priority: 'machinepriority.machine.sapcloud.io',
  /**
   * On a Machine or its Node, a `PreserveValue` requests that mcm keeps the machine. The preserve annotation of the
   * Node takes precedence over the annotation of the Machine.
   */
  Preserve: 'node.machine.sapcloud.io/preserve',
  /** On a Machine, the value is the last value of the preserve annotation of its Node, and may be empty. */
  LastAppliedNodePreserve: 'node.machine.sapcloud.io/last-applied-node-preserve-value',
  /**
   * On a Machine or its MachineClass, the value is the policy for a drain that exceeds its time limit: `Force`,
   * `Quarantine`, `Hold` or `Fail`. Only in mcm.
   */
  UndrainablePolicy: 'node.machine.sapcloud.io/undrainable-policy',
  /**
   * On a Machine or its MachineClass, a JSON list of rules defines which pods a drain evicts, and in which
   * order. Only in mcm.
   */
  DrainRules: 'node.machine.sapcloud.io/drain-rules',
  /**
   * On a Machine or its MachineClass, the value is the drain timeout of a machine that mcm deletes because it is
   * unhealthy. Only in mcm.
   */
  RepairDrainTimeout: 'node.machine.sapcloud.io/repair-drain-timeout',
  /**
   * On a Machine or its MachineClass, the value is the drain timeout of a machine that a rollout replaces. Only in mcm.
   */
  RolloutDrainTimeout: 'node.machine.sapcloud.io/rollout-drain-timeout',
  /**
   * On a Machine or its MachineClass, the value is the drain timeout of a machine that a scale-in removes. Only in mcm.
   */
  ScaleInDrainTimeout: 'node.machine.sapcloud.io/scale-in-drain-timeout',
  /**
   * On a Machine, the manager writes `<cause> <RFC 3339>` before the deletion. The cause is `Rollout` or `ScaleIn`, and
   * determines which drain timeout applies. Only in mcm.
   */
  DeletionCause: 'node.machine.sapcloud.io/deletion-cause',
  /**
   * On a Machine, the value is the policy that keeps the VM after a drain timeout: `Quarantine`, `Hold` or `Fail`. The
   * MachineDeployment does not count a machine with the annotation. Only in mcm.
   */
  Undrained: 'node.machine.sapcloud.io/undrained',
  /**
   * On a Machine, the value `true` records that the drain of the machine created EvictionRequests for pods. Only in
   * mcm.
   */
  EvictionRequests: 'node.machine.sapcloud.io/eviction-requests',
  /**
   * On a Machine, the value `<RFC 3339> <key>,…` records the time since which its Node has the listed taints
   * `readiness.k8s.io/*`. A machine with such a taint does not count as available. Only in mcm.
   */
  AwaitsReadiness: 'node.machine.sapcloud.io/awaits-readiness',
  /**
   * On a MachineClass or a Machine, the value contains hooks in the format `<stage> <name> <owner> <timeout>
   * Continue|Block; …`. Only in mcm.
   */
  Hooks: 'node.machine.sapcloud.io/hooks',
  /**
   * On a Machine, entries `<stage>=<RFC 3339>` record when the machine began to wait for the hooks of each stage. Only
   * in mcm.
   */
  HooksBegun: 'node.machine.sapcloud.io/hooks-begun',
  /**
   * On a Machine, the annotation `<stage>.hook.machine.sapcloud.io/<name>` represents a hook that has not finished. The
   * owner in the value removes the annotation. Only in mcm.
   */
  HookSuffix: 'hook.machine.sapcloud.io',
  /**
   * On a MachineDeployment, the value is the smallest size that an autoscaler may request over gRPC. A
   * MachineDeployment with a minimum and a maximum size is a node group. Only in mcm.
   */
  AutoscalerMinSize: 'autoscaler.machine.sapcloud.io/min-size',
  /** On a MachineDeployment, the value is the largest size that an autoscaler may request over gRPC. Only in mcm. */
  AutoscalerMaxSize: 'autoscaler.machine.sapcloud.io/max-size',
  /** On a Node, the value `true` prevents the cluster autoscaler from removing the Node. */
  ScaleDownDisabled: 'cluster-autoscaler.kubernetes.io/scale-down-disabled',
  /**
   * On a Node, the value `true` records that mcm set `scale-down-disabled`. mcm removes `scale-down-disabled` later.
   */
  ScaleDownDisabledByMCM: 'cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm',
  /**
   * On a Node, the value `true` records that the machine-config-controller set `scale-down-disabled` for the update of
   * the Node.
   */
  ScaleDownDisabledByMCC: 'machineconfiguration.openshift.io/scale-down-disabled-by-mcc',
  /**
   * On a Node, the machine-config-daemon writes `drain-<config>` to request a drain, and `uncordon-<config>` to end the
   * drain.
   */
  ConfigDaemonDrain: 'machineconfiguration.openshift.io/desiredDrain',
  /**
   * On a Node, the value is the state of its configuration, such as `Done` or `Degraded`. The machine-config-daemon
   * writes the annotation.
   */
  ConfigDaemonState: 'machineconfiguration.openshift.io/state',
  /** On a Node, the machine-config-daemon writes the reason why the Node is `Degraded` or `Unreconcilable`. */
  ConfigDaemonReason: 'machineconfiguration.openshift.io/reason',
  /**
   * On a MachineDeployment, the annotation makes rollouts wait until new machines have applied the configuration of the
   * pool. The machine-config-controller writes the annotation.
   */
  ConfigAwaitedByPool: 'machineconfiguration.openshift.io/awaited-by-pool',
  /**
   * On the template of a MachineDeployment and on its Machines, the machine-config-controller writes the name of the
   * rendered MachineConfig for new machines.
   */
  TemplateConfig: 'machineconfiguration.openshift.io/config',
  /**
   * On a Machine, the machine-config-controller writes `true` after the node has applied a configuration at least once.
   */
  ConfigApplied: 'machineconfiguration.openshift.io/config-applied',
  /**
   * On a MachineClass, the value is the last valid provider spec as JSON. While the current provider spec is invalid,
   * the machine controller uses the former spec to delete VMs. Only in mcm.
   */
  FormerProviderSpec: 'machine.sapcloud.io/former-provider-spec',
  /** On a MachineDeployment or MachineSet, the value is the revision of the rollout, a decimal number. */
  Revision: 'deployment.kubernetes.io/revision',
  /**
   * On a MachineSet, the value lists its earlier revisions, separated by commas. A rollback to the MachineSet gives it
   * a new revision.
   */
  RevisionHistory: 'deployment.kubernetes.io/revision-history',
  /**
   * On a MachineSet, the value is the number of replicas of the deployment when the manager last scaled the MachineSet.
   */
  DesiredReplicas: 'deployment.kubernetes.io/desired-replicas',
  /** On a MachineSet, the value is the desired replicas plus `maxSurge`. */
  MaxReplicas: 'deployment.kubernetes.io/max-replicas',
  /** On a MachineSet, the value `True` means that its Nodes have the taint `PreferNoSchedule`. */
  PreferNoSchedule: 'deployment.machine.sapcloud.io/prefer-no-schedule',
  /** On a MachineDeployment or MachineSet, a user writes the annotation to end the freeze of the object. */
  Unfreeze: 'safety.machine.sapcloud.io/unfreeze',
  /**
   * On any object, `kubectl apply` writes the configuration that it applied. mcm never copies the annotation from a
   * MachineDeployment to its MachineSets.
   */
  LastAppliedConfiguration: 'kubectl.kubernetes.io/last-applied-configuration',
  /** On a Pod, the annotation marks the mirror of a static pod, which cannot be evicted. */
  MirrorPod: 'kubernetes.io/config.mirror',
} as const;

/**
 * The values of the preserve annotation. mcm treats any other value of the preserve annotation like an absent
 * annotation.
 */
export const PreserveValues = {
  Now: 'now',
  WhenFailed: 'when-failed',
  AutoPreserved: 'auto-preserved',
  False: 'false',
} as const;

/** A request to preserve a machine, or to stop (`false`). */
export type PreserveValue = (typeof PreserveValues)[keyof typeof PreserveValues];

/** Priority of a machine without a valid priority annotation. */
export const DEFAULT_MACHINE_PRIORITY = 3;

/**
 * If a Machine has this priority and a mark time, mcm must delete the machine, because the autoscaler named it for
 * deletion.
 */
export const TRIGGERED_DELETION_PRIORITY = 1;

/**
 * Annotations of a MachineDeployment that mcm does not copy to its MachineSets, and does not copy back in a rollback.
 */
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
  Annotations.RolloutMinSurge,
  Annotations.RolloutBatchPause,
  Annotations.RolloutPauseOnFailure,
  Annotations.RolloutUndoOnFailure,
  Annotations.RolloutCanaryPodsReady,
  Annotations.RolloutCanaryPodsSeen,
  Annotations.RolloutOnCannotUpdateInPlace,
  Annotations.MarkExpiry,
  Annotations.MarksExpired,
  Annotations.RolloutPausedBy,
  Annotations.RolloutLastGood,
  Annotations.RolloutWindows,
  Annotations.RolloutFreezes,
  Annotations.RolloutOpenUntil,
  Annotations.CountTerminating,
  Annotations.WarmMachines,
  Annotations.WarmBuffer,
  Annotations.WarmBufferMachines,
  Annotations.WarmState,
  Annotations.Zones,
  Annotations.ZonesEvacuated,
  Annotations.ZonesStandby,
  Annotations.ZonesShort,
  Annotations.ZonesMaxUnavailable,
  Annotations.ZonesOfReplicas,
  Annotations.AutoscalerMinSize,
  Annotations.AutoscalerMaxSize,
  Annotations.ConfigAwaitedByPool,
]);
