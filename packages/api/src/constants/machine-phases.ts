/** The phases in `status.currentStatus.phase` of a machine; a new machine has no phase. */
export const MachinePhases = {
  Pending: 'Pending',
  /** The VM exists, but mcm has no target cluster. */
  Available: 'Available',
  Running: 'Running',
  /** The machine was Running, and its Node is now unhealthy or missing. */
  Unknown: 'Unknown',
  /** The creation, the join or the recovery took too long. */
  Failed: 'Failed',
  /** The creation or initialization failed and is retried. */
  CrashLoopBackOff: 'CrashLoopBackOff',
  Terminating: 'Terminating',
  InPlaceUpdating: 'InPlaceUpdating',
  InPlaceUpdateSuccessful: 'InPlaceUpdateSuccessful',
  /** The node reported a failed in-place update, or the update took too long. */
  InPlaceUpdateFailed: 'InPlaceUpdateFailed',
} as const;

/** Phase of a machine. */
export type MachinePhase = keyof typeof MachinePhases;

/** States in `lastOperation.state`. */
export const MachineStates = { Processing: 'Processing', Failed: 'Failed', Successful: 'Successful' } as const;

/** State of the last operation. */
export type MachineState = keyof typeof MachineStates;

/** The types in `lastOperation.type`; the original declares `Update` and never writes it. */
export const MachineOperationTypes = {
  Create: 'Create',
  Update: 'Update',
  InPlaceUpdate: 'InPlaceUpdate',
  DrainNode: 'DrainNode',
  HealthCheck: 'HealthCheck',
  Delete: 'Delete',
} as const;

/** Type of the last operation. */
export type MachineOperationType = keyof typeof MachineOperationTypes;

/** Values of the metric `mcm_machine_current_status_phase`. A phase without an entry has the metric value 0. */
export const PHASE_METRIC_VALUES: Readonly<Partial<Record<MachinePhase, number>>> = {
  Running: 1,
  Unknown: -1,
  CrashLoopBackOff: -2,
  Failed: -3,
  Terminating: -4,
};

const DELETION_RANKS: Readonly<Partial<Record<MachinePhase, number>>> = {
  Failed: 1,
  CrashLoopBackOff: 2,
  Unknown: 3,
  Pending: 4,
  Available: 5,
  Running: 6,
};

/**
 * Returns the rank of a phase for the order of deletions: mcm deletes machines with a lower rank first. A machine
 * without a phase, a Terminating machine and a machine in an in-place phase have rank 0. Source:
 * pkg/controller/controller_utils.go, ActiveMachines.Less.
 */
export const deletionRank = (phase: MachinePhase | undefined): number =>
  phase === undefined ? 0 : (DELETION_RANKS[phase] ?? 0);

/** Returns true for an active phase: every phase except Failed and Terminating. */
export const isActivePhase = (phase: MachinePhase | undefined): boolean =>
  phase !== 'Failed' && phase !== 'Terminating';

/** Returns true if a machine in this phase counts as an available replica. */
export const isAvailablePhase = (phase: MachinePhase | undefined): boolean =>
  phase === 'Available' || phase === 'Running';

/** Returns true if a machine in this phase counts as a ready replica. */
export const isReadyPhase = (phase: MachinePhase | undefined): boolean => phase === 'Running';
