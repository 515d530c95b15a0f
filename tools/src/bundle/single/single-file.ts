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
import { type NodeBinary, type Platform, platformOf, readNodeBinary } from './node-binary.ts';
import { packFiles } from './pack.ts';

const run = promisify(execFile);

/** A marker in the Node.js binary. The build tool changes the marker when it adds a program to the binary. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/**
 * @param isOwn Whether the files are for the platform of this computer. The compiled code works only on the platform
 *   that compiled the code.
 */
async function filesOf(
  bundles: string,
  isOwn: boolean,
): Promise<readonly { readonly path: string; readonly data: Buffer }[]> {
  const entries = await readdir(bundles, { recursive: true, withFileTypes: true });
  const unused = isOwn ? ['.map'] : ['.map', '.cache'];
  const paths = entries.filter((entry) => entry.isFile() && !unused.some((ending) => entry.name.endsWith(ending)));
  const sorted = paths.map((entry) => join(entry.parentPath, entry.name)).toSorted();
  return Promise.all(
    sorted.map(async (path) => ({
      path: relative(bundles, path).replaceAll('\\', '/'),
      data: await readFile(path),
    })),
  );
}

const OWN = platformOf(process.platform, process.arch);

const isSame = (a: Platform, b: Platform): boolean => a.os === b.os && a.arch === b.arch;

/**
 * Returns the platform of a Node.js binary.
 * @throws Error if this computer cannot build an executable file with the binary.
 */
function targetOf(path: string, { platform, version }: NodeBinary): Platform {
  if (version !== process.version)
    throw new Error(`${path} is Node.js ${version}, but ${process.version} packs the programs; use one version`);
  // macOS refuses to start a file without a valid signature, and only macOS has the command `codesign`.
  if (platform.os === 'darwin' && OWN.os !== 'darwin')
    throw new Error(`${path} is a binary for macOS; run the command on macOS, which can sign the executable file`);
  return platform;
}

/** An executable file with all programs. */
export interface SingleFile {
  readonly file: string;
  readonly platform: Platform;
}

/**
 * Writes Node.js and all programs as one executable file with the name `mcm`, or `mcm.exe` for Windows. For another
 * platform, the file is in a folder with the name of the platform.
 * @param bundles The folder of all bundled programs.
 * @param node The Node.js binary of the platform, with the version of the running Node.js.
 */
export async function writeSingleFile(bundles: string, into: string, node: string): Promise<SingleFile> {
  const platform = targetOf(node, readNodeBinary(node, await readFile(node)));
  const isOwn = isSame(platform, OWN);
  const work = await mkdtemp(join(tmpdir(), 'mcm-single-'));
  try {
    const packed = packFiles(await filesOf(bundles, isOwn));
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
    await run(process.execPath, ['--experimental-sea-config', config]);
    const folder = isOwn ? into : join(into, `${platform.os}-${platform.arch}`);
    await mkdir(folder, { recursive: true });
    const file = join(folder, platform.os === 'windows' ? 'mcm.exe' : 'mcm');
    await rm(file, { force: true });
    await copyFile(node, file);
    await chmod(file, 0o755);
    await inject(file, blob);
    return { file, platform };
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
export async function writeArchive({ file, platform: { os, arch } }: SingleFile, into: string): Promise<string> {
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
