import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** Returns the version of mcm, from the nearest `package.json` above this module or above the bundled program. */
export const version = (): string => {
  const path = findPackageJSON(import.meta.url);
  if (path === undefined)
    throw new Error('No parent folder of the mcm program contains a package.json: reinstall @mcm/cli');
  const manifest: unknown = JSON.parse(readFileSync(path, 'utf8'));
  return (manifest as { version: string }).version;
};
