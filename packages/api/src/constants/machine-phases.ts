/** Phases in `Machine.status.currentStatus.phase`; a new machine has none. */
export const MachinePhases = {
  /** The VM exists; its node is awaited. */
  Pending: 'Pending',
  /** The VM exists and there is no target cluster: the final phase of a healthy machine. */
  Available: 'Available',
  /** The node is healthy. */
  Running: 'Running',
  /** Was Running; its node is unhealthy or missing. */
  Unknown: 'Unknown',
  /** Creation, health or join timed out. */
  Failed: 'Failed',
  /** Creation or initialization failed and is tried again. */
  CrashLoopBackOff: 'CrashLoopBackOff',
  /** Deletion has begun. */
  Terminating: 'Terminating',
  /** Drained for an in-place update, which runs. */
  InPlaceUpdating: 'InPlaceUpdating',
  /** The node reported a successful in-place update. */
  InPlaceUpdateSuccessful: 'InPlaceUpdateSuccessful',
  /** The node reported a failed in-place update, or it took too long. */
  InPlaceUpdateFailed: 'InPlaceUpdateFailed',
} as const;

/** Phase of a machine. */
export type MachinePhase = keyof typeof MachinePhases;

/** States in `lastOperation.state`. */
export const MachineStates = { Processing: 'Processing', Failed: 'Failed', Successful: 'Successful' } as const;

/** State of the last operation. */
export type MachineState = keyof typeof MachineStates;

/** Types in `lastOperation.type`. `Update` is declared by the original and never written. */
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

/** Value of the metric `mcm_machine_current_status_phase`; a phase that is not listed counts as 0. */
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
 * Rank in a scale-down: the machine with the lower rank goes first. No phase, Terminating and the in-place
 * phases are 0. Source: pkg/controller/controller_utils.go, ActiveMachines.Less (a map without those keys).
 */
export const deletionRank = (phase: MachinePhase | undefined): number =>
  phase === undefined ? 0 : (DELETION_RANKS[phase] ?? 0);

/** Whether configuration is synced to the machine: every phase but Failed and Terminating. */
export const isActivePhase = (phase: MachinePhase | undefined): boolean =>
  phase !== 'Failed' && phase !== 'Terminating';

/** Whether the machine counts as an available replica. */
export const isAvailablePhase = (phase: MachinePhase | undefined): boolean =>
  phase === 'Available' || phase === 'Running';

/** Whether the machine counts as a ready replica. */
export const isReadyPhase = (phase: MachinePhase | undefined): boolean => phase === 'Running';
