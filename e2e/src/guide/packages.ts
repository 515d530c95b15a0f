import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../docs/sources.ts';

const run = promisify(execFile);

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly files?: readonly string[];
  readonly type?: string;
  readonly bin?: Readonly<Record<string, string>>;
}

/** A package of the workspace that is published. */
interface PublicPackage {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** Every package that is not private. */
function publicPackages(): readonly PublicPackage[] {
  return ['packages', 'providers', 'apps'].flatMap((room) =>
    readdirSync(join(ROOT, room))
      .map((name) => join(ROOT, room, name))
      .filter((folder) => existsSync(join(folder, 'package.json')))
      .map((folder) => ({
        folder,
        manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest,
      }))
      .filter(({ manifest }) => !manifest.private),
  );
}

/** Builds all public packages, as a release does. */
export const build = async (): Promise<void> => {
  await run('npx', ['-y', 'pnpm@12', 'build'], { cwd: ROOT, maxBuffer: 1 << 26 });
};

/** Packs all public packages into a folder. @returns paths of the tarballs */
export async function packAll(into: string): Promise<readonly string[]> {
  const rooms = ['packages', 'providers', 'apps'].flatMap((room) => ['--filter', `./${room}/*`]);
  await run('npx', ['-y', 'pnpm@12', ...rooms, 'pack', '--pack-destination', into], { cwd: ROOT, maxBuffer: 1 << 26 });
  return publicPackages().map(({ manifest: { name, version } }) =>
    join(into, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`),
  );
}

/** Text of a file in a tarball. */
export async function fileIn(tarball: string, path: string): Promise<string> {
  const { stdout } = await run('tar', ['-xzOf', tarball, `package/${path}`], { maxBuffer: 1 << 26 });
  return stdout;
}

/** Paths in a tarball. */
export async function filesIn(tarball: string): Promise<readonly string[]> {
  const { stdout } = await run('tar', ['-tzf', tarball], { maxBuffer: 1 << 26 });
  return stdout
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''));
}
