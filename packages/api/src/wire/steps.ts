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

/** The text of a step in `lastOperation.description`. It is stored data and must not change. */
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
  /** Appended to the description of a failed initialization. */
  InstanceInitialization: 'Initialize VM Instance',
  /** Appended to the description of a successful drain for an in-place update. */
  NodeReadyForUpdate: 'Node drain successful. Node is ready for update',
  /** Start of the description of a failed creation; the machine error's text follows. */
  CloudProviderMessage: 'Cloud provider message - ',
} as const;

/**
 * The description that carries a step.
 *
 * A note may quote the text of a step, for example from a cloud, and would then be read as that step. This text gets a lower-case first
 * letter, so that the step can be read back.
 * @param note the last result as a sentence, which precedes the text of the step
 */
export const printStep = (step: DeletionStep, note = ''): string =>
  `${withoutSteps(note)} ${STEP_TEXTS[step]}`.trimStart();

const withoutSteps = (note: string): string =>
  DELETION_STEPS.reduce((text, step) => text.replaceAll(STEP_TEXTS[step], lowerFirst(STEP_TEXTS[step])), note);

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/**
 * The step that a description carries.
 * @returns undefined if it carries none: the deletion starts again at `getVmStatus`
 */
export const parseStep = (description: string | undefined): DeletionStep | undefined =>
  DELETION_STEPS.find((step) => description?.includes(STEP_TEXTS[step]));

/** Whether a description says that several VMs match one machine: the orphan sweep is due at once. */
export const saysOutOfRange = (description: string | undefined): boolean =>
  description?.includes('OutOfRange') ?? false;
