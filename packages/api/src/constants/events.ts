/** Event reasons of the original, on MachineSets and MachineDeployments. */
export const EventReasons = {
  SuccessfulCreate: 'SuccessfulCreate',
  FailedCreate: 'FailedCreate',
  SuccessfulDelete: 'SuccessfulDelete',
  FailedDelete: 'FailedDelete',
  FrozeMachineSet: 'FrozeMachineSet',
  UnfrozeMachineSet: 'UnfrozeMachineSet',
  ScalingMachineSet: 'ScalingMachineSet',
  MachineSetCreateError: 'MachineSetCreateError',
  SelectingAll: 'SelectingAll',
  RollbackRevisionNotFound: 'DeploymentRollbackRevisionNotFound',
  RollbackTemplateUnchanged: 'DeploymentRollbackTemplateUnchanged',
  Rollback: 'DeploymentRollback',
} as const satisfies Record<string, EventReason>;

/** `source.component` of events. */
export const EventSources = {
  MachineControllerManager: 'machine-controller-manager',
  MachineSetController: 'machineset-controller',
  MachineController: 'machine-controller',
} as const;

/** The meaning of an event reason, for the reference and the CLI. */
export interface EventMeaning {
  readonly on: readonly ('Machine' | 'MachineClass' | 'MachineDeployment' | 'MachineSet' | 'Node')[];
  readonly type: 'Normal' | 'Warning';
  readonly means: string;
  /** The action for an operator, or absent if no action is necessary. */
  readonly help?: string;
}

const DEPLOYMENT = ['MachineDeployment'] as const;
const SET = ['MachineSet'] as const;
const MACHINE = ['Machine'] as const;
const CLASS = ['MachineClass'] as const;

/** All event reasons of the machine controllers. The event recorders refuse all other reasons. */
export const EVENTS = {
  ScalingMachineSet: {
    on: DEPLOYMENT,
    type: 'Normal',
    means: 'The manager changed the replicas of a MachineSet of the deployment.',
  },
  MachineSetCreateError: {
    on: DEPLOYMENT,
    type: 'Warning',
    means:
      'The manager cannot create the MachineSet of a new template. The message of the event contains the error of the API server.',
    help: 'Fix the cause that the message of the event names: a quota, a webhook, or the permissions of the manager.',
  },
  SelectingAll: {
    on: DEPLOYMENT,
    type: 'Warning',
    means:
      '`spec.selector` is empty, which matches every machine of the namespace. The manager ignores the deployment.',
    help: 'Add a label of the template to `spec.selector`.',
  },
  DeploymentRollback: {
    on: DEPLOYMENT,
    type: 'Normal',
    means: 'The manager restored the template of an older revision.',
  },
  DeploymentRollbackRevisionNotFound: {
    on: DEPLOYMENT,
    type: 'Warning',
    means: 'A user requested a rollback to a revision that does not exist.',
    help: 'Choose a revision from `mcm rollout history NAME`. To keep more revisions, raise `spec.revisionHistoryLimit`.',
  },
  DeploymentRollbackTemplateUnchanged: {
    on: DEPLOYMENT,
    type: 'Warning',
    means: 'A user requested a rollback to a revision that has the current template.',
    help: 'Choose another revision from `mcm rollout history NAME`.',
  },
  RolloutPaused: {
    on: DEPLOYMENT,
    type: 'Warning',
    means: 'Machines of the new template failed, so the manager set `spec.paused` (annotation `pause-on-failure`).',
    help: 'Correct the template and run `mcm rollout resume NAME`, or run `mcm rollout undo NAME`.',
  },
  RolloutUndone: {
    on: DEPLOYMENT,
    type: 'Warning',
    means:
      'Machines of the new template failed, so the manager requested a rollback to the last good template (annotation `undo-on-failure`).',
    help: 'Correct the template before you apply it again. `mcm rollout history NAME` shows all templates.',
  },
  RolloutWaiting: {
    on: DEPLOYMENT,
    type: 'Normal',
    means: 'The rollout waits for a window, the end of a freeze, postponed nodes, or the rollout budget of a fleet.',
    help: 'To continue now outside of a window, set the annotation `rollout.machine.sapcloud.io/open-until`.',
  },
  NoTargetCluster: {
    on: DEPLOYMENT,
    type: 'Warning',
    means:
      'The strategy is InPlaceUpdate, but the manager has no target cluster. The manager does not continue the rollout.',
    help: 'Start the manager with `--target-kubeconfig`, or use another strategy.',
  },
  NodesNotReadable: {
    on: DEPLOYMENT,
    type: 'Warning',
    means:
      'The strategy is InPlaceUpdate, but the manager has no permission to list or watch nodes. The manager does not continue the rollout.',
    help: 'Apply the RBAC roles of this mcm version. The manager continues automatically after you apply the roles.',
  },
  SelectionTakenOff: {
    on: DEPLOYMENT,
    type: 'Normal',
    means:
      'A user selected a node for an update in place, but the node already has the current template. The manager removed the selection.',
    help: 'Select only nodes with the candidate label.',
  },
  InputIgnored: {
    on: [...DEPLOYMENT, ...SET],
    type: 'Warning',
    means:
      'A field, label or annotation has an invalid or misleading value. The manager ignores the invalid value and applies all other values.',
    help: 'Correct the field, label or annotation that the message of the event names.',
  },
  ScaleInAccepted: {
    on: DEPLOYMENT,
    type: 'Normal',
    means: 'The manager accepted a scale-in. The manager deletes the requested machines and lowers the replicas.',
  },
  ScaleInRefused: {
    on: DEPLOYMENT,
    type: 'Warning',
    means:
      'The manager refused a scale-in, or ignored one name in the list of machines to delete. The message of the event contains the reason for the refusal.',
    help: 'Read the current replicas and machines, then write the annotation with a new request ID.',
  },
  ScaleInPending: {
    on: DEPLOYMENT,
    type: 'Normal',
    means:
      'A machine is marked for deletion, but the manager did not delete the machine. The message of the event contains the reason. The next scale-in deletes the marked machine first.',
  },
  AutoscalerMarkExpired: {
    on: DEPLOYMENT,
    type: 'Normal',
    means:
      'The autoscaler marked machines for deletion and did not reduce `spec.replicas` in time, so the manager removed the marks.',
    help: 'Check the cluster autoscaler. The annotation `deployment.machine.sapcloud.io/mark-expiry` defines how long the manager waits.',
  },
  InvalidSpec: {
    on: ['MachineDeployment', 'MachineSet'],
    type: 'Warning',
    means: 'The spec is invalid. The condition `InvalidSpec` of the object contains the details.',
    help: 'Correct the field that the message of the event names.',
  },
  RolloutBlocked: {
    on: DEPLOYMENT,
    type: 'Warning',
    means:
      'The manager did not execute the next step of the rollout, because the step violates a limit. A step that violates a limit is a bug in mcm. The manager retries.',
    help: 'Report the bug with a debug bundle: `mcm debug bundle`.',
  },
  ReplacementHeld: {
    on: ['MachineDeployment', 'MachineSet', 'Machine'],
    type: 'Warning',
    means:
      'The circuit breaker is open: many machines became unreachable at the same time. The manager replaces no unreachable machine.',
    help: 'Runbook McmReplacementHeld.',
  },
  ReplacementResumed: {
    on: ['MachineDeployment', 'MachineSet', 'Machine'],
    type: 'Normal',
    means: 'The circuit breaker is closed, because the machines are reachable again or the manager replaced them.',
  },
  SuccessfulCreate: {
    on: ['MachineSet', 'MachineDeployment'],
    type: 'Normal',
    means: 'The manager created Machine objects.',
  },
  FailedCreate: {
    on: ['MachineSet', 'MachineDeployment'],
    type: 'Warning',
    means: 'The manager cannot create a Machine object. The message of the event contains the error of the API server.',
    help: 'Fix the cause that the message of the event names: a quota, a webhook, or the permissions of the manager.',
  },
  SuccessfulDelete: {
    on: SET,
    type: 'Normal',
    means: 'The manager deleted Machine objects. The message of the event contains the cause of the deletion.',
  },
  FailedDelete: {
    on: SET,
    type: 'Warning',
    means: 'The manager cannot delete a Machine object. The message of the event contains the error of the API server.',
    help: 'Fix the cause that the message of the event names: a webhook, or the permissions of the manager.',
  },
  FrozeMachineSet: {
    on: SET,
    type: 'Normal',
    means: 'The MachineSet has too many machines, so the manager adds no machine.',
    help: 'Runbook McmSetFrozen.',
  },
  UnfrozeMachineSet: {
    on: SET,
    type: 'Normal',
    means: 'The freeze ended. The manager adds machines to the MachineSet again.',
  },
  NodeHealthy: { on: MACHINE, type: 'Normal', means: 'The node of a new machine joined and is healthy.' },
  NodeUnhealthy: {
    on: MACHINE,
    type: 'Warning',
    means: 'A condition of the node reports a problem, so the health timeout of the machine started.',
    help: 'Check the node. `mcm explain machine/NAME` shows when the health timeout expires.',
  },
  NodeMissing: {
    on: MACHINE,
    type: 'Warning',
    means: 'The Node of a machine no longer exists. The health timeout of the machine started.',
    help: 'Find the cause of the deletion of the Node. Restart the kubelet, so that the kubelet registers the Node again.',
  },
  NodeDeleted: {
    on: MACHINE,
    type: 'Warning',
    means:
      'The Node of the machine was deleted, so the machine controller deletes the machine. The MachineSet creates another machine.',
    help: 'Find the cause of the deletion of the Node. To replace a machine, delete the Machine instead of the Node.',
  },
  Interrupted: {
    on: MACHINE,
    type: 'Warning',
    means:
      'The cloud announced that it will terminate the VM. The machine controller drains and deletes the machine before the VM ends. The MachineSet creates a replacement after the deletion.',
    help: 'None. If interruptions are frequent, use another machine type or on-demand VMs.',
  },
  InterruptionReported: {
    on: MACHINE,
    type: 'Normal',
    means: 'The cloud reported a risk or a short pause of the VM. mcm keeps the machine.',
  },
  InterruptionPassed: {
    on: MACHINE,
    type: 'Normal',
    means: 'The VM of the machine still runs after the deadline of its interruption. mcm keeps the machine.',
  },
  HooksBegun: {
    on: MACHINE,
    type: 'Normal',
    means: 'The machine waits until the owners of its hooks remove the annotations of the hooks.',
  },
  HookTimedOut: {
    on: MACHINE,
    type: 'Warning',
    means:
      'The timeout of a hook has passed. The machine continues if the hook has the setting `Continue`, and still waits if the hook has `Block`.',
    help: 'Check the program that owns the hook. To end the hook, remove its annotation from the Machine.',
  },
  HookCallFailed: {
    on: MACHINE,
    type: 'Warning',
    means:
      'The machine controller called the webhook of a hook, but the call failed. The message of the event contains the cause. The machine controller calls the webhook again.',
    help: 'Check the webhook, its certificate and its key. See [hooks](../hooks.md#webhooks).',
  },
  StaleNode: {
    on: MACHINE,
    type: 'Warning',
    means:
      'An earlier VM has a Node with the name of the machine, so mcm deleted the new VM. The machine is Failed, and mcm replaces the machine.',
    help: 'Delete the Node if its VM no longer exists.',
  },
  CreationFailed: {
    on: MACHINE,
    type: 'Warning',
    means:
      'The cloud did not create the VM, or the initialization of the VM failed. The machine controller retries the call.',
    help: 'The message of the event contains the error code of the call. Look up the error code in the reference of error codes.',
  },
  AlternativeChosen: {
    on: MACHINE,
    type: 'Normal',
    means:
      'The cloud has no capacity for the first offering, so mcm uses an alternative. The message of the event contains the alternative that mcm uses.',
    help: 'None. The machine controller requests the first offering again later.',
  },
  ZoneStandby: {
    on: DEPLOYMENT,
    type: 'Warning',
    means: 'All machines of a zone became unreachable. The manager creates machines in the other zones.',
    help: 'If the zone stays unreachable, replace its machines with `mcm zone evacuate`.',
  },
  ZoneShort: {
    on: DEPLOYMENT,
    type: 'Warning',
    means:
      'During the evacuation of a zone, the cloud had no capacity in one of the remaining zones. The manager creates the machines in the other zones.',
    help: 'Check the quota of the zone. The manager tries the zone again after 30 minutes.',
  },
  ZoneReturned: {
    on: DEPLOYMENT,
    type: 'Normal',
    means:
      'The manager creates machines in the standby zone again. A machine of the zone is Ready, or the zone has no machines, or the wait for capacity ended.',
  },
  CapacityBufferFollowed: {
    on: DEPLOYMENT,
    type: 'Normal',
    means: 'The number of warm machines follows the CapacityBuffer of the deployment.',
  },
  CapacityBufferUnknown: {
    on: DEPLOYMENT,
    type: 'Warning',
    means:
      'The manager cannot compute the number of machines of the CapacityBuffer. The deployment keeps its number of warm machines.',
    help: 'Fix the cause that the message of the event names, for example a missing PodTemplate or a missing `nodeTemplate`.',
  },
  WarmMachineStopped: {
    on: MACHINE,
    type: 'Normal',
    means: 'The VM of a warm machine has stopped. The machine waits for a scale-up.',
  },
  WarmMachineUsed: {
    on: SET,
    type: 'Normal',
    means: 'The MachineSet needed more machines, so the manager used warm machines.',
  },
  WarmStartFailed: {
    on: MACHINE,
    type: 'Warning',
    means: 'The cloud did not start the VM of a warm machine, or the VM no longer exists. mcm replaces the machine.',
    help: 'If the cloud has no capacity, define capacity alternatives, or use warm machines with the state `Running`.',
  },
  WarmUnsupported: {
    on: MACHINE,
    type: 'Warning',
    means: 'The driver cannot stop or hibernate VMs, so mcm creates no VM for the warm machine.',
    help: 'Set the annotation `warm.machine.sapcloud.io/state` of the MachineDeployment to a supported state.',
  },
  FailedToJoin: {
    on: MACHINE,
    type: 'Warning',
    means: 'The node did not join within the creation timeout. The machine is Failed, and mcm replaces the machine.',
    help: 'Runbook McmMachinesDoNotJoin.',
  },
  HealthTimeout: {
    on: MACHINE,
    type: 'Warning',
    means: 'The node did not recover within the health timeout. The machine is Failed, and mcm replaces the machine.',
    help: 'Runbook McmMachineFailed.',
  },
  InPlaceUpdateFailed: {
    on: ['Machine', 'MachineDeployment'],
    type: 'Warning',
    means: 'The agent on the node reported a failed update, or no result within the timeout.',
    help: 'The message of the event contains the reason that the agent reported. Correct the template, or undo the rollout.',
  },
  Preserved: {
    on: MACHINE,
    type: 'Normal',
    means:
      'The machine is preserved. The message of the event contains the end time of the preservation and the object that requests it.',
  },
  PreservationEnded: { on: MACHINE, type: 'Normal', means: 'The preservation of the machine ended.' },
  VMKept: {
    on: MACHINE,
    type: 'Normal',
    means: 'The machine failed and was deleted. mcm keeps its VM, so that a user can investigate the VM.',
    help: 'Investigate the VM before its deletion. The message of the event contains the time at which mcm deletes the VM. To delete the VM earlier, delete the ConfigMap that the message of the event names.',
  },
  NodeMetadataDrift: {
    on: MACHINE,
    type: 'Warning',
    means:
      'Another client changed a label, an annotation or a taint of the Node. The drift policy `Warn` keeps the change.',
    help: 'Correct the Node or the node template. To change the policy, set the annotation `node.machine.sapcloud.io/drift-policy`.',
  },
  InvalidInput: {
    on: MACHINE,
    type: 'Warning',
    means: 'An annotation, a label or a field of the machine has an invalid value.',
    help: 'Use one of the values that the message of the event lists.',
  },
  DeletionBlocked: {
    on: MACHINE,
    type: 'Warning',
    means: 'A PodDisruptionBudget, an error of the cloud, or an API server blocks the deletion of the machine.',
    help: 'The message of the event contains a hint that explains how to end the wait. `mcm explain machine/NAME` shows the start and the end of the wait. Runbook McmMachineTerminatingLong.',
  },
  DrainFailed: {
    on: MACHINE,
    type: 'Warning',
    means:
      'The drain timeout expired while pods remained. With the undrainable policy `Fail`, mcm ended the drain and keeps the VM.',
    help: 'Delete the pods, increase the drain timeout, change the policy, or set the label `force-deletion`.',
  },
  VMUnknown: {
    on: MACHINE,
    type: 'Warning',
    means: 'mcm removed a machine with the label `force-deletion`, but could not check its VM. The VM may still exist.',
    help: 'In the cloud, look for a VM with the name of the machine. If the cluster has a valid MachineClass, the machine controller finds the VM as an orphan.',
  },
  PodDoesNotEnd: {
    on: MACHINE,
    type: 'Warning',
    means: 'A pod still exists 30 s after the end of its grace period.',
    help: 'Check the finalizers of the pod and the kubelet of the node.',
  },
  VolumeStaysAttached: {
    on: MACHINE,
    type: 'Warning',
    means: 'A volume was not detached from the node within the detach timeout. The drain continues.',
    help: 'Check the VolumeAttachment and the CSI driver.',
  },
  EvictionUnavailable: {
    on: MACHINE,
    type: 'Warning',
    means:
      'The machine controller deleted the listed pods with their grace period, but ignored their PodDisruptionBudgets.',
    help: 'The target cluster has no eviction API. Enable `pods/eviction` of `policy/v1`.',
  },
  PodsForcedOff: {
    on: MACHINE,
    type: 'Warning',
    means:
      'The machine controller deleted the listed pods without a grace period, and ignored their PodDisruptionBudgets.',
    help: 'The message of the event contains the reason: an expired drain timeout, an unreachable node, or the label `force-deletion`.',
  },
  DriverFault: {
    on: MACHINE,
    type: 'Warning',
    means: 'The driver failed several times with an internal error.',
    help: 'Fix the driver, or report the bug with a debug bundle.',
  },
  InvalidClass: {
    on: CLASS,
    type: 'Warning',
    means:
      'The provider spec or the Secret is invalid, so mcm cannot create VMs. The event `InvalidClass` also reports an incomplete nodeTemplate.',
    help: 'Correct the fields that the message of the event names.',
  },
  ClassIsValid: { on: CLASS, type: 'Normal', means: 'The class is valid again.' },
  UnknownField: {
    on: CLASS,
    type: 'Warning',
    means: 'Some fields of the provider spec have no effect.',
    help: 'Correct the names of the fields, or remove the fields.',
  },
  InUse: {
    on: CLASS,
    type: 'Normal',
    means: 'The deletion of the class waits, because machines or kept VMs still use the class.',
    help: 'Use another class for the machines, or delete the machines.',
  },
  CredentialsRefused: {
    on: CLASS,
    type: 'Warning',
    means: 'The cloud refuses the credentials of the class.',
    help: 'Correct the Secret that the message of the event names. The machine controller reads the changed Secret immediately.',
  },
  CloudUnreachable: {
    on: CLASS,
    type: 'Warning',
    means: 'The API of the cloud does not respond.',
    help: 'Check the region and the endpoint, and DNS, proxies and network policies of the machine controller.',
  },
  CloudRefuses: {
    on: CLASS,
    type: 'Warning',
    means: 'The cloud refuses calls because of a value of the class, such as a missing image.',
    help: 'Create a class with another name, and correct the field that the message of the event names.',
  },
  CloudAnswers: { on: CLASS, type: 'Normal', means: 'The cloud accepts calls for the class again.' },
  ListingFailed: {
    on: CLASS,
    type: 'Warning',
    means: 'The machine controller cannot list the VMs of the class, and therefore cannot find orphans.',
    help: 'Grant the credentials the permission to list VMs. The message of the event contains the error of the cloud.',
  },
  ListingWorks: { on: CLASS, type: 'Normal', means: 'The machine controller can list the VMs of the class again.' },
  TaggingFailed: {
    on: CLASS,
    type: 'Warning',
    means:
      'The machine controller cannot tag orphaned VMs of the class. The missing tags do not prevent the stop or the deletion of the VMs.',
    help: 'Grant the credentials the permission to change tags of VMs. The message of the event contains the error of the cloud.',
  },
  TaggingWorks: {
    on: CLASS,
    type: 'Normal',
    means: 'The machine controller can tag the orphaned VMs of the class again.',
  },
  ForeignVMs: {
    on: CLASS,
    type: 'Warning',
    means:
      'Some VMs have the tags of the class, but belong to another control cluster. The machine controller keeps the VMs of the other control cluster.',
    help: 'If this control cluster replaces the other control cluster, add the UID of the other control cluster to `--orphan-former-owners`.',
  },
  OrphanVM: {
    on: CLASS,
    type: 'Warning',
    means: 'A VM of the cluster has no Machine. The message of the event contains the next action of mcm.',
    help: 'Runbook McmOrphans.',
  },
  OrphanNode: {
    on: ['Node'],
    type: 'Warning',
    means: 'A Node exists, but its Machine no longer exists. The message of the event contains the next action of mcm.',
    help: 'Runbook McmOrphans.',
  },
  MalformedObject: {
    on: ['Machine', 'MachineClass', 'MachineDeployment', 'MachineSet', 'Node'],
    type: 'Warning',
    means:
      'A field of the object is missing or of the wrong type. The message of the event lists the invalid fields. The controllers ignore the object.',
    help: 'Correct the fields that the message of the event names. To prevent such objects, install the CRDs of this mcm version.',
  },
} as const satisfies Record<string, EventMeaning>;

/** Reason of an event. */
export type EventReason = keyof typeof EVENTS;
