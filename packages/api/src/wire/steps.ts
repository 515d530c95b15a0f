/**
 * The steps of a machine's deletion, in the order in which the original looks for their texts: the first found wins.
 * Source: machine-controller-manager, pkg/util/provider/machinecontroller/machine.go, triggerDeletionFlow.
 */
export const DELETION_STEPS = [
  'getVmStatus',
  'drain',
  'deleteVolumeAttachments',
  'deleteVm',
  'deleteNode',
  'removeFinalizer',
] as const;

/** A step of a machine's deletion. */
export type DeletionStep = (typeof DELETION_STEPS)[number];

/** What stands for a step in `lastOperation.description`: stored data, exact to the byte. */
export const STEP_TEXTS: Readonly<Record<DeletionStep, string>> = {
  getVmStatus: 'Set machine status to termination. Now, getting VM Status',
  drain: 'Initiate node drain',
  deleteVolumeAttachments: 'Delete Volume Attachments',
  deleteVm: 'Initiate VM deletion',
  deleteNode: 'Initiate node object deletion',
  removeFinalizer: 'Initiate machine object finalizer removal',
};

/** Other texts that descriptions carry. */
export const DescriptionTexts = {
  /** Appended to the description of a failed initialisation. */
  InstanceInitialization: 'Initialize VM Instance',
  /** Appended to the description of a successful drain for an in-place update. */
  NodeReadyForUpdate: 'Node drain successful. Node is ready for update',
  /** Start of the description of a failed creation; the machine error's text follows. */
  CloudProviderMessage: 'Cloud provider message - ',
} as const;
