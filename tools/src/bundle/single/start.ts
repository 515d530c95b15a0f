import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { getAsset, getRawAsset } from 'node:sea';
import { gunzipSync } from 'node:zlib';
import { unpackFiles } from './pack.ts';

// The module that runs first in the single executable file of mcm. The programs of mcm read files and start each other,
// so their files must exist on disk. At its first start, the executable writes all programs to the cache folder of the
// user.

function cacheFolder(): string {
  if (process.platform === 'win32') return process.env.LOCALAPPDATA ?? join(homedir(), 'AppData/Local');
  return process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
}

/**
 * Writes the programs into a new folder and renames the folder, so that two simultaneous first starts do not disturb
 * each other.
 */
function writePrograms(root: string): void {
  mkdirSync(dirname(root), { recursive: true, mode: 0o700 });
  const work = mkdtempSync(`${root}-`);
  for (const { path, data } of unpackFiles(gunzipSync(Buffer.from(getRawAsset('programs'))))) {
    const file = join(work, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, data);
  }
  try {
    renameSync(work, root);
  } catch (error) {
    rmSync(work, { recursive: true, force: true });
    if (!existsSync(root)) throw error;
  }
}

const root = join(cacheFolder(), 'mcm', getAsset('digest', 'utf8').slice(0, 16));
const given = process.argv.slice(2);
try {
  if (!existsSync(root)) writePrograms(root);
  const [first = ''] = given;
  // `mcm up` starts each program by a file path and runs the single executable as Node.js.
  const isProgram = first.startsWith(root) && first.endsWith('main.js');
  const program = isProgram ? first : join(root, 'mcm/dist/main.js');
  process.argv = [process.execPath, program, ...(isProgram ? given.slice(1) : given)];
  createRequire(program)(program);
} catch (error) {
  const cause = error instanceof Error ? error.message : String(error);
  process.stderr.write(`mcm: cannot start from ${root}: ${cause}; set XDG_CACHE_HOME to a writable directory\n`);
  process.exitCode = 1;
}
