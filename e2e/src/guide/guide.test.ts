import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../docs/sources.ts';
import { build, fileIn, filesIn, type Manifest, packAll } from './packages.ts';
import { type Packed, type Registry, serveRegistry } from './registry.ts';

/**
 * What a stranger gets: every public package built and packed, and the guide for provider authors followed word by word
 * with them in an empty folder. Packages of others come from the system's registry; there is no other network.
 */

const run = promisify(execFile);
const LONG = 900_000;

let folder: string;
let packed: readonly Packed[];
let registry: Registry;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcm-guide-'));
  await build();
  const tarballs = await packAll(folder);
  packed = await Promise.all(
    tarballs.map(async (tarball) => ({
      tarball,
      manifest: JSON.parse(await fileIn(tarball, 'package.json')) as Manifest,
    })),
  );
  registry = await serveRegistry(packed);
}, LONG);

afterAll(async () => {
  await registry?.close();
  await rm(folder, { recursive: true, force: true });
});

test('every public package is an ES module with types, source maps and an exports map, and runs nothing when installed', async () => {
  expect(packed.length).toBeGreaterThan(8);
  for (const { tarball, manifest } of packed) {
    const files = await filesIn(tarball);
    const has = (path: unknown): boolean => typeof path === 'string' && files.includes(path.replace('./', ''));
    expect(manifest.type, manifest.name).toBe('module');
    expect(JSON.stringify(manifest.dependencies ?? {}), manifest.name).not.toMatch(/workspace:|catalog:|link:|file:/);
    for (const script of ['preinstall', 'install', 'postinstall', 'prepare'])
      expect(manifest.scripts?.[script], manifest.name).toBeUndefined();
    const entries = Object.values(manifest.exports ?? {}).filter(
      (entry) => typeof entry === 'object' && entry !== null,
    );
    expect(entries.length, `exports of ${manifest.name}`).toBeGreaterThan(0);
    for (const entry of entries as Record<string, unknown>[]) {
      for (const condition of ['types', 'default'])
        expect(has(entry[condition]), `${manifest.name}: ${condition} ${String(entry[condition])}`).toBe(true);
      expect(has(`${String(entry.default)}.map`), `${manifest.name}: source map`).toBe(true);
    }
    for (const bin of Object.values(manifest.bin ?? {})) {
      expect(has(bin), `${manifest.name}: ${bin}`).toBe(true);
      expect(await fileIn(tarball, bin.replace('./', '')), bin).toMatch(/^#!\/usr\/bin\/env node/);
    }
    expect(
      files.filter((path) => path.endsWith('.test.ts') || path.endsWith('.test.js')),
      manifest.name,
    ).toEqual([]);
    expect(has('./README.md'), `${manifest.name}: README.md`).toBe(true);
  }
});

/** Whether packages of others can be had: where there is no way to a registry, the guide cannot be followed. */
const hasRegistry = (): Promise<boolean> =>
  run('npm', ['view', 'zod', 'version', '--fetch-retries=0', '--fetch-timeout=15000'], { cwd: folder }).then(
    () => true,
    () => false,
  );

/** The user's npm settings, with our packages at the registry on loopback, as they would be at the public one. */
async function npmSettings(): Promise<string> {
  const own = await readFile(process.env.NPM_CONFIG_USERCONFIG ?? join(homedir(), '.npmrc'), 'utf8').catch(() => '');
  const path = join(folder, 'npmrc');
  await writeFile(path, `${own}\n@mcm:registry=${registry.url}\n`);
  return path;
}

test(
  'the guide for provider authors, word by word in an empty folder, ends with a passing conformance run',
  async ({ skip }) => {
    if (!(await hasRegistry())) skip('no package registry can be reached');
    const guide = await readFile(join(ROOT, 'docs/providers/README.md'), 'utf8');
    const blocks = [...guide.matchAll(/```sh guide\n([\s\S]*?)```/g)].map(([, block = '']) => block);
    expect(blocks.length).toBeGreaterThan(2);
    // The command itself has a name that others may hold at the public registry: its tarball is installed by path.
    const mcm = packed.find(({ manifest }) => manifest.name === 'mcm')?.tarball ?? '';
    const script = blocks.join('\n').replace(/^npm install mcm$/m, `npm install ${mcm}`);
    expect(script).toContain(mcm);
    const empty = await mkdtemp(join(tmpdir(), 'mcm-author-'));
    try {
      const env = {
        ...process.env,
        NPM_CONFIG_USERCONFIG: await npmSettings(),
        PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
        NODE_OPTIONS: '',
      };
      const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: empty, env, maxBuffer: 1 << 26 });
      const [, promised = ''] = /ends with `(\d+ passed, 0 failed, \d+ skipped)`/.exec(guide) ?? [];
      expect(promised).not.toBe('');
      expect(stdout.split(promised).length - 1, stdout).toBeGreaterThanOrEqual(2);
      expect(stdout).toContain('Usage: machine-controller-hetzner');
      const report = await readFile(join(empty, 'hetzner', 'conformance.xml'), 'utf8');
      expect(report).toContain('failures="0"');
    } finally {
      await rm(empty, { recursive: true, force: true });
    }
  },
  LONG,
);
