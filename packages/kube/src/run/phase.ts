/** Undoes a start; called once, in the reverse order of the starts. */
export type Stop = () => Promise<void> | void;

/** One named step of a start-up. */
export interface Phase {
  readonly name: string;
  /**
   * Resolves when the next phase may start, with what undoes this one. Must end soon when the signal aborts. What it
   * says through `report` is shown until it has started.
   */
  start(signal: AbortSignal, report: (detail: string) => void): Promise<Stop | undefined>;
}

/** How far a phase has come. */
export type PhaseState = 'waiting' | 'starting' | 'started' | 'failed' | 'stopped';

/** How far a phase has come, as health checks and logs tell it. */
export interface PhaseStatus {
  readonly name: string;
  readonly state: PhaseState;
  readonly detail: string;
}
