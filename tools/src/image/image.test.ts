import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { binaryNamed } from '../bundle/binaries.ts';
import { type Bundle, bundle } from '../bundle/bundle.ts';
import { ROOT } from '../root.ts';
import { readElf } from './elf.ts';
import { writeImages, writeRoot } from './image.ts';
import { type Config, type Descriptor, Layout, type Manifest } from './layout.ts';
import { archive } from './tar.ts';

const run = promisify(execFile);
/** A small program that replaces Node.js, because these tests do not depend on Node.js. */
const SMALL = '/bin/true';
const SECONDS = 1_700_000_000;

let folder: string;
let built: Bundle;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcm-image-'));
  built = await bundle(binaryNamed('machine-controller-manager'), join(folder, 'bundles'));
}, 300_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

async function filesOf(layout: string): Promise<ReadonlyMap<string, string>> {
  const found = await readdir(layout, { recursive: true, withFileTypes: true });
  const files = found.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  const contents = await Promise.all(
    files.map(async (path) => [path, (await readFile(path)).toString('base64')] as const),
  );
  return new Map(contents.map(([path, content]) => [path.slice(layout.length), content]));
}

async function unpack(layout: Layout, image: Descriptor, into: string) {
  const { config, layers } = await layout.readJson<Manifest>(image.digest);
  await mkdir(into, { recursive: true });
  for (const { digest } of layers) {
    const file = join(dirname(into), 'layer.tar');
    await writeFile(file, gunzipSync(await layout.read(digest)));
    await run('tar', ['-xf', file, '-C', into]);
    await rm(file);
  }
  return layout.readJson<Config & { config: Record<string, unknown>; created: string }>(config.digest);
}

test('an image is a layout with correct digests, whose program runs as non-root and without a shell', async () => {
  const into = join(folder, 'one');
  const [image] = await writeImages([built], into, { nodes: [SMALL], seconds: SECONDS });
  if (!image) throw new Error('no image');
  const layout = new Layout(into);
  expect(await layout.manifests()).toEqual([image]);
  expect(image.annotations).toEqual({ 'org.opencontainers.image.ref.name': 'machine-controller-manager:0.1.0' });
  const root = join(folder, 'root');
  const { architecture, config, created, rootfs } = await unpack(layout, image, root);
  expect(architecture).toBe(readElf(await readFile(SMALL)).architecture);
  expect(image.platform).toEqual({ architecture, os: 'linux' });
  expect(created).toBe('2023-11-14T22:13:20.000Z');
  expect(rootfs.diff_ids).toHaveLength(2);
  expect(config).toMatchObject({
    User: '65532:65532',
    Entrypoint: ['/usr/local/bin/node', '/app/dist/main.js'],
  });
  const files = [...(await filesOf(root)).keys()];
  for (const path of [
    '/app/dist/main.js',
    '/app/package.json',
    '/app/sbom.cdx.json',
    '/app/LICENSES.txt',
    '/usr/local/bin/node',
    '/etc/passwd',
  ])
    expect(files).toContain(path);
  expect(files.filter((path) => /\/(sh|bash|busybox|apt|dpkg|npm|npx)$|\.map$|\.ts$/.test(path))).toEqual([]);
});

test('the same inputs give the same bytes', async () => {
  const make = async (name: string): Promise<ReadonlyMap<string, string>> => {
    await writeImages([built], join(folder, name), { nodes: [SMALL], seconds: 0 });
    return filesOf(join(folder, name));
  };
  expect(await make('first')).toEqual(await make('second'));
});

test('an image on a base keeps the layers of the base below its own and uses no library of this machine', async () => {
  const base = join(folder, 'base');
  await writeImages([built], base, { nodes: [SMALL], seconds: 0 });
  const into = join(folder, 'on-base');
  const [image] = await writeImages([built], into, { nodes: [SMALL], base, seconds: 0 });
  const layout = new Layout(into);
  const { layers } = await layout.readJson<Manifest>(image?.digest ?? '');
  const [below] = await new Layout(base).manifests();
  const { layers: ofBase } = await new Layout(base).readJson<Manifest>(below?.digest ?? '');
  expect(layers.slice(0, 2)).toEqual(ofBase);
  expect(layers).toHaveLength(4);
  const own = gunzipSync(await layout.read(layers[2]?.digest ?? ''));
  expect(own.includes('usr/local/bin/node')).toBe(true);
  expect(own.includes('etc/passwd\0')).toBe(false);
});

test('content that does not match its digest is refused', async () => {
  const into = join(folder, 'broken');
  const [image] = await writeImages([built], into, { nodes: [SMALL], seconds: 0 });
  const digest = image?.digest ?? '';
  await writeFile(join(into, 'blobs', ...digest.split(':')), '{}');
  await expect(new Layout(into).readJson(digest)).rejects.toThrow('does not match the digest in its name');
});

test('the program of an image runs with only its root file system, as non-root', { timeout: 300_000 }, async ({
  skip,
}) => {
  if (process.getuid?.() !== 0) skip('entering another root takes root');
  const root = join(folder, 'whole');
  const [image] = await writeImages([built], join(folder, 'small'), { nodes: [SMALL], seconds: 0 });
  if (!image) throw new Error('no image');
  const { config } = await unpack(new Layout(join(folder, 'small')), image, root);
  // Compressing the real Node.js would take most of the time of these tests.
  await writeRoot(built, root, process.execPath);
  await run('chmod', ['755', folder]);
  const command = ['--userspec=65532:65532', root, ...(config.Entrypoint as string[]), '--help'];
  const { stdout } = await run('chroot', command, { env: { PATH: process.env.PATH } });
  expect(stdout).toContain('Usage: machine-controller-manager [options]');
});

test('tar reads an archive with modes, folders and long names; unsupported entries are refused', async () => {
  const long = `${'folder/'.repeat(15)}file`;
  const file = join(folder, 'some.tar');
  const entries = [
    { path: long, mode: 0o600, data: Buffer.from('long') },
    { path: 'a', mode: 0o755, data: Buffer.alloc(513, 1) },
  ];
  await writeFile(file, archive(entries, SECONDS));
  expect(archive(entries.toReversed(), SECONDS).equals(await readFile(file))).toBe(true);
  const { stdout } = await run('tar', ['-tvf', file, '--utc', '--numeric-owner']);
  const lines = stdout.trim().split('\n');
  expect(lines).toHaveLength(2 + 15);
  expect(lines[0]).toMatch(/^-rwxr-xr-x 0\/0\s+513 2023-11-14 22:13 a$/);
  expect(lines.at(-1)).toMatch(/^-rw------- 0\/0\s+4 .* folder\/.*file$/);
  expect(() => archive([{ path: 'x'.repeat(101), mode: 0, data: Buffer.alloc(0) }], 0)).toThrow('too long');
});

test('a big-endian program is read too', () => {
  const file = Buffer.alloc(256);
  file.write('\x7fELF\x02\x02', 'latin1');
  file.writeUInt16BE(0x16, 18);
  file.writeBigUInt64BE(64n, 32);
  file.writeUInt16BE(56, 54);
  file.writeUInt16BE(1, 56);
  file.writeUInt32BE(3, 64);
  file.writeBigUInt64BE(128n, 72);
  file.write('/lib/ld64.so.1\0', 128);
  expect(readElf(file)).toEqual({ architecture: 's390x', loader: '/lib/ld64.so.1', libraries: [] });
});

test('the Dockerfile creates the same image: the same user, the same program, the same labels', async () => {
  const text = await readFile(join(ROOT, 'deploy/Dockerfile'), 'utf8');
  const [image] = await writeImages([built], join(folder, 'as-docker'), { nodes: [SMALL], seconds: 0 });
  const layout = new Layout(join(folder, 'as-docker'));
  const { config: descriptor } = await layout.readJson<Manifest>(image?.digest ?? '');
  const { config } = await layout.readJson<{
    config: { User: string; Entrypoint: string[]; Labels: Record<string, string> };
  }>(descriptor.digest);
  const labels = Object.entries({ ...config.Labels, 'org.opencontainers.image.title': '$PROGRAM' });
  const line = `LABEL ${labels.map(([key, value]) => `${key}="${value}"`).join(' ')}`;
  expect(text.split('\n').filter((each) => each === line)).toHaveLength(2);
  expect(text).toContain(`\nUSER ${config.User}\n`);
  expect(text).toContain(`\nENTRYPOINT ${JSON.stringify(config.Entrypoint).replaceAll(',', ', ')}\n`);
  expect(text).toMatch(/\nFROM scratch\n/);
});

test('an error reports a program for another machine and a file that is not a program', () => {
  expect(() => readElf(Buffer.from('#!/bin/sh\n'.padEnd(64)))).toThrow('not a 64-bit ELF file');
  const riscv = Buffer.alloc(64);
  riscv.write('\x7fELF\x02\x01', 'latin1');
  riscv.writeUInt16LE(0xf3, 18);
  expect(() => readElf(riscv)).toThrow(
    'an ELF file of the unsupported machine 243; supported machines: ppc64le, s390x, amd64, arm64',
  );
});
