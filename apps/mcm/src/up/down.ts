import { realClock, sleep } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import { inspectDataDir } from '../instance/data-dir.ts';

const WAIT_MS = 20_000;
const LOOK_EVERY_MS = 100;

/**
 * Stops the `mcm up` of a data directory, and waits until the process has ended.
 * @returns false if no `mcm up` uses the directory
 * @throws {UserError} if the process does not end in time, or belongs to another user
 */
export async function down(dataDir: string): Promise<boolean> {
  const found = inspectDataDir(dataDir);
  if (!found?.running) return false;
  const { pid } = found.state;
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    throw new UserError(
      `cannot stop process ${pid} of ${dataDir}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  // No event occurs when a lock is released, so the command checks the lock at an interval.
  for (let waited = 0; waited < WAIT_MS; waited += LOOK_EVERY_MS) {
    if (!inspectDataDir(dataDir)?.running) return true;
    await sleep(realClock, LOOK_EVERY_MS);
  }
  throw new UserError(`process ${pid} of ${dataDir} still runs after ${WAIT_MS / 1000} s`);
}
