import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inspectDataDir, openDataDir } from './data-dir.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'mcm data '));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const state = { format: 1, pid: 42, startedAt: '2026-01-01T00:00:00Z', apiPort: 6443 };

test('the state is read at the next start', () => {
  const first = openDataDir(join(root, 'new'));
  expect(first.state).toBeUndefined();
  first.write(state);
  first.release();
  const second = openDataDir(join(root, 'new'));
  expect(second.state).toEqual(state);
  second.release();
});

test('only the owner can read an existing directory', () => {
  chmodSync(root, 0o755);
  openDataDir(root).release();
  expect((statSync(root).mode & 0o777).toString(8)).toBe('700');
});

test('a directory in use is refused with the process', () => {
  const first = openDataDir(root);
  first.write(state);
  expect(() => openDataDir(root)).toThrow(/another mcm \(process 42\) uses .*mcm down/);
  expect(inspectDataDir(root)).toEqual({ state, running: true });
  first.release();
  expect(inspectDataDir(root)).toEqual({ state, running: false });
});

test('a foreign directory is refused and not changed', () => {
  writeFileSync(join(root, 'thesis.txt'), 'mine');
  expect(() => openDataDir(root)).toThrow(/contains files of other programs/);
  expect(readFileSync(join(root, 'thesis.txt'), 'utf8')).toBe('mine');
});

test.each([
  ['{"format":99}', /layout 99, but this version of mcm supports layout 1/],
  ['not json', /cannot be read/],
])('a marker %s is refused', (content, message) => {
  writeFileSync(join(root, 'mcm.json'), content);
  expect(() => openDataDir(root)).toThrow(message);
  expect(readFileSync(join(root, 'mcm.json'), 'utf8')).toBe(content);
});

test('a path that is a file is refused by name', () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  expect(() => openDataDir(file)).toThrow(
    /^cannot use --data-dir .*file: .*file is not a folder; use another directory$/,
  );
  expect(() => inspectDataDir(file)).toThrow(/^--data-dir .*file must be the directory of an instance$/);
});

test('a lock file that is not a database is refused', () => {
  writeFileSync(join(root, 'lock.sqlite'), 'x'.repeat(5000));
  expect(() => openDataDir(root)).toThrow(/is not a lock of mcm/);
});
