import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The folder is in memory if possible, because the daemon flushes every write and a disk flushes slowly. */
const PARENT = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

export const rootFolder = (): Promise<string> => mkdtemp(join(PARENT, 'mcd-'));
