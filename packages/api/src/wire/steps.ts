/**
 * The steps of a deletion. The original searches a description for the texts of the steps in this order, and uses the
 * first text that it finds. Source: machine-controller-manager, pkg/util/provider/machinecontroller/machine.go,
 * triggerDeletionFlow.
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

/**
 * The text of each step in `lastOperation.description`. The texts must not change, because stored objects contain the
 * texts.
 */
export const STEP_TEXTS: Readonly<Record<DeletionStep, string>> = {
  getVmStatus: 'Set machine status to termination. Now, getting VM Status',
  drain: 'Initiate node drain',
  deleteVolumeAttachments: 'Delete Volume Attachments',
  deleteVm: 'Initiate VM deletion',
  deleteNode: 'Initiate node object deletion',
  removeFinalizer: 'Initiate machine object finalizer removal',
};

/** Texts in `lastOperation.description` that are not texts of steps. */
export const DescriptionTexts = {
  /** Ends the description of a failed initialization. */
  InstanceInitialization: 'Initialize VM Instance',
  /** Ends the description of a successful drain for an in-place update. */
  NodeReadyForUpdate: 'Node drain successful. Node is ready for update',
  /** Starts the description of a failed creation, before the machine error. */
  CloudProviderMessage: 'Cloud provider message - ',
} as const;

/**
 * Returns the description of a step.
 *
 * A message of the cloud may contain the text of a step. If `note` contains the text of a step, the first letter of
 * that text becomes a small letter, so parsers ignore it.
 * @param note the last result as a sentence, which precedes the text of the step.
 */
export const printStep = (step: DeletionStep, note = ''): string =>
  `${withoutSteps(note)} ${STEP_TEXTS[step]}`.trimStart();

const withoutSteps = (note: string): string =>
  DELETION_STEPS.reduce((text, step) => text.replaceAll(STEP_TEXTS[step], lowerFirst(STEP_TEXTS[step])), note);

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/**
 * Returns the step of a deletion that a description contains.
 * @returns undefined if the description contains no step, so that the deletion starts again at `getVmStatus`
 */
export const parseStep = (description: string | undefined): DeletionStep | undefined =>
  DELETION_STEPS.find((step) => description?.includes(STEP_TEXTS[step]));

/** Returns true if a description says that several VMs belong to one machine. */
export const saysOutOfRange = (description: string | undefined): boolean =>
  description?.includes('OutOfRange') ?? false;
