import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { glob, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { isThorough } from '@mcm/kube/testing';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../root.ts';
import { install } from './install.ts';
import { buildPackages, packAll, publicPackages, readManifest } from './packages.ts';
import { serveRegistry } from './registry.ts';

/**
 * The published packages: each package is built, packed, installed and used. All these tests are in one file, because
 * two test files must not build and pack a package at the same time.
 */

const run = promisify(execFile);
const LONG = 900_000;

let folder: string;
let tarballs: ReadonlyMap<string, string>;
let homes: ReadonlyMap<string, string>;

describe.runIf(isThorough)('published packages', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mcm-packages-'));
    const packages = await publicPackages();
    await buildPackages(packages);
    tarballs = await packAll(packages, folder);
    homes = await install(packages, tarballs, folder);
  }, LONG);

  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function entries(name: string): Promise<readonly { readonly specifier: string; readonly types: string }[]> {
    const { exports = {} } = await readManifest(homes.get(name) ?? '');
    return Object.entries(exports).flatMap(([path, to]) => {
      if (typeof to === 'string' || path.endsWith('/main')) return [];
      return [{ specifier: `${name}${path.slice(1)}`, types: to.types ?? '' }];
    });
  }

  test('publint accepts every tarball', { timeout: LONG }, async () => {
    const found: string[] = [];
    for (const [name, file] of tarballs) {
      const bytes = await readFile(file);
      const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
      const { messages, pkg } = await publint({ pack: { tarball }, level: 'warning', strict: true });
      found.push(...messages.map((message) => `${name}: ${formatMessage(message, pkg ?? {})}`));
    }
    expect(found).toEqual([]);
  });

  test('a tarball contains the files of its package.json, and runs nothing on installation', async () => {
    for (const [name, home] of homes) {
      const { exports = {}, bin = {}, scripts = {}, dependencies = {}, type } = await readManifest(home);
      const promised = [...Object.values(exports).flatMap((to) => (typeof to === 'string' ? [to] : Object.values(to)))];
      for (const path of [...promised, ...Object.values(bin)].filter((one) => !one.includes('*'))) {
        expect(existsSync(join(home, path)), `${path} of ${name}`).toBe(true);
      }
      expect(type, name).toBe('module');
      expect(Object.keys(scripts).filter((script) => /install|prepare/.test(script))).toEqual([]);
      expect(Object.values(dependencies).filter((range) => /^(workspace|catalog|link|file):/.test(range))).toEqual([]);
      const tests: string[] = [];
      for await (const file of glob('**/*.test.*', { cwd: home })) tests.push(file);
      expect(tests, name).toEqual([]);
      for (const file of ['README.md', 'LICENSE'])
        expect(existsSync(join(home, file)), `${file} of ${name}`).toBe(true);
    }
  });

  test('a package has a description, a license and an engine', async () => {
    for (const [name, home] of homes) {
      const { description = '', keywords = [], license, engines } = await readManifest(home);
      expect(description.length, `description of ${name}`).toBeGreaterThan(20);
      expect(keywords.length, `keywords of ${name}`).toBeGreaterThan(2);
      expect({ license, engines }, name).toEqual({ license: 'Apache-2.0', engines: { node: '>=22.19.0' } });
    }
  });

  test('code is an ES module with declarations and a source map, and a program has a shebang line', async () => {
    for (const [name, home] of homes) {
      const { exports = {}, bin = {} } = await readManifest(home);
      const modules = Object.values(exports).flatMap((to) => (typeof to === 'string' ? [] : [to]));
      expect(modules.length, `exports of ${name}`).toBeGreaterThan(0);
      for (const { types = '', default: js = '' } of modules) {
        expect(types, `${js} of ${name}`).toMatch(/\.d\.ts$/);
        expect(existsSync(join(home, `${js}.map`)), `source map of ${js} of ${name}`).toBe(true);
      }
      for (const path of Object.values(bin)) {
        expect(await readFile(join(home, path), 'utf8'), `${path} of ${name}`).toMatch(/^#!\/usr\/bin\/env node/);
      }
    }
  });

  test('declarations are those of ES modules, and each referenced file exists', async () => {
    const missing: string[] = [];
    for (const [name, home] of homes) {
      for await (const file of glob('dist/**/*.d.ts', { cwd: home })) {
        const text = await readFile(join(home, file), 'utf8');
        for (const [, path = ''] of text.matchAll(/(?:from|import)\s*\(?['"](\.[^'"]+)['"]/g)) {
          const declared = join(home, dirname(file), path.replace(/\.(ts|js)$/, '.d.ts'));
          if (!existsSync(declared)) missing.push(`${name}: ${file} names ${path}`);
        }
      }
    }
    expect(missing).toEqual([]);
  });

  test('every package is installed from its tarball into an empty folder, type-checked and loaded there', {
    timeout: LONG,
  }, async () => {
    const all = (await Promise.all([...homes.keys()].map(entries))).flat();
    expect(all.length).toBeGreaterThanOrEqual(homes.size);
    const lines = all.map(({ specifier }, index) => `import * as part${index} from '${specifier}';`);
    const used = all.map((_, index) => `part${index}`).join(', ');
    const source = `${lines.join('\n')}\nconst parts: readonly object[] = [${used}];\nconsole.log(parts.filter((part) => Object.keys(part).length > 0).length);\n`;
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await writeFile(join(folder, 'use.ts'), source);
    const strict = ['--strict', '--noEmit', '--skipLibCheck', '--types', 'node'];
    const modern = ['--module', 'nodenext', '--moduleResolution', 'nodenext', '--target', 'es2024'];
    await run(join(ROOT, 'node_modules/.bin/tsc'), [...strict, ...modern, 'use.ts'], { cwd: folder });
    const { stdout } = await run(process.execPath, ['use.ts'], { cwd: folder });
    expect(Number(stdout)).toBe(all.length);
  });

  test('the programs of installed packages print their flags', { timeout: LONG }, async () => {
    for (const [name, home] of homes) {
      for (const [command, path] of Object.entries((await readManifest(home)).bin ?? {})) {
        const { stdout } = await run(process.execPath, [join(home, path), '--help'], {
          cwd: folder,
          timeout: 60_000,
          killSignal: 'SIGKILL',
        });
        expect(stdout, `${command} of ${name}`).toContain(`Usage: ${command.replace(/^kubectl-/, '')}`);
      }
    }
  });

  const hasRegistry = (): Promise<boolean> =>
    run('npm', ['view', 'zod', 'version', '--fetch-retries=0', '--fetch-timeout=15000'], { cwd: folder }).then(
      () => true,
      () => false,
    );

  async function npmSettings(url: string): Promise<string> {
    const own = await readFile(process.env.NPM_CONFIG_USERCONFIG ?? join(homedir(), '.npmrc'), 'utf8').catch(() => '');
    const path = join(folder, 'npmrc');
    await writeFile(path, `${own}\n@mcm:registry=${url}\n`);
    return path;
  }

  test('every step of the guide for provider authors works in an empty folder, and the conformance run passes', {
    timeout: LONG,
  }, async ({ skip }) => {
    if (!(await hasRegistry())) skip('no package registry can be reached');
    const guide = await readFile(join(ROOT, 'docs/providers/README.md'), 'utf8');
    const blocks = [...guide.matchAll(/```sh guide\n([\s\S]*?)```/g)].map(([, block = '']) => block);
    expect(blocks.length).toBeGreaterThan(2);
    const script = blocks.join('\n');
    const registry = await serveRegistry(tarballs, homes);
    const empty = await mkdtemp(join(tmpdir(), 'mcm-author-'));
    try {
      const env = {
        ...process.env,
        NPM_CONFIG_USERCONFIG: await npmSettings(registry.url),
        PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
        NODE_OPTIONS: '',
      };
      const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: empty, env, maxBuffer: 1 << 26 });
      const [, promised = ''] = /ends with `(\d+ passed, 0 failed, \d+ skipped)`/.exec(guide) ?? [];
      expect(promised).not.toBe('');
      expect(stdout.split(promised).length - 1, stdout).toBeGreaterThanOrEqual(2);
      expect(stdout).toContain('Usage: machine-controller-hetzner');
      expect(stdout).toContain('ready: 3 machines Running');
      const report = await readFile(join(empty, 'hetzner', 'conformance.xml'), 'utf8');
      expect(report).toContain('failures="0"');
    } finally {
      await registry.close();
      await rm(empty, { recursive: true, force: true });
    }
  });
});
