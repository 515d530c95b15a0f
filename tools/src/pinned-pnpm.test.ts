import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from './root.ts';

/** Files with commands that install, check and pack in automation. */
const FILES = [
  '.ci/run',
  'deploy/Dockerfile',
  'package.json',
  'tools/src/advisories/audit.ts',
  'tools/src/packages/packages.ts',
];

test('every script uses one exact version of pnpm', () => {
  const found = FILES.map((file) => {
    const versions = readFileSync(join(ROOT, file), 'utf8').matchAll(/pnpm@([\w.]+)/g);
    return [file, ...new Set([...versions].map(([, version]) => version))];
  });
  const [[, version] = []] = found;
  expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  expect(found).toEqual(FILES.map((file) => [file, version]));
});

test('pnpm checks engines for the Node.js that it installs, so it prints no warning on Node 20', () => {
  const workspace = parse(readFileSync(join(ROOT, 'pnpm-workspace.yaml'), 'utf8'));
  expect(workspace.catalog.node).toBe(`^${workspace.nodeVersion}`);
});
