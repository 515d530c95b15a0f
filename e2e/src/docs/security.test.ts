import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, trackedFiles as tracked } from './sources.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
test('each threat refers to an existing test or is marked as a limit', () => {
  const rows = read('docs/threat-model.md')
    .split('\n## Threats\n')[1]
    ?.split('\n')
    .filter((line) => /^\| (?!Attacker|-)/.test(line));
  expect(rows?.length).toBeGreaterThan(10);
  for (const row of rows ?? []) {
    const held = row.split('|').at(-2) ?? '';
    const names = [...held.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
    expect(names.length > 0 || /limit/.test(held), row).toBe(true);
    const beside = names[0]?.replace(/[^/]+$/, '') ?? '';
    for (const path of names)
      expect(existsSync(join(ROOT, path)) || existsSync(join(ROOT, beside, path)), path).toBe(true);
  }
});

/**
 * Source files that may start programs: for `mcm up`, for tests, on a node, or for a login that a kubeconfig or an AWS
 * profile defines.
 */
const STARTS_PROGRAMS =
  /^(apps\/mcm\/src\/up\/|packages\/control-plane\/src\/battery\/|packages\/machine-config\/src\/daemon\/|apps\/machine-config-daemon\/|packages\/kube\/src\/credentials\/exec-plugin\.ts$|providers\/aws\/src\/command\.ts$)/;

test('controllers evaluate no text, and start no program except those that a kubeconfig or an AWS profile names for logins', () => {
  const sources = tracked(
    'packages/*/src/**/*.ts',
    'packages/*/src/*.ts',
    'providers/*/src/*.ts',
    'providers/*/src/**/*.ts',
    'apps/*/src/*.ts',
    'apps/*/src/**/*.ts',
  ).filter((path) => !/\.test\.ts$|\.testing\.ts$/.test(path));
  expect(sources.length).toBeGreaterThan(500);
  const found = sources.filter((path) => {
    const text = read(path);
    return (
      /(?<![\w.'])eval\(|new Function\(/.test(text) || (/node:child_process/.test(text) && !STARTS_PROGRAMS.test(path))
    );
  });
  expect(found).toEqual([]);
});

test('no package runs code during its installation, except the pinned Node.js here', () => {
  for (const path of tracked('package.json', '*/*/package.json', 'e2e/package.json', 'tools/package.json')) {
    const { scripts = {} } = JSON.parse(read(path)) as { scripts?: Record<string, string> };
    for (const script of ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'])
      expect(scripts[script], path).toBeUndefined();
  }
  const allowed = /allowBuilds:\n((?: {2}\S+: \w+\n)+)/.exec(read('pnpm-workspace.yaml'))?.[1] ?? '';
  expect(allowed.match(/^ {2}\S+: true$/gm)).toEqual(['  node: true']);
});

test('the lock file has a hash for every third-party package, and contains no host names', () => {
  const lock = read('pnpm-lock.yaml');
  const packages = lock.split('\npackages:\n')[1]?.split('\nsnapshots:\n')[0] ?? '';
  const resolutions = packages.match(/^ {4}resolution: .*$/gm) ?? [];
  expect(resolutions.length).toBeGreaterThan(100);
  expect(resolutions.filter((line) => !line.includes('integrity: sha512-'))).toEqual([]);
  expect(lock).not.toMatch(/https?:\/\//);
  expect(readdirSync(ROOT)).not.toContain('package-lock.json');
});
