import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { installSteps } from './install-steps.ts';

/** A folder with the given files, by their path. */
function folderWith(files: Readonly<Record<string, string>>, name = 'plain'): string {
  const made = mkdtempSync(join(tmpdir(), 'mcm-steps-'));
  onTestFinished(() => rmSync(made, { recursive: true }));
  const folder = join(made, name);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const INSTALLED = 'node_modules/@mcm/cli/dist/provider/command.js';
const manifest = (spec: string): string => JSON.stringify({ dependencies: { '@mcm/cli': spec } });

test('a program in a clone names the commands that pack the clone, and quotes its folder', () => {
  const clone = folderWith({ 'pnpm-workspace.yaml': '', 'apps/mcm/package.json': '{}' }, "it's here");
  const word = `'${clone.replace("'", `'\\''`)}`;
  for (const self of ['apps/mcm/src/provider/command.ts', 'node_modules/.cache/mcm/bundles/x/mcm/dist/main.js'])
    expect(installSteps(join(clone, self))).toEqual([
      `(cd ${word}' && npx -y pnpm@12 build && npx -y pnpm@12 tarballs)`,
      `npm install ${word}/dist/packages'/*.tgz`,
    ]);
});

test('a program from a tarball names the folder of the tarball', () => {
  const project = folderWith({ 'package.json': manifest('file:../packs/mcm-cli-0.1.0.tgz') });
  const folder = join(dirname(project), 'packs');
  expect(installSteps(join(project, INSTALLED))).toEqual([`npm install ${folder}/*.tgz`]);
});

test('a program from a registry needs only npm install', () => {
  const project = folderWith({ 'package.json': manifest('^0.1.0') });
  expect(installSteps(join(project, INSTALLED))).toEqual(['npm install']);
  expect(installSteps(join(folderWith({}), INSTALLED))).toEqual(['npm install']);
});
