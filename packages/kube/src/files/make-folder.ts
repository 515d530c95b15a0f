import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);

/** @throws the error of the operating system */
function makeOne(folder: string, mode: number): boolean {
  try {
    mkdirSync(folder, { mode });
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  if (statSync(folder).isDirectory()) return false;
  throw Object.assign(new Error(`${folder} is not a folder`), { code: 'ENOTDIR' });
}

/**
 * Creates a folder and its parents, and returns the first created folder. With the option `recursive`, `mkdir` of
 * Node.js never returns for a folder that the operating system refuses with ENOENT, such as `/proc/x`.
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
