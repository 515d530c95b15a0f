/** Stops a phase; the manager calls the stop functions once, in the reverse order of the starts. */
export type Stop = () => Promise<void> | void;

/** A named step in the start of a process. */
export interface Phase {
  readonly name: string;
  start(signal: AbortSignal, report: (detail: string) => void): Promise<Stop | undefined>;
}

/** The state of a phase. */
export type PhaseState = 'waiting' | 'starting' | 'started' | 'failed' | 'stopped';

/** The state of a phase, for health checks and logs. */
export interface PhaseStatus {
  readonly name: string;
  readonly state: PhaseState;
  readonly detail: string;
}
