import { UnitRunner } from '@mcm/kube';
import { createControllers, DEFAULT_SETTINGS, type Environment, type ManagerSettings } from './controllers.ts';

/** A manager that runs in this process. */
export interface RunningManager {
  /** Returns true if no controller has work within `withinMs` (default 0). */
  idle(withinMs?: number): boolean;
  /** Writes the delayed events. */
  flush(): Promise<void>;
  /** Resolves when all work has ended after the signal aborted. */
  readonly ended: Promise<void>;
}

/**
 * Runs the controllers of the binary in this process until the signal aborts. The function uses no flags, no Lease and
 * no sockets, so that a simulation can run it with its own clock.
 */
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
