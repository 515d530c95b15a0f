/** Stops a phase. The manager calls the function once, in the reverse order of the starts. */
export type Stop = () => Promise<void> | void;

/** One named step of a start-up. */
export interface Phase {
  readonly name: string;
  /**
   * Starts the phase, and returns a function that stops the phase. The start must end soon after the signal aborts. The
   * status shows the text of `report` during the start.
   */
  start(signal: AbortSignal, report: (detail: string) => void): Promise<Stop | undefined>;
}

/** The state of a phase. */
export type PhaseState = 'waiting' | 'starting' | 'started' | 'failed' | 'stopped';

/** The status of a phase for health checks and logs. */
export interface PhaseStatus {
  readonly name: string;
  readonly state: PhaseState;
  readonly detail: string;
}
