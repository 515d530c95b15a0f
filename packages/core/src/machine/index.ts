export { BIRTH_STAGES, type BirthStage, birthStages } from './birth-stages.ts';
export { complaintsOf } from './complaints.ts';
export { ailmentsOf, isHealthy } from './conditions.ts';
export { nextStep } from './next-step.ts';
export type { CallKind, CallOutcome, MachineObservation } from './observation.ts';
export type { Action, Plan } from './plan.ts';
export { CALL_RETRIES } from './retry.ts';
export { MACHINE_DEFAULTS, type MachineDefaults, type MachineSettings, settingsOf } from './settings.ts';
export { asksForToken, renderUserData } from './user-data.ts';
