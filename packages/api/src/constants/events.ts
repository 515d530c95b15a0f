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

/** What the reason of an event tells whoever reads it. */
export interface EventMeaning {
  /** Kinds of the objects that it is told of. */
  readonly on: readonly ('Machine' | 'MachineClass' | 'MachineDeployment' | 'MachineSet' | 'Node')[];
  readonly type: 'Normal' | 'Warning';
  readonly means: string;
  /** What an operator does; absent: nothing. */
  readonly help?: string;
}

const DEPLOYMENT = ['MachineDeployment'] as const;
const SET = ['MachineSet'] as const;
const MACHINE = ['Machine'] as const;
const CLASS = ['MachineClass'] as const;

/** Every reason of an event that the controllers of machines write. The recorders take no other. */
export const EVENTS = {
  ScalingMachineSet: {
    on: DEPLOYMENT,
    type: 'Normal',
    means: 'A set of the deployment gets another number of replicas.',
  },
  MachineSetCreateError: {
    ...{
      on: DEPLOYMENT,
      type: 'Warning',
      means: 'The set of a new template cannot be made; the message is the API server’s.',
    },
    help: 'Mend what it names: a quota of the namespace, a webhook, the permissions of the manager.',
  },
  SelectingAll: {
    ...{
      on: DEPLOYMENT,
      type: 'Warning',
      means: '`spec.selector` is empty and would take every machine of the namespace: nothing is done.',
    },
    help: 'Name a label of the template in `spec.selector`.',
  },
  DeploymentRollback: { on: DEPLOYMENT, type: 'Normal', means: 'The template of an older revision is back.' },
  DeploymentRollbackRevisionNotFound: {
    on: DEPLOYMENT,
    type: 'Warning',
    means: 'A rollback asks for a revision that is not kept.',
    help: 'Choose one that `mcm rollout history NAME` lists; raise `spec.revisionHistoryLimit` to keep more.',
  },
  DeploymentRollbackTemplateUnchanged: {
    on: DEPLOYMENT,
    type: 'Warning',
    means: 'A rollback asks for the template that the deployment has already.',
    help: 'Name another revision: `mcm rollout history NAME`.',
  },
  RolloutPaused: {
    ...{
      on: DEPLOYMENT,
      type: 'Warning',
      means: 'Machines of the new template failed and the pause on failure set `spec.paused`.',
    },
    help: 'Correct the template, then `mcm rollout resume NAME`; or `mcm rollout undo NAME`.',
  },
  NoTargetCluster: {
    ...{
      on: DEPLOYMENT,
      type: 'Warning',
      means: 'The strategy is InPlaceUpdate and the manager sees no nodes: nothing is done.',
    },
    help: 'Start the manager with `--target-kubeconfig`, or choose another strategy.',
  },
  NodesNotReadable: {
    ...{
      on: DEPLOYMENT,
      type: 'Warning',
      means: 'The strategy is InPlaceUpdate and the manager may not list or watch nodes: nothing is done.',
    },
    help: 'Apply the roles of this version; it goes on by itself.',
  },
  SelectionTakenOff: {
    ...{
      on: DEPLOYMENT,
      type: 'Normal',
      means: 'A node was selected for an update in place and has the current template already.',
    },
    help: 'Select nodes once they are candidates.',
  },
  InputIgnored: {
    ...{
      on: DEPLOYMENT,
      type: 'Warning',
      means: 'Part of what is written cannot be done as it is written; the rest is done.',
    },
    help: 'Correct the field or annotation that the message names.',
  },
  ScaleInAccepted: {
    on: DEPLOYMENT,
    type: 'Normal',
    means: 'The machines that a scale-in names go, and the count with them.',
  },
  ScaleInRefused: {
    on: DEPLOYMENT,
    type: 'Warning',
    means:
      'A scale-in of named machines, or a name in a list of machines to delete, was refused; the message says why.',
    help: 'Read the count and the machines anew and write the annotation again with another id.',
  },
  ScaleInPending: {
    on: DEPLOYMENT,
    type: 'Normal',
    means: 'A machine is named for deletion and stays for now; the message says why. The next scale-in takes it first.',
  },
  InvalidSpec: {
    on: ['MachineDeployment', 'MachineSet'],
    type: 'Warning',
    means: 'The spec is not one that can be acted on; the condition of this name says more.',
    help: 'Correct the field that the message names.',
  },
  RolloutBlocked: {
    on: DEPLOYMENT,
    type: 'Warning',
    means: 'A decision broke a bound that none may break, and nothing of it was done. A defect of ours; tried again.',
    help: 'Report it with a debug bundle: `mcm debug bundle`.',
  },
  ReplacementHeld: {
    on: ['MachineDeployment', 'MachineSet', 'Machine'],
    type: 'Warning',
    means: 'So many machines fell silent together that none of them is replaced: it may be the network.',
    help: 'Runbook McmReplacementHeld.',
  },
  ReplacementResumed: {
    on: ['MachineDeployment', 'MachineSet', 'Machine'],
    type: 'Normal',
    means: 'What was held is replaced again, or was heard of again.',
  },
  SuccessfulCreate: { on: SET, type: 'Normal', means: 'Machine objects were made.' },
  FailedCreate: {
    on: SET,
    type: 'Warning',
    means: 'A Machine object cannot be made; the message is the API server’s.',
    help: 'Mend what it names: a quota of the namespace, a webhook, the permissions of the manager.',
  },
  SuccessfulDelete: { on: SET, type: 'Normal', means: 'Machine objects were deleted.' },
  FailedDelete: {
    on: SET,
    type: 'Warning',
    means: 'A Machine object cannot be deleted; the message is the API server’s.',
    help: 'Mend what it names: a webhook, the permissions of the manager.',
  },
  FrozeMachineSet: {
    on: SET,
    type: 'Normal',
    means: 'The set has far more machines than asked for: none is added.',
    help: 'Runbook McmSetFrozen.',
  },
  UnfrozeMachineSet: { on: SET, type: 'Normal', means: 'Machines are added to the set again.' },
  NodeHealthy: { on: MACHINE, type: 'Normal', means: 'The node of a new machine has joined and is healthy.' },
  NodeUnhealthy: {
    on: MACHINE,
    type: 'Warning',
    means: 'A condition of the node speaks against it; the time to recover runs.',
    help: 'Look at the node; `mcm explain machine/NAME` says until when it may recover.',
  },
  NodeMissing: {
    ...{
      on: MACHINE,
      type: 'Warning',
      means: 'The Node of a machine that had one is gone; the time to come back runs.',
    },
    help: 'Find out who deleted it; restart the kubelet to have it register again.',
  },
  NodeDeleted: {
    on: MACHINE,
    type: 'Warning',
    means: 'Somebody deleted the Node of the machine, which is therefore deleted, too; its set makes another.',
    help: 'Find out who deleted it. To have a machine replaced delete the Machine.',
  },
  StaleNode: {
    on: MACHINE,
    type: 'Warning',
    means:
      'The new VM was deleted: a Node of its name belongs to an earlier VM. The machine is Failed and is replaced.',
    help: 'Delete the Node if its VM is gone for good.',
  },
  CreationFailed: {
    ...{
      on: MACHINE,
      type: 'Warning',
      means: 'The cloud made no VM, or one that could not be made ready; it is tried again.',
    },
    help: 'Look up the code in the message among the error codes.',
  },
  FailedToJoin: {
    ...{
      on: MACHINE,
      type: 'Warning',
      means: 'The node did not join within the creation timeout: the machine is Failed and is replaced.',
    },
    help: 'Runbook McmMachinesDoNotJoin.',
  },
  HealthTimeout: {
    ...{
      on: MACHINE,
      type: 'Warning',
      means: 'The node did not recover within the health timeout: the machine is Failed and is replaced.',
    },
    help: 'Runbook McmMachineFailed.',
  },
  InPlaceUpdateFailed: {
    on: ['Machine', 'MachineDeployment'],
    type: 'Warning',
    means: 'The agent on the node says that the update failed, or nothing within the time for it.',
    help: 'Read the agent’s reason in the message; correct the template, or undo the rollout.',
  },
  Preserved: {
    on: MACHINE,
    type: 'Normal',
    means: 'The machine is kept; the message says until when and who asks for it.',
  },
  PreservationEnded: { on: MACHINE, type: 'Normal', means: 'The machine is not kept any more.' },
  VMKept: {
    on: MACHINE,
    type: 'Normal',
    means: 'The VM of a failed machine is kept for study beyond the machine.',
    help: 'Look into it before its time is over; the ConfigMap in the message ends it sooner when deleted.',
  },
  InvalidInput: {
    ...{
      on: MACHINE,
      type: 'Warning',
      means: 'An annotation or a field of the machine has a value that means nothing.',
    },
    help: 'Write a value that the message names.',
  },
  DeletionBlocked: {
    ...{
      on: MACHINE,
      type: 'Warning',
      means: 'Something stops the deletion: a budget, a cloud that refuses, an API server.',
    },
    help: 'The message says what helps; `mcm explain machine/NAME` says since when and until when. Runbook McmMachineTerminatingLong.',
  },
  VMUnknown: {
    ...{
      on: MACHINE,
      type: 'Warning',
      means: 'The label `force-deletion` ended a machine of which nobody could tell whether it has a VM.',
    },
    help: 'Look for a VM of the machine’s name in the cloud. The search for orphans finds it once a class of the cluster is valid.',
  },
  PodDoesNotEnd: {
    on: MACHINE,
    type: 'Warning',
    means: 'A pod was told to end and is there 30 s after its grace period.',
    help: 'Look at the finalizers of the pod and at the kubelet of the node.',
  },
  VolumeStaysAttached: {
    on: MACHINE,
    type: 'Warning',
    means: 'A volume did not come off in its time; the drain goes on.',
    help: 'Look at the VolumeAttachment and the CSI driver.',
  },
  EvictionUnavailable: {
    on: MACHINE,
    type: 'Warning',
    means: 'The pods in the message were deleted with their grace period, but without their PodDisruptionBudgets.',
    help: 'The API server of the nodes has no eviction API. Serve `pods/eviction` of `policy/v1`.',
  },
  PodsForcedOff: {
    ...{
      on: MACHINE,
      type: 'Warning',
      means: 'The pods in the message were deleted without grace, whatever their budgets say.',
    },
    help: 'The message says why: the time to drain was over, the node was silent, or a label asks for it.',
  },
  DriverFault: {
    on: MACHINE,
    type: 'Warning',
    means: 'The driver failed several times with what is no answer of the cloud.',
    help: 'Mend the driver, or report it with a debug bundle.',
  },
  InvalidClass: {
    ...{
      on: CLASS,
      type: 'Warning',
      means: 'The provider spec or the Secret is wrong, and no VM can be made; or the nodeTemplate is incomplete.',
    },
    help: 'Correct the fields that the message names.',
  },
  ClassIsValid: { on: CLASS, type: 'Normal', means: 'What was wrong with the class is mended.' },
  UnknownField: {
    on: CLASS,
    type: 'Warning',
    means: 'Fields of the provider spec have no effect.',
    help: 'Correct their names, or take them out.',
  },
  InUse: {
    on: CLASS,
    type: 'Normal',
    means: 'The deletion of the class waits for machines, or for VMs that are kept.',
    help: 'Have them use another class, or delete them.',
  },
  CredentialsRefused: {
    on: CLASS,
    type: 'Warning',
    means: 'The cloud refuses the credentials of the class.',
    help: 'Correct the Secret that the message names; it is read again at once.',
  },
  CloudUnreachable: {
    on: CLASS,
    type: 'Warning',
    means: 'Nobody answers at the cloud’s address.',
    help: 'Look at region and endpoint, at DNS, proxies and network policies of the machine controller.',
  },
  CloudRefuses: {
    ...{
      on: CLASS,
      type: 'Warning',
      means: 'The cloud refuses calls because of a value of the class, such as an image that is gone.',
    },
    help: 'Correct the field that the message names, in a class of another name.',
  },
  CloudAnswers: { on: CLASS, type: 'Normal', means: 'The cloud takes calls for the class again.' },
  ListingFailed: {
    on: CLASS,
    type: 'Warning',
    means: 'The VMs of the class cannot be listed: orphans are not found.',
    help: 'Give the credentials the right to list; the message is the cloud’s.',
  },
  ListingWorks: { on: CLASS, type: 'Normal', means: 'The VMs of the class are listed again.' },
  ForeignVMs: {
    ...{
      on: CLASS,
      type: 'Warning',
      means: 'VMs with the tags of the class were made by another control cluster and are left alone.',
    },
    help: 'If this control cluster took the other’s place, name it in `--orphan-former-owners`.',
  },
  OrphanVM: {
    on: CLASS,
    type: 'Warning',
    means: 'A VM belongs to no machine; the message says what becomes of it.',
    help: 'Runbook McmOrphans.',
  },
  OrphanNode: {
    ...{
      on: ['Node'],
      type: 'Warning',
      means: 'A Node is left whose machine is gone; the message says what becomes of it.',
    },
    help: 'Runbook McmOrphans.',
  },
} as const satisfies Record<string, EventMeaning>;

/** Reason of an event. */
export type EventReason = keyof typeof EVENTS;
