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
export interface PublicPackage {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** Every package that is not private. */
export function publicPackages(): readonly PublicPackage[] {
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

/** Packs a package into a folder. @returns the tarball's path */
export async function pack({ folder, manifest }: PublicPackage, into: string): Promise<string> {
  await run('npx', ['-y', 'pnpm@12', 'pack', '--pack-destination', into], { cwd: folder, maxBuffer: 1 << 26 });
  return join(into, `${manifest.name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`);
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
