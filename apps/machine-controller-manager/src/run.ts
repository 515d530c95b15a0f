import { UnitRunner } from '@mcm/kube';
import { createControllers, DEFAULT_SETTINGS, type ManagerSettings, type Surroundings } from './controllers.ts';

/** A manager that runs in this process. */
export interface RunningManager {
  /** True when no controller has anything to do within `withinMs` (default 0). */
  idle(withinMs?: number): boolean;
  /** Writes the events that wait. */
  flush(): Promise<void>;
  /** Resolves when everything has ended after the signal aborted. */
  readonly ended: Promise<void>;
}

/**
 * Runs the controllers of the binary in this process until the signal aborts: no flags, no Lease, no sockets, so that
 * a simulation has them on its own clock.
 */
export function runManager(
  surroundings: Surroundings,
  settings: Partial<ManagerSettings>,
  signal: AbortSignal,
): RunningManager {
  const controllers = createControllers(surroundings, { ...DEFAULT_SETTINGS, ...settings });
  const { clock, random, log } = surroundings.runtime;
  const runner = new UnitRunner({ units: controllers.units, clock, random, log });
  return { idle: controllers.idle, flush: controllers.flush, ended: runner.run(signal) };
}
