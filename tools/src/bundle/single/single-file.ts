import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { ROOT } from '../../root.ts';
import { packFiles } from './pack.ts';

const run = promisify(execFile);

/** When a program is added to the binary, the build tool changes the marker. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

export interface Platform {
  readonly os: string;
  readonly arch: string;
}

const GO_OS: Readonly<Record<string, string>> = { win32: 'windows' };
const GO_ARCH: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** Returns the platform of a Node.js binary in the names that Go and krew use. */
export const platformOf = (os: string, arch: string): Platform => ({
  os: GO_OS[os] ?? os,
  arch: GO_ARCH[arch] ?? arch,
});

async function filesOf(bundles: string): Promise<readonly { readonly path: string; readonly data: Buffer }[]> {
  const entries = await readdir(bundles, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.map'));
  const sorted = paths.map((entry) => join(entry.parentPath, entry.name)).toSorted();
  return Promise.all(
    sorted.map(async (path) => ({
      path: relative(bundles, path).replaceAll('\\', '/'),
      data: await readFile(path),
    })),
  );
}

/**
 * Writes Node.js and all programs as one executable file with the name `mcm`.
 * @param bundles The folder of all bundled programs.
 * @param node The Node.js binary for this platform.
 * @returns the path of the executable file.
 */
export async function writeSingleFile(bundles: string, into: string, node: string): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), 'mcm-single-'));
  try {
    const packed = packFiles(await filesOf(bundles));
    const digest = createHash('sha256').update(packed).digest('hex');
    const [programs, start, config, blob] = ['programs.gz', 'start.cjs', 'config.json', 'blob'].map((name) =>
      join(work, name),
    ) as [string, string, string, string];
    await writeFile(programs, gzipSync(packed));
    await writeFile(join(work, 'digest'), digest);
    await build({
      absWorkingDir: ROOT,
      entryPoints: ['tools/src/bundle/single/start.ts'],
      outfile: start,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      target: 'node22',
      logLevel: 'silent',
    });
    const settings = {
      main: start,
      output: blob,
      disableExperimentalSEAWarning: true,
      useCodeCache: false,
      useSnapshot: false,
      assets: { programs, digest: join(work, 'digest') },
    };
    await writeFile(config, JSON.stringify(settings));
    await run(node, ['--experimental-sea-config', config]);
    await mkdir(into, { recursive: true });
    const file = join(into, process.platform === 'win32' ? 'mcm.exe' : 'mcm');
    await rm(file, { force: true });
    await copyFile(node, file);
    await chmod(file, 0o755);
    await inject(file, blob);
    return file;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * Adds a packed program to the Node.js binary. On macOS, the changed binary is signed again, because macOS refuses a
 * binary with a wrong signature.
 */
async function inject(file: string, blob: string): Promise<void> {
  const isMac = process.platform === 'darwin';
  if (isMac) await run('codesign', ['--remove-signature', file]);
  const cli = join(dirname(createRequire(import.meta.url).resolve('postject')), 'cli.js');
  const args = [file, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE];
  await run(process.execPath, [cli, ...args, ...(isMac ? ['--macho-segment-name', 'NODE_SEA'] : [])]);
  if (isMac) await run('codesign', ['--sign', '-', file]);
}

/** Writes the krew archive with the executable file and the license, and returns its path. */
export async function writeArchive(file: string, into: string, { os, arch }: Platform): Promise<string> {
  const { version } = JSON.parse(await readFile(join(ROOT, 'apps/mcm/package.json'), 'utf8')) as { version: string };
  const path = join(into, `mcm-v${version}-${os}-${arch}.tar.gz`);
  const work = await mkdtemp(join(tmpdir(), 'mcm-archive-'));
  try {
    const name = os === 'windows' ? 'kubectl-mcm.exe' : 'kubectl-mcm';
    await copyFile(file, join(work, name));
    await chmod(join(work, name), 0o755);
    await copyFile(join(ROOT, 'LICENSE'), join(work, 'LICENSE'));
    await run('tar', ['-czf', path, '-C', work, name, 'LICENSE']);
    return path;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
