import type { MachineCode } from '../wire/machine-codes.ts';
import type { DeletionStep } from '../wire/steps.ts';
import type { MachineOperationType, MachinePhase, MachineState } from './machine-phases.ts';

/** The meaning of one value in the status of a Machine. */
export interface WordMeaning {
  readonly means: string;
  /** The action for an operator, or absent if no action is necessary. */
  readonly help?: string;
}

/** Meanings of the phases in `status.currentStatus.phase`. */
export const PHASE_MEANINGS: Readonly<Record<MachinePhase, WordMeaning>> = {
  Pending: {
    means: 'The VM of the machine exists, and its node must join within the creation timeout.',
    help: 'If the node does not join, follow the runbook McmMachinesDoNotJoin.',
  },
  Available: {
    means: 'The VM exists, but mcm has no target cluster, or the machine is warm and its VM is stopped.',
  },
  Running: { means: 'The node of the machine is healthy.' },
  Unknown: {
    means:
      'The node of the machine is no longer healthy, or no longer exists. The machine can recover within the health timeout.',
    help: 'Check the node. `mcm explain machine/NAME` shows the unhealthy condition and the end of the health timeout.',
  },
  Failed: {
    means:
      'The machine did not join or did not recover in time. The MachineSet replaces the machine, unless the machine is preserved.',
    help: 'Runbook McmMachineFailed.',
  },
  CrashLoopBackOff: {
    means:
      'The cloud did not create the VM, or the initialization of the VM failed. The machine controller retries until the creation timeout. After the creation timeout, the machine is Failed.',
    help: 'Look up `status.lastOperation.errorCode` in the reference of error codes.',
  },
  Terminating: {
    means: 'The machine is being deleted. The controller drains the node, deletes the VM and deletes the Node.',
    help: 'If the deletion takes long, follow the runbook McmMachineTerminatingLong.',
  },
  InPlaceUpdating: {
    means: 'The node was drained, and its agent must update the node within the in-place update timeout.',
  },
  InPlaceUpdateSuccessful: {
    means: 'The agent reported a successful update. The manager moves the machine to the new MachineSet.',
  },
  InPlaceUpdateFailed: {
    means: 'The agent of the node reported a failed update, or no result within the in-place update timeout.',
    help: 'Correct the template, or run `mcm rollout undo NAME`.',
  },
};

/** Meanings of the types in `status.lastOperation.type`. */
export const OPERATION_MEANINGS: Readonly<Record<MachineOperationType, WordMeaning>> = {
  Create: { means: 'The controller creates the VM of the machine, and the node joins.' },
  Update: { means: 'Not used.' },
  InPlaceUpdate: { means: 'The agent updates the node of the machine in place.' },
  DrainNode: {
    means: 'The controller drains the node for an update in place or a preservation, and keeps the machine.',
  },
  HealthCheck: { means: 'The machine controller checked the conditions of the node.' },
  Delete: { means: 'The machine is being deleted. The field `description` contains the current step of the deletion.' },
};

/** Meanings of the states in `status.lastOperation.state`. */
export const STATE_MEANINGS: Readonly<Record<MachineState, WordMeaning>> = {
  Processing: { means: 'The operation on the machine is in progress.' },
  Failed: {
    means:
      'The most recent attempt of the operation failed. In `status.lastOperation`, `description` contains the reason. For a creation, `errorCode` contains the error code. The controller retries the operation.',
  },
  Successful: { means: 'The operation on the machine is complete.' },
};

/**
 * Meanings of the steps of a deletion, in the order of the steps. The text of a deletion step occurs in
 * `status.lastOperation.description`.
 */
export const STEP_MEANINGS: Readonly<Record<DeletionStep, WordMeaning>> = {
  getVmStatus: { means: 'The controller requests the state of the VM from the cloud.' },
  drain: {
    means: 'The controller evicts the pods of the node.',
    help: '`mcm explain machine/NAME` shows the blocked pods and the fix.',
  },
  deleteVolumeAttachments: { means: 'The controller deletes the VolumeAttachments that remain after a forced drain.' },
  deleteVm: {
    means: 'The controller requests the deletion of the VM.',
    help: 'If the deletion fails, `description` contains an error code. Look up the code in the reference of error codes.',
  },
  deleteNode: { means: 'The controller deletes the Node object.' },
  removeFinalizer: { means: 'The controller removes the finalizer, so the Machine is deleted.' },
};

/** Meanings of the codes in `status.lastOperation.errorCode`. */
export const CODE_MEANINGS: Readonly<Record<MachineCode, WordMeaning>> = {
  OK: { means: 'No error.' },
  Canceled: { means: 'The controller canceled the call to the cloud, for example because the controller stops.' },
  Unknown: {
    means: 'The cloud returned an unknown error.',
    help: 'Read the message of the error. If the error repeats, report the error with a debug bundle.',
  },
  InvalidArgument: {
    means: 'A value of the class or of its Secret is invalid.',
    help: 'Create a class with another name, and correct the field that the error names.',
  },
  DeadlineExceeded: {
    means: 'The cloud did not respond to the call in time.',
    help: 'If the error repeats, follow the runbook McmCloudCallsFail.',
  },
  NotFound: {
    means:
      'For a creation: a resource of the class, such as an image or a network, does not exist. For a deletion: the VM no longer exists, so the deletion is complete.',
    help: 'Create a class with another name and an existing resource.',
  },
  AlreadyExists: {
    means: 'The cloud has a resource with the name of the machine, but the resource belongs to another owner.',
    help: 'Find the owner of the resource. Delete the conflicting resource, or wait until the cloud has deleted the resource.',
  },
  PermissionDenied: {
    means: 'The credentials of the class are valid, but lack a permission.',
    help: 'Grant the permission that the error names. The page of the provider lists all permissions, for example providers/aws.',
  },
  ResourceExhausted: {
    means: 'The cloud has no capacity for the machine type in the zone, or a quota is exceeded.',
    help: 'See the how-to “A zone has no capacity”.',
  },
  FailedPrecondition: {
    means: 'The cloud refuses the call, because a resource is in the wrong state.',
    help: 'Fix the cause that the error names.',
  },
  Aborted: { means: 'The cloud aborted the call, for example because of another call for the same resource.' },
  OutOfRange: {
    means: 'Several VMs have the name of one machine. The machine controller deletes the other VMs as orphans.',
    help: 'Runbook McmOrphans.',
  },
  Unimplemented: {
    means: 'The driver of the provider does not support the call.',
    help: 'Use only features that the page of the provider lists.',
  },
  Internal: {
    means:
      'The cloud reported an internal error, or its response is invalid. As in the original, the drivers of the clouds also use `Internal` for refused credentials.',
    help: 'If the error repeats, follow the runbook McmCloudCallsFail.',
  },
  Unavailable: {
    means: 'The API of the cloud is unreachable, or throttles the calls of the controller.',
    help: 'If the error repeats, follow the runbook McmCloudCallsFail.',
  },
  DataLoss: { means: 'The cloud reports a loss of data.', help: 'Contact the cloud provider.' },
  Unauthenticated: {
    means: 'The cloud refuses the credentials of the class.',
    help: 'See the how-to “Rotate the credentials of a cloud”.',
  },
  Uninitialized: { means: 'The VM exists, but its initialization is not complete.' },
};
