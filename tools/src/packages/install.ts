import { execFile } from 'node:child_process';
import { mkdir, realpath, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../root.ts';
import { type PublicPackage, readManifest } from './packages.ts';

const run = promisify(execFile);

const link = async (from: string, to: string): Promise<void> => {
  await mkdir(dirname(to), { recursive: true });
  await symlink(from, to);
};

/**
 * Installs tarballs into an empty folder, as pnpm does. Each package is in its own folder, with only its declared
 * dependencies. Third-party packages come from this repository, so no registry is needed.
 *
 * @returns the folder of each package by its name.
 */
export async function install(
  packages: readonly PublicPackage[],
  tarballs: ReadonlyMap<string, string>,
  into: string,
): Promise<ReadonlyMap<string, string>> {
  const placeOf = (name: string): string => join(into, 'node_modules/.store', name.replace('/', '+'), 'node_modules');
  const homes = new Map(packages.map(({ manifest: { name } }) => [name, join(placeOf(name), name)]));
  for (const [name, home] of homes) {
    await mkdir(home, { recursive: true });
    await run('tar', ['-xzf', tarballs.get(name) ?? '', '-C', home, '--strip-components=1']);
    await link(home, join(into, 'node_modules', name));
  }
  for (const { folder, manifest } of packages) {
    const home = homes.get(manifest.name) ?? '';
    // Reads the package.json of the tarball, because it differs from the package.json in the repository.
    for (const name of Object.keys((await readManifest(home)).dependencies ?? {})) {
      const there = homes.get(name) ?? (await realpath(join(folder, 'node_modules', name)));
      await link(there, join(placeOf(manifest.name), name));
    }
  }
  await link(await realpath(join(ROOT, 'node_modules/@types/node')), join(into, 'node_modules/@types/node'));
  return homes;
}
