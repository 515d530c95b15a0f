import { join, resolve } from 'node:path';
import { parseTime } from '@mcm/api';
import { UserError } from '../command/errors.ts';
import type { ControllerHealth } from '../controllers/health.ts';
import { CONTROL_PLANE, type SilentProgram, silentHealth } from '../controllers/programs.ts';
import { age } from '../output/age.ts';
import { inspectDataDir, readState } from './data-dir.ts';

export interface LocalInstance {
  readonly pid: number;
  readonly silent: readonly SilentProgram[];
}

export const isOfDataDir = (files: readonly string[], dataDir: string): boolean =>
  files.every((file) => resolve(file) === resolve(join(dataDir, 'kubeconfig')));

/** Returns the running `mcm up` that uses a data directory. */
export function runningInstance(dataDir: string): LocalInstance | undefined {
  try {
    const found = inspectDataDir(dataDir);
    return found?.running ? { pid: found.state.pid, silent: found.state.silent ?? [] } : undefined;
  } catch (error) {
    // If another version of mcm wrote the state, this version cannot read the state. The kubeconfig is still valid, so
    // the command continues.
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

/**
 * Returns the programs of the local instance that do not respond. The lock of an instance is checked only if a program
 * does not respond, because the check could delay the start of an instance.
 */
export function silentProgramsOf(dataDir: string): readonly ControllerHealth[] {
  if (!hasSilence(dataDir)) return [];
  return (runningInstance(dataDir)?.silent ?? []).map(silentHealth);
}

function hasSilence(dataDir: string): boolean {
  try {
    return (readState(resolve(dataDir))?.silent ?? []).length > 0;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}

/** Returns a text about a local instance whose control plane does not respond. */
export function silenceText(instance: LocalInstance | undefined, now: Date): string {
  if (instance === undefined) return 'the local instance is not running; start the instance with: mcm up';
  const known = instance.silent.find(({ name }) => name === CONTROL_PLANE);
  const at = parseTime(known?.since);
  const since =
    at === undefined ? '' : `. The last response was at ${known?.since} (${age(now.getTime() - at.getTime())} ago)`;
  const restart = known?.pid === undefined ? '' : `. To restart the process, run: kill -9 ${known.pid}`;
  return `the program ${CONTROL_PLANE} of the running instance (process ${instance.pid}) does not respond, so all controllers are stopped${since}${restart}`;
}
