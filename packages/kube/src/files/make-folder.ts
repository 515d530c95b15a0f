import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);

/** True when it was made, false when it was there already. Throws what the system says. */
function makeOne(folder: string, mode: number): boolean {
  try {
    mkdirSync(folder, { mode });
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  if (statSync(folder).isDirectory()) return false;
  throw Object.assign(new Error(`${folder} is no folder`), { code: 'ENOTDIR' });
}

/**
 * Makes a folder and those above it. Returns the first that it made, undefined
 * when all were there. Throws what the system says. `recursive` of Node's own never ends where the system has the folder
 * above and yet knows of no such place (`/proc`).
 */
export function makeFolder(path: string, mode = 0o777): string | undefined {
  const folder = resolve(path);
  try {
    return makeOne(folder, mode) ? folder : undefined;
  } catch (error) {
    const above = dirname(folder);
    if (codeOf(error) !== 'ENOENT' || above === folder) throw error;
    const first = makeFolder(above, mode);
    return makeOne(folder, mode) ? (first ?? folder) : first;
  }
}
