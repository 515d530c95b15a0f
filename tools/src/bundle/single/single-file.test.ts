import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { isThorough } from '@mcm/kube/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { sharedBundles } from '../shared.ts';
import { krewManifest } from './krew.ts';
import { type Platform, platformOf, readNodeBinary } from './node-binary.ts';
import { packFiles, unpackFiles } from './pack.ts';
import { writeArchive, writeSingleFile } from './single-file.ts';

const run = promisify(execFile);
const LONG = { timeout: 300_000 };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcm single '));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const canBuild =
  process.platform === 'linux'
    ? spawnSync(process.execPath, ['--help'], { encoding: 'utf8' }).stdout.includes('--experimental-sea-config')
    : process.platform === 'darwin';

/** Only a thorough run builds the file, because it contains the whole Node.js. */
describe.runIf(canBuild && isThorough)('the single executable file of this platform', LONG, () => {
  let file: string;
  let platform: Platform;
  let cache: string;
  beforeAll(async () => {
    ({ file, platform } = await writeSingleFile(await sharedBundles(), join(folder, 'release'), process.execPath));
    cache = join(folder, 'a cache');
  }, LONG.timeout);

  /** Runs the file like a user without Node.js. */
  const mcm = (...args: readonly string[]) =>
    run(file, args, { cwd: folder, env: { HOME: folder, XDG_CACHE_HOME: cache }, maxBuffer: 1 << 24 });

  test('the single executable prints the version, and writes its programs once, also when two start at the same time', async () => {
    const started = await Promise.all([mcm('--version'), mcm('--version')]);
    for (const { stdout } of started) expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(await readdir(join(cache, 'mcm'))).toHaveLength(1);
  });

  test('the single executable starts the other programs: mcm up brings up a fleet', LONG, async () => {
    const data = join(folder, 'data');
    const { stdout } = await mcm('up', '--exit-when-ready', '--no-tty', '--machines=1', `--data-dir=${data}`);
    expect(stdout).toContain('ready: 1 machine Running');
  });

  test('the single executable names the cause when it cannot write its programs', async () => {
    await writeFile(join(folder, 'no-folder'), '');
    const env = { HOME: folder, XDG_CACHE_HOME: join(folder, 'no-folder') };
    const { status, stderr } = spawnSync(file, ['version'], { env, encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^mcm: cannot start from .*no-folder.*; set XDG_CACHE_HOME to a writable directory\n$/);
  });

  test(
    'the single executable is in an archive with the license, and the krew manifest has its checksum',
    LONG,
    async () => {
      expect(platform).toEqual(platformOf(process.platform, process.arch));
      const archive = await writeArchive({ file, platform }, join(folder, 'release'));
      const { stdout } = await run('tar', ['-tzf', archive]);
      expect(stdout.trim().split('\n')).toEqual(['kubectl-mcm', 'LICENSE']);
      const manifest: unknown = parse(await readFile(await krewManifest(join(folder, 'release'), 'URL'), 'utf8'));
      expect(manifest).toMatchObject({ spec: { platforms: [{ selector: { matchLabels: platform } }] } });
    },
  );
});

/** Returns the parts of a Node.js binary that contain its platform and its version. */
function binary(os: string, machine: number, version: string): Buffer {
  const data = Buffer.alloc(512);
  data.write(`https://nodejs.org/download/release/${version}/node.tar.gz`, 256);
  if (os === 'linux') {
    data.write('\x7fELF\x02\x01', 0, 'latin1');
    data.writeUInt16LE(machine, 18);
  } else if (os === 'darwin') {
    data.writeUInt32LE(0xfeedfacf, 0);
    data.writeUInt32LE(machine, 4);
  } else {
    data.write('MZ', 0, 'latin1');
    data.writeUInt32LE(128, 60);
    data.write('PE\0\0', 128, 'latin1');
    data.writeUInt16LE(machine, 132);
  }
  return data;
}

test.each([
  ['linux', 62, 'amd64'],
  ['linux', 183, 'arm64'],
  ['darwin', 0x1000007, 'amd64'],
  ['darwin', 0x100000c, 'arm64'],
  ['windows', 0x8664, 'amd64'],
  ['windows', 0xaa64, 'arm64'],
  ['windows', 0x14c, '386'],
])('a Node.js binary for %s with machine %d is for %s', (os, machine, arch) => {
  expect(readNodeBinary('node', binary(os, machine, 'v24.1.2'))).toEqual({
    platform: { os, arch },
    version: 'v24.1.2',
  });
});

test('the running Node.js is a binary for this platform', async () => {
  expect(readNodeBinary('node', await readFile(process.execPath))).toEqual({
    platform: platformOf(process.platform, process.arch),
    version: process.version,
  });
});

test('an error reports a binary that cannot become an executable file here', async () => {
  const build = async (data: Buffer): Promise<unknown> => {
    const node = join(folder, 'node');
    await writeFile(node, data);
    return writeSingleFile(folder, join(folder, 'refused'), node);
  };
  await expect(build(Buffer.from('#!/bin/sh'))).rejects.toThrow('is not a Node.js binary for Linux, macOS or Windows');
  await expect(build(binary('windows', 0x9999, process.version))).rejects.toThrow('is not a Node.js binary');
  const other = build(binary('linux', 183, 'v1.2.3'));
  await expect(other).rejects.toThrow(`is Node.js v1.2.3, but ${process.version} packs the programs; use one version`);
  if (process.platform !== 'darwin')
    await expect(build(binary('darwin', 0x100000c, process.version))).rejects.toThrow(
      'is a binary for macOS; run the command on macOS, which can sign the executable file',
    );
});

test('a pack has all files with their bytes', () => {
  const files = [
    { path: 'a/b', data: Buffer.from('é') },
    { path: 'empty', data: Buffer.alloc(0) },
    { path: 'c', data: Buffer.from([0, 255]) },
  ];
  expect(unpackFiles(packFiles(files))).toEqual(files);
});

test('the krew manifest has each archive with its checksum', async () => {
  const release = join(folder, 'archives');
  await mkdir(release);
  const names = ['mcm-v1.2.3-darwin-arm64.tar.gz', 'mcm-v1.2.3-windows-amd64.tar.gz'];
  for (const name of [...names, 'mcm']) await writeFile(join(release, name), name);
  const manifest: unknown = parse(await readFile(await krewManifest(release, 'https://example.com/r'), 'utf8'));
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  expect(manifest).toMatchObject({
    kind: 'Plugin',
    spec: {
      version: 'v1.2.3',
      platforms: [
        {
          selector: { matchLabels: { os: 'darwin', arch: 'arm64' } },
          uri: `https://example.com/r/${names[0]}`,
          sha256: sha256(names[0] ?? ''),
          bin: 'kubectl-mcm',
        },
        { selector: { matchLabels: { os: 'windows', arch: 'amd64' } }, bin: 'kubectl-mcm.exe' },
      ],
    },
  });
  await writeFile(join(release, 'mcm-v1.2.4-linux-amd64.tar.gz'), '');
  await expect(krewManifest(release, 'x')).rejects.toThrow('must contain archives of one version, found 2');
});

const KREW_PLATFORMS = [
  ...['386', 'amd64', 'arm64'].map((arch) => `windows/${arch}`),
  ...['386', 'amd64', 'arm', 'arm64', 'ppc64le'].map((arch) => `linux/${arch}`),
  ...['386', 'amd64', 'arm64'].map((arch) => `darwin/${arch}`),
];

const KrewManifest = z.strictObject({
  apiVersion: z.literal('krew.googlecontainertools.github.com/v1alpha2'),
  kind: z.literal('Plugin'),
  metadata: z.strictObject({ name: z.string().regex(/^[\w-]+$/) }),
  spec: z.strictObject({
    version: z.string().regex(/^v\d+\.\d+\.\d+(-[0-9a-z.-]+)?$/),
    shortDescription: z.string().regex(/^[^\r\n]+$/),
    description: z.string(),
    platforms: z
      .array(
        z.strictObject({
          selector: z.strictObject({ matchLabels: z.strictObject({ os: z.string(), arch: z.string() }) }),
          uri: z.url({ protocol: /^https$/ }),
          sha256: z.string().regex(/^[a-f0-9]{64}$/),
          bin: z.string().min(1),
        }),
      )
      .min(1),
  }),
});

test.each(['1.2.3', '1.2.3-beta.1'])('krew accepts the manifest of version %s for all platforms', async (version) => {
  const release = join(folder, `krew ${version}`);
  await mkdir(release);
  const systems = [
    ['linux', 'x64'],
    ['linux', 'arm64'],
    ['darwin', 'x64'],
    ['darwin', 'arm64'],
    ['win32', 'x64'],
    ['win32', 'arm64'],
    ['win32', 'ia32'],
  ] as const;
  for (const [os, arch] of systems) {
    const platform = platformOf(os, arch);
    await writeFile(join(release, `mcm-v${version}-${platform.os}-${platform.arch}.tar.gz`), `${os}/${arch}`);
  }
  const path = await krewManifest(release, 'https://example.com/r');
  const { metadata, spec } = KrewManifest.parse(parse(await readFile(path, 'utf8')));
  // The file must have the name of the plugin, and kubectl runs the plugin `mcm` as `kubectl-mcm`.
  expect(basename(path)).toBe(`${metadata.name}.yaml`);
  expect(spec.version).toBe(`v${version}`);
  const selected = spec.platforms.map(({ selector: { matchLabels } }) => `${matchLabels.os}/${matchLabels.arch}`);
  expect(new Set(selected).size).toBe(systems.length);
  for (const one of selected) expect(KREW_PLATFORMS).toContain(one);
  for (const { bin, selector, uri } of spec.platforms) {
    expect(bin).toBe(selector.matchLabels.os === 'windows' ? 'kubectl-mcm.exe' : 'kubectl-mcm');
    expect(uri).toMatch(/\.tar\.gz$/);
  }
});

test.each([
  [{ os: 'linux', arch: 'amd64' }, 'kubectl-mcm'],
  [{ os: 'windows', arch: 'amd64' }, 'kubectl-mcm.exe'],
])(
  'the archive of %j has the plugin that the manifest names, as an executable file, and the license',
  async (platform, bin) => {
    const file = join(folder, 'a file');
    await writeFile(file, 'program');
    const { stdout } = await run('tar', ['-tvzf', await writeArchive({ file, platform }, folder)]);
    const entries = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/\s+/));
    expect(entries.map((columns) => columns.at(-1))).toEqual([bin, 'LICENSE']);
    expect(entries[0]?.[0]).toBe('-rwxr-xr-x');
  },
);
