import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** In memory if possible. The daemon flushes every write, which is slow on disks. */
const PARENT = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** Creates the root directory of a machine. */
export const rootFolder = (): Promise<string> => mkdtemp(join(PARENT, 'mcd-'));
