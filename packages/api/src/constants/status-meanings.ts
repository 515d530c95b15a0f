import type { MachineCode } from '../wire/machine-codes.ts';
import type { DeletionStep } from '../wire/steps.ts';
import type { MachineOperationType, MachinePhase, MachineState } from './machine-phases.ts';

/** What a word in a Machine's status tells. */
export interface WordMeaning {
  readonly means: string;
  /** What an operator does; absent: nothing. */
  readonly help?: string;
}

/** Phases in `status.currentStatus.phase`. */
export const PHASE_MEANINGS: Readonly<Record<MachinePhase, WordMeaning>> = {
  Pending: {
    means: 'The VM is there and its node is awaited, until the creation timeout.',
    help: 'When it lasts: runbook McmMachinesDoNotJoin.',
  },
  Available: { means: 'The VM is there, and there is no target cluster that it could join.' },
  Running: { means: 'The node is healthy.' },
  Unknown: {
    means: 'The node was healthy and is not, or is gone. It may recover until the health timeout.',
    help: 'Look at the node; `mcm explain machine/NAME` says what speaks against it and until when.',
  },
  Failed: {
    means: 'It did not join or did not recover in time. Its set replaces it, unless it is preserved.',
    help: 'Runbook McmMachineFailed.',
  },
  CrashLoopBackOff: {
    means:
      'The cloud made no VM, or one that could not be made ready. It is tried again; after the creation timeout it is Failed.',
    help: 'Look up `status.lastOperation.errorCode` among the error codes.',
  },
  Terminating: {
    means: 'It is being deleted: drained, then the VM goes, then the Node.',
    help: 'When it lasts: runbook McmMachineTerminatingLong.',
  },
  InPlaceUpdating: { means: 'The node was emptied and its agent updates it, until the in-place update timeout.' },
  InPlaceUpdateSuccessful: { means: 'The agent says that the update succeeded; the machine moves to the new set.' },
  InPlaceUpdateFailed: {
    means: 'The agent says that the update failed, or nothing in time.',
    help: 'Correct the template, or `mcm rollout undo NAME`.',
  },
};

/** Types in `status.lastOperation.type`. */
export const OPERATION_MEANINGS: Readonly<Record<MachineOperationType, WordMeaning>> = {
  Create: { means: 'The VM is made and its node joins.' },
  Update: { means: 'Never written.' },
  InPlaceUpdate: { means: 'The node is updated in place.' },
  DrainNode: { means: 'The node is emptied and the machine stays: an update in place, or preservation.' },
  HealthCheck: { means: 'The conditions of the node were judged.' },
  Delete: { means: 'The machine is being deleted; `description` names the step.' },
};

/** States in `status.lastOperation.state`. */
export const STATE_MEANINGS: Readonly<Record<MachineState, WordMeaning>> = {
  Processing: { means: 'It goes on.' },
  Failed: {
    means: 'The last try failed; `description` says why, `errorCode` what kind of failure. It is tried again.',
  },
  Successful: { means: 'It is done.' },
};

/** Steps of a deletion, in order; each is found in `status.lastOperation.description` by its text. */
export const STEP_MEANINGS: Readonly<Record<DeletionStep, WordMeaning>> = {
  getVmStatus: { means: 'The cloud is asked for the VM.' },
  drain: {
    means: 'Pods go off the node.',
    help: '`mcm explain machine/NAME` names those that do not, and what helps.',
  },
  deleteVolumeAttachments: { means: 'What a forced drain left attached is let go.' },
  deleteVm: {
    means: 'The cloud is told to delete the VM.',
    help: 'When it fails: look up the code among the error codes.',
  },
  deleteNode: { means: 'The Node object is deleted.' },
  removeFinalizer: { means: 'Nothing is left: the Machine goes.' },
};

/** Codes in `status.lastOperation.errorCode`. */
export const CODE_MEANINGS: Readonly<Record<MachineCode, WordMeaning>> = {
  OK: { means: 'No error; never thrown.' },
  Canceled: { means: 'The call was broken off, as when the controller ends.' },
  Unknown: {
    means: 'The cloud said what the driver cannot place.',
    help: 'Read the message. If it lasts, report it with a debug bundle: the driver should know it.',
  },
  InvalidArgument: {
    means: 'A value of the class or its Secret cannot be.',
    help: 'Correct the field that the message names, in a class of another name.',
  },
  DeadlineExceeded: { means: 'The cloud did not answer in time.', help: 'If it lasts: runbook McmCloudCallsFail.' },
  NotFound: {
    means:
      'On creation: what the class names, such as an image or a network, is not there. On deletion: the VM is gone, which is well.',
    help: 'Correct the name in a class of another name.',
  },
  AlreadyExists: {
    means: 'Something of that name is there and is not the machine’s.',
    help: 'Look who made it; delete it or wait until it goes.',
  },
  PermissionDenied: {
    means: 'The credentials are right and may not do this.',
    help: 'Grant the right that the message names; the page of the provider lists those it needs.',
  },
  ResourceExhausted: {
    means: 'The cloud has no capacity of this type in this zone, or a quota is used up.',
    help: 'How-to “A zone has no capacity”.',
  },
  FailedPrecondition: {
    means: 'The state of something in the cloud does not allow it.',
    help: 'Mend what the message names.',
  },
  Aborted: { means: 'The cloud broke it off, as when two calls meet.' },
  OutOfRange: {
    means: 'Several VMs bear the name of one machine. Those that are not on its record go as orphans.',
    help: 'Runbook McmOrphans.',
  },
  Unimplemented: { means: 'The driver cannot do this.', help: 'Use what the page of the provider lists.' },
  Internal: {
    means: 'The cloud failed, or gave an answer that cannot be.',
    help: 'If it lasts: runbook McmCloudCallsFail.',
  },
  Unavailable: {
    means: 'The cloud cannot be reached, or asks for fewer calls.',
    help: 'If it lasts: runbook McmCloudCallsFail.',
  },
  DataLoss: { means: 'The cloud lost what it had.', help: 'Ask the cloud.' },
  Unauthenticated: {
    means: 'The cloud does not take the credentials.',
    help: 'How-to “Rotate the credentials of a cloud”.',
  },
  Uninitialized: { means: 'The VM is there and its initialisation is not done.' },
};
