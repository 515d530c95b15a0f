/**
 * Annotation keys. Source: machine-controller-manager, pkg/apis/machine/v1alpha1/constants.go,
 * pkg/util/provider/machineutils/utils.go, pkg/controller/{deployment_util,machine_safety}.go.
 */
export const Annotations = {
  /**
   * On a Machine or MachineClass, in the format `<RFC 3339 expiry> <reason>`. Until the expiry, mcm ignores an open
   * circuit breaker for the machine or the class. Only in mcm.
   */
  BreakerOverride: 'node.machine.sapcloud.io/replace-despite-common-silence',
  /**
   * On a Machine, in the format `<RFC 3339> <state>`: the state of its VM at a lookup, while many machines were
   * unreachable. The states are `exists`, `ended`, `gone` and `unknown`. Only in mcm.
   */
  VmState: 'node.machine.sapcloud.io/vm-state',
  /**
   * On a Machine, with the value `True`. The machine was `Failed` when its deletion started. An open circuit breaker
   * stops the deletion of the machine. Only in mcm.
   */
  DeletedForHealth: 'node.machine.sapcloud.io/deleted-for-health',
  /**
   * On an Event, the ID of the trace of its object. mcm sets the annotation only if tracing is on. Only in mcm.
   */
  TraceId: 'trace.machine.sapcloud.io/id',
  /**
   * On a MachineClass, provider IDs separated by commas. The listed VMs are orphans in quarantine. mcm deletes none of
   * the listed VMs until an operator decides. Only in mcm.
   */
  QuarantinedVMs: 'orphan.machine.sapcloud.io/quarantined-vms',
  /**
   * On a MachineClass, provider IDs separated by commas. An operator writes the annotation to release VMs from
   * quarantine. The machine controller drains and deletes the released VMs. Only in mcm.
   */
  ReleaseVMs: 'orphan.machine.sapcloud.io/release-vms',
  /**
   * On a MachineClass, entries `<provider ID>=<RFC 3339 time>` separated by commas. The listed VMs are stopped orphans.
   * mcm deletes each VM at the time in its entry. Only in mcm.
   */
  StoppedVMs: 'orphan.machine.sapcloud.io/stopped-vms',
  /**
   * On a Machine, `true` until the machine controller sends the first create call. While the annotation exists, the
   * machine has no VM, so mcm can delete the machine without a valid class. Only in mcm.
   */
  NoCreateCall: 'node.machine.sapcloud.io/no-create-call',
  /**
   * On a Machine, with the value `true`. The annotation marks the replacement of a failed or deleted machine. The
   * replacement is in progress until the new machine is `Running`. Only in mcm.
   */
  Replacement: 'node.machine.sapcloud.io/replacement',
  /**
   * On a MachineSet, decimals from which mcm computes machine names. The first decimal is the number of the
   * next machine. Other numbers belong to create requests without a response. Only in mcm.
   */
  NextMachineNumbers: 'node.machine.sapcloud.io/next-machine-numbers',
  /**
   * On a MachineClass, the price of one machine for an hour in the format `0.096 USD`. `mcm plan` prints the costs of a
   * plan. Only in mcm.
   */
  HourlyPrice: 'capacity.machine.sapcloud.io/hourly-price',
  /**
   * On a MachineClass, the number of machines that the quota of the cloud allows. `mcm plan` warns if a plan needs more
   * machines than the quota. Only in mcm.
   */
  Quota: 'capacity.machine.sapcloud.io/quota',
  /**
   * On a MachineClass, MachineDeployment, MachineSet or Machine, a JSON list. mcm uses the alternative offerings in the
   * list for new VMs if the cloud has no capacity. Only in mcm.
   */
  CapacityAlternatives: 'capacity.machine.sapcloud.io/alternatives',
  /**
   * On a Machine, the offering of the VM: one object of the list of alternatives, or `{}` for the first offering. The
   * machine controller writes the annotation before the create call. Only in mcm.
   */
  CapacityOffering: 'capacity.machine.sapcloud.io/offering',
  /**
   * On a MachineDeployment, a JSON list. Each entry contains the name of a zone, and the changes to the provider spec
   * for this zone. The manager spreads new machines across the zones. Only in mcm.
   */
  Zones: 'zones.machine.sapcloud.io/zones',
  /**
   * On a MachineDeployment, names of zones separated by commas. The manager moves the machines of the listed zones to
   * the other zones. `mcm zone evacuate` writes the annotation. Only in mcm.
   */
  ZonesEvacuated: 'zones.machine.sapcloud.io/evacuated',
  /**
   * On a MachineDeployment, entries `<zone>=<RFC 3339>`, written by the manager. All machines of the zone became
   * unreachable at the time, so the manager creates no machines in the zone. Only in mcm.
   */
  ZonesStandby: 'zones.machine.sapcloud.io/standby',
  /**
   * On a MachineDeployment, entries `<zone>=<RFC 3339>`, written by the manager. An evacuation found no capacity in the
   * zone, so the manager creates machines in other zones. Only in mcm.
   */
  ZonesShort: 'zones.machine.sapcloud.io/short',
  /**
   * On a MachineDeployment, an integer or a percentage. The value limits the number of missing machines of each zone
   * during a rollout. `maxUnavailable` of the deployment also applies. Only in mcm.
   */
  ZonesMaxUnavailable: 'zones.machine.sapcloud.io/max-unavailable',
  /**
   * On a MachineSet, the number of replicas of each zone in the format `a=2,b=1`. The number of a zone includes lost
   * machines, so a restarted manager creates replacements in the same zone. Only in mcm.
   */
  ZonesOfReplicas: 'zones.machine.sapcloud.io/replicas',
  /**
   * On a Machine, one object of the list in the annotation `zones`: the zone for which the MachineSet created the
   * machine. Only in mcm.
   */
  ZoneOffering: 'zones.machine.sapcloud.io/offering',
  /** On a Machine, a text that states why the MachineSet chose the zone of the machine. Only in mcm. */
  ZoneReason: 'zones.machine.sapcloud.io/reason',
  /**
   * On a MachineDeployment, an integer. The value is the number of warm machines that mcm keeps for a scale-up, in
   * addition to the replicas. Only in mcm.
   */
  WarmMachines: 'warm.machine.sapcloud.io/machines',
  /**
   * On a MachineDeployment, in the format `<namespace>/<name>`: the CapacityBuffer whose pods fit on the warm machines
   * of the deployment. Only in mcm.
   */
  WarmBuffer: 'warm.machine.sapcloud.io/capacity-buffer',
  /**
   * On a MachineDeployment, the number of warm machines that its CapacityBuffer needs. The manager writes the number.
   * Only in mcm.
   */
  WarmBufferMachines: 'warm.machine.sapcloud.io/capacity-buffer-machines',
  /**
   * On a MachineDeployment and on each warm Machine: the power state in which a warm VM waits for a scale-up. The value
   * is `Stopped`, `Hibernated` or `Running`. Only in mcm.
   */
  WarmState: 'warm.machine.sapcloud.io/state',
  /** On a warm Machine, the hash of its template. Only in mcm. */
  WarmTemplate: 'warm.machine.sapcloud.io/template',
  /**
   * On a Machine, the power state of a VM that does not run: `Stopping <RFC 3339>`, `Stopped` or `Starting <RFC 3339>`.
   * The machine controller writes the annotation before the cloud call. Only in mcm.
   */
  WarmPower: 'warm.machine.sapcloud.io/power',
  /**
   * On a MachineDeployment, its MachineSets and Machines, a Go duration. The annotation takes precedence over
   * `spec.creationTimeout`.
   */
  EffectiveCreationTimeout: 'node.machine.sapcloud.io/effective-creation-timeout',
  /**
   * On a Machine or its Node, JSON. The JSON contains the deadline at which the cloud ends or disturbs the VM. The
   * machine controller annotates the Machine, and an agent annotates the Node. Only in mcm.
   */
  Interruption: 'node.machine.sapcloud.io/interruption',
  /** On a Machine, a Go duration: the time from the creation of the Machine until its first join. Only in mcm. */
  MachineJoinDuration: 'node.machine.sapcloud.io/machine-join-duration',
  /**
   * On a Machine, an RFC 3339 time. Before the time, an unhealthy machine does not become `Failed`. The
   * machine-config-controller writes the annotation while it updates the node. Only in mcm.
   */
  UpdateInProgressUntil: 'machineconfiguration.openshift.io/update-in-progress-until',
  /** On a Node, a text that states why the in-place update of the Node failed. */
  UpdateFailedReason: 'node.machine.sapcloud.io/update-failed-reason',
  /**
   * On a MachineDeployment, an integer or a percentage. The value is the number of canaries that the rollout of a new
   * template creates first. Only in mcm.
   */
  RolloutCanary: 'rollout.machine.sapcloud.io/canary',
  /**
   * On a MachineDeployment, a Go duration. The rollout continues when the canaries have been available for the duration
   * in the annotation. Only in mcm.
   */
  RolloutCanarySoak: 'rollout.machine.sapcloud.io/canary-soak',
  /**
   * On a MachineDeployment, a Go duration. The next batch of a rollout starts when all new machines have been available
   * for the duration in the annotation. Only in mcm.
   */
  RolloutBatchPause: 'rollout.machine.sapcloud.io/pause-between-batches',
  /**
   * On a MachineDeployment, an integer or a percentage. If the cloud has no capacity for `maxSurge`, a rolling update
   * continues with the smaller surge in the annotation. Only in mcm.
   */
  RolloutMinSurge: 'rollout.machine.sapcloud.io/min-surge',
  /**
   * On a MachineDeployment, with the value `true`. If a machine of the new template fails, the manager pauses the
   * rollout (`spec.paused`). Only in mcm.
   */
  RolloutPauseOnFailure: 'rollout.machine.sapcloud.io/pause-on-failure',
  /**
   * On a MachineDeployment, with the value `true`. If a machine of the new template fails, the manager undoes the
   * rollout. Only in mcm.
   */
  RolloutUndoOnFailure: 'rollout.machine.sapcloud.io/undo-on-failure',
  /**
   * On a MachineDeployment, with the value `true`. A canary fails if its pods are not Ready after the soak time of the
   * canaries. Only in mcm.
   */
  RolloutCanaryPodsReady: 'rollout.machine.sapcloud.io/canary-pods-ready',
  /**
   * On a MachineDeployment, the name of the MachineSet whose canaries the manager has checked for pods that are not
   * Ready. Only in mcm.
   */
  RolloutCanaryPodsSeen: 'rollout.machine.sapcloud.io/canary-pods-seen',
  /**
   * On a MachineDeployment, a duration such as `1h`. mcm removes each deletion mark of the autoscaler that is older
   * than the duration, and keeps the marked machine. Only in mcm.
   */
  MarkExpiry: 'deployment.machine.sapcloud.io/mark-expiry',
  /**
   * On a MachineDeployment, the time at which the manager last removed expired deletion marks of the autoscaler. The
   * manager writes the annotation before it removes the marks. Only in mcm.
   */
  MarksExpired: 'deployment.machine.sapcloud.io/marks-expired',
  /**
   * On a MachineDeployment, `Replace` or `Stop`. With `Stop`, mcm keeps a machine whose in-place update failed, and
   * selects no other node. The manager copies `Stop` to selected Nodes. Only in mcm.
   */
  RolloutOnCannotUpdateInPlace: 'rollout.machine.sapcloud.io/on-cannot-update-in-place',
  /**
   * On a MachineDeployment, the failed machines that paused the rollout, in the format `name~uid,…`. The listed
   * machines do not pause the rollout again. Only in mcm.
   */
  RolloutPausedBy: 'rollout.machine.sapcloud.io/paused-by',
  /**
   * On a MachineDeployment, the name of the last good MachineSet. The last good MachineSet most recently had all
   * machines, or a user returned to its template. Only in mcm.
   */
  RolloutLastGood: 'rollout.machine.sapcloud.io/last-good',
  /**
   * On a MachineDeployment, MachineClass or MachineConfigPool, in the format `<five cron fields> <time zone>
   * <duration>; …`. A rollout replaces or updates machines only in its windows. Only in mcm.
   */
  RolloutWindows: 'rollout.machine.sapcloud.io/windows',
  /**
   * On a MachineDeployment, MachineClass or MachineConfigPool, in the format `<from>/<until> <reason>; …` with RFC 3339
   * times. Rollouts change nothing during a freeze. Only in mcm.
   */
  RolloutFreezes: 'rollout.machine.sapcloud.io/freezes',
  /**
   * On a MachineDeployment or MachineConfigPool, an RFC 3339 time. Until the time in the annotation, the rollout
   * ignores windows, freezes and postponed nodes. Only in mcm.
   */
  RolloutOpenUntil: 'rollout.machine.sapcloud.io/open-until',
  /**
   * On a MachineDeployment, `true` or `false`: whether terminating machines count towards the surge. The value takes
   * precedence over `--count-terminating-towards-surge`. Only in mcm.
   */
  CountTerminating: 'rollout.machine.sapcloud.io/count-terminating-towards-surge',
  /**
   * On a Node, a template hash. The in-place update of the Node applies the template with the hash. The value is empty
   * if the in-place update has ended and its template is obsolete. Only in mcm.
   */
  SelectedForTemplate: 'node.machine.sapcloud.io/selected-for-template',
  /**
   * On a Machine or MachineClass, a list of drift policies in the format `labels/<key>=Enforce|Warn|Yield, …`. The kinds
   * are `labels`, `annotations` and `taints`. A key may end with `*`. Only in mcm.
   */
  DriftPolicy: 'node.machine.sapcloud.io/drift-policy',
  /**
   * On a Node, JSON of a NodeTemplateSpec: the labels, annotations and taints that the machine controller most recently
   * applied to the Node.
   */
  LastAppliedNodeTemplate: 'node.machine.sapcloud.io/last-applied-anno-labels-taints',
  /**
   * On a Node, JSON of a resource list: the virtual capacity that the machine controller most recently applied to the
   * Node.
   */
  LastAppliedVirtualCapacity: 'node.machine.sapcloud.io/last-applied-virtual-capacity',
  /**
   * On a Node, the class of its machine as `<namespace>/<class>`, written when the Node joins. The annotation identifies
   * the class after the deletion of the machine. Only in mcm.
   */
  MachineClassOfNode: 'node.machine.sapcloud.io/machine-class',
  /**
   * On a Machine, `true`: the machine was created during a rollout. The first write of the machine controller to the
   * Node then also prevents a scale-down by the cluster autoscaler. Only in mcm.
   */
  ProtectNewNode: 'deployment.machine.sapcloud.io/protect-new-node',
  /** On a Node, with any value; mcm writes `1`. The Node belongs to no Machine, and mcm does not change the Node. */
  NotManagedByMCM: 'node.machine.sapcloud.io/not-managed-by-mcm',
  /**
   * On a MachineDeployment, in the format `m1~t1,m2` with RFC 3339 times. The next scale-in deletes the listed
   * machines. The manager adds the current time to a name without a time.
   */
  TriggerDeletion: 'node.machine.sapcloud.io/trigger-deletion-by-mcm',
  /**
   * On a MachineDeployment, JSON `{"requestID", "machines", "from", "to"}`. The annotation requests a scale-in of named
   * machines; the same write changes `spec.replicas`. Only in mcm.
   */
  ScaleIn: 'node.machine.sapcloud.io/scale-in',
  /**
   * On a MachineDeployment, a JSON list of `{"requestID", "outcome", "message"}`. The list contains the results of
   * scale-ins, newest first. Only in mcm.
   */
  ScaleInResults: 'node.machine.sapcloud.io/scale-in-results',
  /**
   * On a MachineDeployment, an RFC 3339 time: the last change of the replicas by the autoscaler. On a MachineSet, the
   * manager deletes machines that the autoscaler named up to the time in the annotation.
   */
  LastReplicaChangeByScaler: 'machine.sapcloud.io/last-deployment-replica-change-by-scaler-time',
  /** On a Machine, the RFC 3339 time at which the cluster autoscaler decided to remove the machine. */
  MarkedForDeletionTime: 'machine.sapcloud.io/marked-for-deletion-time',
  /**
   * On a Machine, an RFC 3339 time. The time is when the manager saw the scale-in that names the machine, so a later
   * increase of the replicas does not cancel the deletion. Only in mcm.
   */
  ScaleInSeen: 'node.machine.sapcloud.io/scale-in-seen',
  /**
   * On a Machine, an integer. A scale-in first deletes machines with a lower value. An absent or invalid value counts
   * as 3.
   */
  Priority: 'machinepriority.machine.sapcloud.io',
  /**
   * On a Machine or its Node, a `PreserveValue`. The annotation requests that mcm keeps the machine. The value on the
   * Node takes precedence over the value on the Machine.
   */
  Preserve: 'node.machine.sapcloud.io/preserve',
  /**
   * On a Machine, the last value of the preserve annotation of its Node, possibly empty. mcm uses the value to detect
   * that a user removed the annotation from the Node.
   */
  LastAppliedNodePreserve: 'node.machine.sapcloud.io/last-applied-node-preserve-value',
  /**
   * On a Machine, or on a MachineClass for all its machines, `Force`, `Quarantine`, `Hold` or `Fail`. mcm applies the
   * policy if a drain exceeds its time limit. Only in mcm.
   */
  UndrainablePolicy: 'node.machine.sapcloud.io/undrainable-policy',
  /**
   * On a Machine, or on a MachineClass for all its machines, a JSON list of rules. The rules define which pods a drain
   * evicts, and in which order. Only in mcm.
   */
  DrainRules: 'node.machine.sapcloud.io/drain-rules',
  /**
   * On a Machine, or on a MachineClass for all its machines, a duration. The drain timeout applies to a machine that
   * mcm deletes because it is unhealthy. Only in mcm.
   */
  RepairDrainTimeout: 'node.machine.sapcloud.io/repair-drain-timeout',
  /**
   * On a Machine, or on a MachineClass for all its machines, a duration. This drain timeout applies to a machine that a
   * rollout replaces. Only in mcm.
   */
  RolloutDrainTimeout: 'node.machine.sapcloud.io/rollout-drain-timeout',
  /**
   * On a Machine, or on a MachineClass for all its machines, a duration. This drain timeout applies to a machine that a
   * scale-in removes. Only in mcm.
   */
  ScaleInDrainTimeout: 'node.machine.sapcloud.io/scale-in-drain-timeout',
  /**
   * On a Machine, in the format `<cause> <RFC 3339>`, written by the manager before the deletion. The cause is `Rollout`
   * or `ScaleIn`, and selects the drain timeout. Only in mcm.
   */
  DeletionCause: 'node.machine.sapcloud.io/deletion-cause',
  /**
   * On a Machine, `Quarantine`, `Hold` or `Fail`. The value is the policy for which mcm keeps the VM after a drain that
   * exceeded its time limit. The deployment no longer counts the machine. Only in mcm.
   */
  Undrained: 'node.machine.sapcloud.io/undrained',
  /**
   * On a Machine, with the value `true`. The drain of the machine created EvictionRequests for pods. If the drain ends
   * early, the machine controller deletes the EvictionRequests. Only in mcm.
   */
  EvictionRequests: 'node.machine.sapcloud.io/eviction-requests',
  /**
   * On a Machine, in the format `<RFC 3339> <key>,…`. Since the time, the Node of the machine has the listed taints
   * `readiness.k8s.io/*`. The machine does not count as available. Only in mcm.
   */
  AwaitsReadiness: 'node.machine.sapcloud.io/awaits-readiness',
  /**
   * On a MachineClass or a Machine, hooks in the format `<stage> <name> <owner> <timeout> Continue|Block; …`. A hook is
   * a step of another program, and the machine waits for the step. Only in mcm.
   */
  Hooks: 'node.machine.sapcloud.io/hooks',
  /**
   * On a Machine, in the format `<stage>=<RFC 3339>,…`. The machine began to wait for the hooks of each stage at the
   * time in its entry. Only in mcm.
   */
  HooksBegun: 'node.machine.sapcloud.io/hooks-begun',
  /**
   * On a Machine, as `<stage>.hook.machine.sapcloud.io/<name>` with the owner as its value. The annotation represents a
   * hook that has not finished. The owner of the hook removes the annotation. Only in mcm.
   */
  HookSuffix: 'hook.machine.sapcloud.io',
  /**
   * On a MachineDeployment, an integer: the smallest size that an autoscaler may request over gRPC. A MachineDeployment
   * with a minimum and a maximum is a node group. Only in mcm.
   */
  AutoscalerMinSize: 'autoscaler.machine.sapcloud.io/min-size',
  /** On a MachineDeployment, an integer: the largest size that an autoscaler may request over gRPC. Only in mcm. */
  AutoscalerMaxSize: 'autoscaler.machine.sapcloud.io/max-size',
  /** On a Node, `true`: the cluster autoscaler does not remove the Node. */
  ScaleDownDisabled: 'cluster-autoscaler.kubernetes.io/scale-down-disabled',
  /** On a Node, `true`: mcm set `scale-down-disabled`, and removes the annotation later. */
  ScaleDownDisabledByMCM: 'cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm',
  /**
   * On a Node, `true`: the machine-config-controller set `scale-down-disabled` for the update of the Node, and removes
   * the annotation afterwards.
   */
  ScaleDownDisabledByMCC: 'machineconfiguration.openshift.io/scale-down-disabled-by-mcc',
  /**
   * On a Node. The machine-config-daemon writes `drain-<config>` to request a drain, and `uncordon-<config>` to end the
   * drain.
   */
  ConfigDaemonDrain: 'machineconfiguration.openshift.io/desiredDrain',
  /**
   * On a Node: the state of the Node, such as `Done` or `Degraded`. The machine-config-daemon writes the annotation.
   */
  ConfigDaemonState: 'machineconfiguration.openshift.io/state',
  /**
   * On a Node: the reason why the Node is `Degraded` or `Unreconcilable`. The machine-config-daemon writes the
   * annotation.
   */
  ConfigDaemonReason: 'machineconfiguration.openshift.io/reason',
  /**
   * On a MachineDeployment, written by the machine-config-controller: its rollouts wait until new machines have applied
   * the configuration of the pool.
   */
  ConfigAwaitedByPool: 'machineconfiguration.openshift.io/awaited-by-pool',
  /**
   * On the template of a MachineDeployment and on its Machines, written by the machine-config-controller: the
   * rendered MachineConfig for new machines.
   */
  TemplateConfig: 'machineconfiguration.openshift.io/config',
  /**
   * On a Machine, `true`, written by the machine-config-controller: the node has applied a configuration at least
   * once.
   */
  ConfigApplied: 'machineconfiguration.openshift.io/config-applied',
  /**
   * On a MachineClass, JSON of the last valid provider spec. While the current provider spec is invalid, the machine
   * controller uses the former spec to delete VMs. Only in mcm.
   */
  FormerProviderSpec: 'machine.sapcloud.io/former-provider-spec',
  /** On a MachineDeployment or MachineSet, a decimal: the revision of the rollout. */
  Revision: 'deployment.kubernetes.io/revision',
  /**
   * On a MachineSet, decimals separated by commas. The values are former revisions of a MachineSet that a rollback used
   * again.
   */
  RevisionHistory: 'deployment.kubernetes.io/revision-history',
  /** On a MachineSet, a decimal: the replicas of the deployment when the manager last scaled the MachineSet. */
  DesiredReplicas: 'deployment.kubernetes.io/desired-replicas',
  /** On a MachineSet, a decimal: the desired replicas plus `maxSurge`. */
  MaxReplicas: 'deployment.kubernetes.io/max-replicas',
  /** On a MachineSet, `True`: its Nodes have the taint `PreferNoSchedule`. */
  PreferNoSchedule: 'deployment.machine.sapcloud.io/prefer-no-schedule',
  /** On a MachineDeployment or MachineSet. A user writes the annotation to request the end of the object's freeze. */
  Unfreeze: 'safety.machine.sapcloud.io/unfreeze',
  /**
   * The last applied configuration, which `kubectl apply` writes. mcm never copies the annotation from a
   * MachineDeployment to its MachineSets.
   */
  LastAppliedConfiguration: 'kubectl.kubernetes.io/last-applied-configuration',
  /** On a Pod: the pod mirrors a static pod, and cannot be evicted. */
  MirrorPod: 'kubernetes.io/config.mirror',
} as const;

/** The values of the preserve annotation. Any other value counts as no annotation. */
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
]);
