import { UnitRunner } from '@mcm/kube';
import { createControllers, DEFAULT_SETTINGS, type Environment, type ManagerSettings } from './controllers.ts';

/** A manager that runs in this process. */
export interface RunningManager {
  /** Returns true if no controller will have work within the next `withinMs` milliseconds (default 0). */
  idle(withinMs?: number): boolean;
  /** Writes the events that the recorder has delayed to combine them with similar events. */
  flush(): Promise<void>;
  /** Resolves when all controllers have stopped after the signal was aborted. */
  readonly ended: Promise<void>;
}

/** Runs the controllers of the manager in this process until the signal is aborted. */
export function runManager(
  environment: Environment,
  settings: Partial<ManagerSettings>,
  signal: AbortSignal,
): RunningManager {
  const controllers = createControllers(environment, { ...DEFAULT_SETTINGS, ...settings });
  const { clock, random, log } = environment.runtime;
  const runner = new UnitRunner({ units: controllers.units, clock, random, log });
  return { idle: controllers.idle, flush: controllers.flush, ended: runner.run(signal) };
}
