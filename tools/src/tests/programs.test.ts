import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { programsKey } from './programs.ts';

const folder = mkdtempSync(join(tmpdir(), 'mcm programs '));
const other = mkdtempSync(join(tmpdir(), 'mcm programs '));
afterAll(() => {
  for (const each of [folder, other]) rmSync(each, { recursive: true, force: true });
});

test('the key of the tests differs after a program is installed, updated or removed', () => {
  const keyOf = () => programsKey({ PATH: [folder, other].join(delimiter) });
  const path = join(other, 'helm');
  const without = keyOf();
  expect(keyOf()).toBe(without);
  writeFileSync(path, 'one');
  chmodSync(path, 0o755);
  const installed = keyOf();
  writeFileSync(path, 'another');
  const updated = keyOf();
  expect(new Set([without, installed, updated]).size).toBe(3);
  rmSync(path);
  expect(keyOf()).toBe(without);
});

test('the key includes the chosen browser and the programs of a real API server', () => {
  const env = { MCM_CHROMIUM: join(folder, 'browser'), KUBEBUILDER_ASSETS: folder };
  const keys = [programsKey(env)];
  for (const name of ['browser', 'etcd']) {
    writeFileSync(join(folder, name), name);
    keys.push(programsKey(env));
  }
  expect(new Set(keys).size).toBe(3);
});
