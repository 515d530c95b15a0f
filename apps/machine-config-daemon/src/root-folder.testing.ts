import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** In memory where there is such a place: daemons flush every write, which disks of test machines are slow at. */
const PLACE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** A new folder that is a machine's root directory. */
export const rootFolder = (): Promise<string> => mkdtemp(join(PLACE, 'mcd-'));
