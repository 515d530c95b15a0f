import { execFile } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../root.ts';

const run = promisify(execFile);

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly license?: string;
  readonly engines?: { readonly node?: string };
  readonly type?: string;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export interface PublicPackage {
  readonly folder: string;
  readonly manifest: Manifest;
}

export const readManifest = async (folder: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;

export async function publicPackages(): Promise<readonly PublicPackage[]> {
  const found: PublicPackage[] = [];
  for (const room of ['packages', 'providers', 'apps']) {
    for (const name of (await readdir(join(ROOT, room))).sort()) {
      const folder = join(ROOT, room, name);
      const manifest = await readManifest(folder);
      if (!manifest.private) found.push({ folder, manifest });
    }
  }
  return inOrder(found);
}

function inOrder(all: readonly PublicPackage[]): readonly PublicPackage[] {
  const byName = new Map(all.map((one) => [one.manifest.name, one]));
  const done = new Set<PublicPackage>();
  const visit = (one: PublicPackage, path: readonly string[]): void => {
    const { name, dependencies = {} } = one.manifest;
    if (path.includes(name)) throw new Error(`packages depend on each other: ${[...path, name].join(' → ')}`);
    if (done.has(one)) return;
    for (const dependency of Object.keys(dependencies)) {
      const needed = byName.get(dependency);
      if (needed) visit(needed, [...path, name]);
    }
    done.add(one);
  };
  for (const one of all) visit(one, []);
  return [...done];
}

/** Removes the earlier output of packages and builds them, as a release does. */
export async function buildPackages(packages: readonly PublicPackage[]): Promise<void> {
  for (const { folder } of packages) await rm(join(folder, 'dist'), { recursive: true, force: true });
  for (const { folder } of packages) {
    await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.build.json', '--checkers', '1'], { cwd: folder });
  }
}

export async function packAll(packages: readonly PublicPackage[], into: string): Promise<ReadonlyMap<string, string>> {
  await run('npx', ['-y', 'pnpm@12.21.0', '-r', 'pack', '--pack-destination', into], { cwd: ROOT, maxBuffer: 1 << 26 });
  const fileOf = ({ name, version }: Manifest): string => `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
  return new Map(packages.map(({ manifest }) => [manifest.name, join(into, fileOf(manifest))]));
}
