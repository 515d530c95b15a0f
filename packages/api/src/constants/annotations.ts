/**
 * Annotation keys. Source: machine-controller-manager, pkg/apis/machine/v1alpha1/constants.go,
 * pkg/util/provider/machineutils/utils.go, pkg/controller/{deployment_util,machine_safety}.go.
 */
export const Annotations = {
  /**
   * On a Machine or MachineClass, `<RFC 3339 expiry> <reason>`: until the expiry, mcm replaces machines although many
   * became unreachable at the same time. Only in mcm, not in the original.
   */
  BreakerOverride: 'node.machine.sapcloud.io/replace-despite-common-silence',
  /**
   * On a Machine, `True`: the machine was `Failed` when its deletion started. The deletion stops while many other machines
   * are unreachable. Only in mcm.
   */
  DeletedForHealth: 'node.machine.sapcloud.io/deleted-for-health',
  /**
   * On a MachineClass, provider IDs separated by commas: orphaned VMs in quarantine, until an operator decides. Only
   * in mcm.
   */
  QuarantinedVMs: 'orphan.machine.sapcloud.io/quarantined-vms',
  /**
   * On a MachineClass, provider IDs separated by commas: an operator releases these VMs from quarantine. The machine
   * controller then drains and deletes these VMs. Only in mcm.
   */
  ReleaseVMs: 'orphan.machine.sapcloud.io/release-vms',
  /**
   * On a Machine, `true`: no create call was sent, because the class was invalid each time. mcm can delete such a machine
   * without a valid class. Removed before the first create call. Only in mcm.
   */
  NoCreateCall: 'node.machine.sapcloud.io/no-create-call',
  /**
   * On a Machine, `true`: the machine replaces a failed or deleted machine. The machine counts as a replacement in progress
   * until it is `Running`. Only in mcm.
   */
  Replacement: 'node.machine.sapcloud.io/replacement',
  /**
   * On a MachineSet, decimals: the number of the next machine, then lower numbers whose creation had no response. The
   * names of machines are derived from these numbers. Only in mcm.
   */
  NextMachineNumbers: 'node.machine.sapcloud.io/next-machine-numbers',
  /**
   * On a MachineClass, MachineDeployment, MachineSet or Machine, a JSON list: other offerings for VMs if the cloud has no
   * capacity. Only in mcm.
   */
  CapacityAlternatives: 'capacity.machine.sapcloud.io/alternatives',
  /**
   * On a Machine, one object of the list of alternatives, `{}` for the first choice: the offering of its VM. The machine
   * controller writes it before the create call. Only in mcm.
   */
  CapacityOffering: 'capacity.machine.sapcloud.io/offering',
  /**
   * On a MachineDeployment, a JSON list: the zones of its machines, and how each zone changes the provider spec. New
   * machines are spread across them. Only in mcm.
   */
  Zones: 'zones.machine.sapcloud.io/zones',
  /**
   * On a MachineDeployment, names of zones separated by commas: the machines of these zones are replaced in the other
   * zones. `mcm zone evacuate` writes this annotation. Only in mcm.
   */
  ZonesEvacuated: 'zones.machine.sapcloud.io/evacuated',
  /**
   * On a MachineDeployment, entries `<zone>=<RFC 3339>` separated by commas: zones whose machines all became unreachable,
   * since then. These zones get no machines. The manager writes it. Only in mcm.
   */
  ZonesStandby: 'zones.machine.sapcloud.io/standby',
  /**
   * On a MachineDeployment, an integer or a percentage: the machines of each zone that may be missing during a rollout. The
   * limit of the deployment applies too. Only in mcm.
   */
  ZonesMaxUnavailable: 'zones.machine.sapcloud.io/max-unavailable',
  /**
   * On a Machine, one object of the list of zones: the zone for which the MachineSet created the machine. Only in mcm.
   */
  ZoneOffering: 'zones.machine.sapcloud.io/offering',
  /** On a Machine, the reason why the MachineSet chose its zone. Only in mcm. */
  ZoneReason: 'zones.machine.sapcloud.io/reason',
  /**
   * On a MachineDeployment, an integer: the number of machines that wait for a scale-up, in addition to the replicas.
   * Only in mcm.
   */
  WarmMachines: 'warm.machine.sapcloud.io/machines',
  /**
   * On a MachineDeployment, and on each Machine that waits for a scale-up, `Stopped`, `Hibernated` or `Running`: the
   * state of the VM while the machine waits. Only in mcm.
   */
  WarmState: 'warm.machine.sapcloud.io/state',
  /**
   * On a Machine that waits for a scale-up, a template hash: the template of the machine. Only in mcm.
   */
  WarmTemplate: 'warm.machine.sapcloud.io/template',
  /**
   * On a Machine, `Stopping <RFC 3339>`, `Stopped` or `Starting <RFC 3339>`, written by the machine controller before
   * the call to the cloud: the power state of the VM. Absent if the VM runs. Only in mcm.
   */
  WarmPower: 'warm.machine.sapcloud.io/power',
  /**
   * On a MachineDeployment, its MachineSets and Machines, a Go duration: takes precedence over
   * `spec.creationTimeout`.
   */
  EffectiveCreationTimeout: 'node.machine.sapcloud.io/effective-creation-timeout',
  /**
   * On a Machine or its Node, JSON: the cloud ends or disturbs the VM at the deadline. The machine controller writes
   * it on the Machine, and an agent on the Node. Only in mcm.
   */
  Interruption: 'node.machine.sapcloud.io/interruption',
  /** On a Machine, a Go duration: the time from its creation to its first join. */
  MachineJoinDuration: 'node.machine.sapcloud.io/machine-join-duration',
  /**
   * On a Machine, RFC 3339, written by the machine-config-controller: the latest end of the update of its node. Until
   * then, an unhealthy machine does not become `Failed`.
   */
  UpdateInProgressUntil: 'machineconfiguration.openshift.io/update-in-progress-until',
  /** On a Node: the reason why its update in place failed. */
  UpdateFailedReason: 'node.machine.sapcloud.io/update-failed-reason',
  /**
   * On a MachineDeployment, an integer or percentage: the number of machines of a new template that are created
   * first. Only in mcm.
   */
  RolloutCanary: 'rollout.machine.sapcloud.io/canary',
  /**
   * On a MachineDeployment, a Go duration: the time for which the canaries must be available before the rollout continues. Only
   * in mcm.
   */
  RolloutCanarySoak: 'rollout.machine.sapcloud.io/canary-soak',
  /**
   * On a MachineDeployment, a Go duration: the time for which all new machines must be available before the next batch. Only in
   * mcm.
   */
  RolloutBatchPause: 'rollout.machine.sapcloud.io/pause-between-batches',
  /**
   * On a MachineDeployment, an integer or percentage: the surge that a rolling update needs. While the cloud has no
   * capacity, the rollout continues with this surge. Only in mcm.
   */
  RolloutMinSurge: 'rollout.machine.sapcloud.io/min-surge',
  /**
   * On a MachineDeployment, `true`: a failed machine of the new template pauses the rollout (`spec.paused`). Only in
   * mcm.
   */
  RolloutPauseOnFailure: 'rollout.machine.sapcloud.io/pause-on-failure',
  /** On a MachineDeployment, `true`: a failed machine of the new template undoes the rollout. Only in mcm. */
  RolloutUndoOnFailure: 'rollout.machine.sapcloud.io/undo-on-failure',
  /**
   * On a MachineDeployment, `name~uid,…`: the failed machines that paused the rollout. These machines do not pause the rollout again.
   * Only in mcm.
   */
  RolloutPausedBy: 'rollout.machine.sapcloud.io/paused-by',
  /**
   * On a MachineDeployment, the name of its last good MachineSet. This set last had all machines, or a user returned to it.
   * Only in mcm.
   */
  RolloutLastGood: 'rollout.machine.sapcloud.io/last-good',
  /**
   * On a MachineDeployment, MachineClass or MachineConfigPool, `<five cron fields> <time zone> <duration>; …`: the
   * times in which a rollout may replace or update machines. Only in mcm.
   */
  RolloutWindows: 'rollout.machine.sapcloud.io/windows',
  /**
   * On a MachineDeployment, MachineClass or MachineConfigPool, `<from>/<until> <reason>; …` with RFC 3339 times: the times
   * in which rollouts change nothing. Only in mcm.
   */
  RolloutFreezes: 'rollout.machine.sapcloud.io/freezes',
  /**
   * On a MachineDeployment or MachineConfigPool, RFC 3339: until then, its rollout ignores windows, freezes and nodes
   * that postpone their replacement. Only in mcm.
   */
  RolloutOpenUntil: 'rollout.machine.sapcloud.io/open-until',
  /**
   * On a MachineDeployment, `true` or `false`: terminating machines count towards the surge. Takes precedence over
   * the flag. Only in mcm.
   */
  CountTerminating: 'rollout.machine.sapcloud.io/count-terminating-towards-surge',
  /**
   * On a Node, a template hash: the template of its update in place. Empty if the update has ended and its template is
   * obsolete. Only in mcm: the original uses the result for the newest template.
   */
  SelectedForTemplate: 'node.machine.sapcloud.io/selected-for-template',
  /**
   * On a Node, JSON of a NodeTemplateSpec: the labels, annotations and taints that the machine controller applied
   * last.
   */
  LastAppliedNodeTemplate: 'node.machine.sapcloud.io/last-applied-anno-labels-taints',
  /** On a Node, JSON of a resource list: the virtual capacity that the machine controller applied last. */
  LastAppliedVirtualCapacity: 'node.machine.sapcloud.io/last-applied-virtual-capacity',
  /**
   * On a Node, `<namespace>/<class>` of its machine, written when the Node joins. After the deletion of the machine,
   * it identifies the controller and the cloud of the Node. Only in mcm.
   */
  MachineClassOfNode: 'node.machine.sapcloud.io/machine-class',
  /** On a Node (any value counts; `1` is written): the Node belongs to no Machine, and mcm does not change it. */
  NotManagedByMCM: 'node.machine.sapcloud.io/not-managed-by-mcm',
  /**
   * On a MachineDeployment, `m1~t1,m2` with RFC 3339 times: machines to delete at the next scale-in. A name without a
   * time gets the current time.
   */
  TriggerDeletion: 'node.machine.sapcloud.io/trigger-deletion-by-mcm',
  /**
   * On a MachineDeployment, JSON `{"requestID", "machines", "from", "to"}`: a scale-in of named machines, in the same
   * write as `spec.replicas`. Only in mcm.
   */
  ScaleIn: 'node.machine.sapcloud.io/scale-in',
  /**
   * On a MachineDeployment, a JSON list of `{"requestID", "outcome", "message"}`, newest first: the results
   * of scale-ins. Only in mcm.
   */
  ScaleInResults: 'node.machine.sapcloud.io/scale-in-results',
  /**
   * On a MachineDeployment, RFC 3339: the last change of the replicas by the autoscaler. On a MachineSet: machines
   * that were named up to this time are deleted.
   */
  LastReplicaChangeByScaler: 'machine.sapcloud.io/last-deployment-replica-change-by-scaler-time',
  /** On a Machine, RFC 3339: the time at which the cluster autoscaler decided to remove the machine. */
  MarkedForDeletionTime: 'machine.sapcloud.io/marked-for-deletion-time',
  /**
   * On a Machine, an integer: machines with a lower value are deleted first. An absent or invalid value counts as 3.
   */
  Priority: 'machinepriority.machine.sapcloud.io',
  /**
   * On a Machine or its Node, a {@link PreserveValue}: a request to keep the machine. The value of the Node takes
   * precedence.
   */
  Preserve: 'node.machine.sapcloud.io/preserve',
  /**
   * On a Machine: the last preserve value of its Node, possibly empty. The value shows whether the annotation was removed
   * from the Node.
   */
  LastAppliedNodePreserve: 'node.machine.sapcloud.io/last-applied-node-preserve-value',
  /**
   * On a Machine, or on a MachineClass for all its machines, `Force`, `Quarantine` or `Hold`: what happens if a drain
   * exceeds its time limit. Only in mcm.
   */
  UndrainablePolicy: 'node.machine.sapcloud.io/undrainable-policy',
  /**
   * On a Machine, or on a MachineClass for all its machines, a duration: the drain timeout if the machine is deleted because it
   * is unhealthy. Only in mcm.
   */
  RepairDrainTimeout: 'node.machine.sapcloud.io/repair-drain-timeout',
  /**
   * On a Machine, `Quarantine` or `Hold`: the drain exceeded its time limit with remaining pods, and this policy keeps the
   * VM. The deployment no longer counts the machine. Only in mcm.
   */
  Undrained: 'node.machine.sapcloud.io/undrained',
  /**
   * On a Machine, `true`, written by the machine controller: its drain has created EvictionRequests for pods. The
   * requests are deleted if the drain ends early. Only in mcm.
   */
  EvictionRequests: 'node.machine.sapcloud.io/eviction-requests',
  /**
   * On a Machine, `<RFC 3339> <key>,…`, written by the machine controller: the taints `readiness.k8s.io/*` of its Node,
   * and since when it has any. The machine does not count as available. Only in mcm.
   */
  AwaitsReadiness: 'node.machine.sapcloud.io/awaits-readiness',
  /**
   * On a MachineClass or a Machine, `<stage> <name> <owner> <timeout> Continue|Block [if <CEL>]; …`: the steps of other
   * programs that machines wait for. Only in mcm.
   */
  Hooks: 'node.machine.sapcloud.io/hooks',
  /**
   * On a Machine, `<stage>=<RFC 3339>,…`, written by the machine controller: the start of the wait for the hooks of each
   * stage. Only in mcm.
   */
  HooksBegun: 'node.machine.sapcloud.io/hooks-begun',
  /**
   * On a Machine, as `<stage>.hook.machine.sapcloud.io/<name>` with the owner as its value: a hook that has not
   * finished. The owner of the hook removes the annotation. Only in mcm.
   */
  HookSuffix: 'hook.machine.sapcloud.io',
  /**
   * On a MachineDeployment, an integer: the smallest size that an autoscaler may request over gRPC. With the maximum, it
   * makes the MachineDeployment a node group. Only in mcm.
   */
  AutoscalerMinSize: 'autoscaler.machine.sapcloud.io/min-size',
  /** On a MachineDeployment, an integer: the largest size that an autoscaler may request over gRPC. Only in mcm. */
  AutoscalerMaxSize: 'autoscaler.machine.sapcloud.io/max-size',
  /** On a Node, `true`: the cluster autoscaler does not remove the Node. */
  ScaleDownDisabled: 'cluster-autoscaler.kubernetes.io/scale-down-disabled',
  /** On a Node, `true`: mcm set `scale-down-disabled` and may remove it. */
  ScaleDownDisabledByMCM: 'cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm',
  /**
   * On a Node, `true`: the machine-config-controller set `scale-down-disabled` for the update of the Node, and
   * removes it afterwards.
   */
  ScaleDownDisabledByMCC: 'machineconfiguration.openshift.io/scale-down-disabled-by-mcc',
  /**
   * On a Node, written by the machine-config-daemon: `drain-<config>` requests a drain, and `uncordon-<config>` its
   * end.
   */
  ConfigDaemonDrain: 'machineconfiguration.openshift.io/desiredDrain',
  /** On a Node, written by the machine-config-daemon: the state of the Node, such as `Done` or `Degraded`. */
  ConfigDaemonState: 'machineconfiguration.openshift.io/state',
  /** On a Node, written by the machine-config-daemon: the reason why the Node is `Degraded` or `Unreconcilable`. */
  ConfigDaemonReason: 'machineconfiguration.openshift.io/reason',
  /**
   * On a MachineDeployment, written by the machine-config-controller: its rollouts wait until new machines have
   * applied the configuration of this pool.
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
   * On a MachineClass, JSON: the last valid provider spec, while the current provider spec is invalid. The machine controller
   * uses it to delete VMs. Only in mcm.
   */
  FormerProviderSpec: 'machine.sapcloud.io/former-provider-spec',
  /** On a MachineDeployment or MachineSet, a decimal: the revision of the rollout. */
  Revision: 'deployment.kubernetes.io/revision',
  /** On a MachineSet, decimals separated by commas: former revisions of a set that is used again. */
  RevisionHistory: 'deployment.kubernetes.io/revision-history',
  /** On a MachineSet, a decimal: the deployment's replicas at the last scaling of the set. */
  DesiredReplicas: 'deployment.kubernetes.io/desired-replicas',
  /** On a MachineSet, a decimal: the desired replicas plus `maxSurge`. */
  MaxReplicas: 'deployment.kubernetes.io/max-replicas',
  /** On a MachineSet, `True`: its Nodes have the taint `PreferNoSchedule`. */
  PreferNoSchedule: 'deployment.machine.sapcloud.io/prefer-no-schedule',
  /** On a MachineDeployment or MachineSet: a user requests the end of its freeze. */
  Unfreeze: 'safety.machine.sapcloud.io/unfreeze',
  /** The last applied configuration, which `kubectl apply` writes. mcm never copies it from a MachineDeployment to its sets. */
  LastAppliedConfiguration: 'kubectl.kubernetes.io/last-applied-configuration',
  /** On a Pod: the pod mirrors a static pod, and cannot be evicted. */
  MirrorPod: 'kubernetes.io/config.mirror',
} as const;

/** Any other value counts as no annotation. */
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

/** A machine with this priority and a mark time must be deleted, because the autoscaler named it. */
export const TRIGGERED_DELETION_PRIORITY = 1;

/** Annotations of a MachineDeployment that are not copied to its MachineSets, and not copied back in a rollback. */
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
  Annotations.RolloutPausedBy,
  Annotations.RolloutLastGood,
  Annotations.RolloutWindows,
  Annotations.RolloutFreezes,
  Annotations.RolloutOpenUntil,
  Annotations.CountTerminating,
  Annotations.WarmMachines,
  Annotations.WarmState,
  Annotations.Zones,
  Annotations.ZonesEvacuated,
  Annotations.ZonesStandby,
  Annotations.ZonesMaxUnavailable,
]);
