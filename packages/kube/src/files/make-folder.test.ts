import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeFolder } from './make-folder.ts';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'folders '));
});
afterAll(() => rmSync(root, { recursive: true }));

test('creates the missing folders and returns the first of them', () => {
  expect(makeFolder(join(root, 'a/b/c'), 0o700)).toBe(join(root, 'a'));
  expect(statSync(join(root, 'a/b')).mode & 0o777).toBe(0o700);
  expect(makeFolder(join(root, 'a/b/c'))).toBeUndefined();
  expect(makeFolder(join(root, 'a/b/d'))).toBe(join(root, 'a/b/d'));
});

test('the error names the file in the way', () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  expect(() => makeFolder(file)).toThrow(`${file} is not a folder`);
  expect(() => makeFolder(join(file, 'x'))).toThrow('ENOTDIR');
});

test.runIf(existsSync('/proc/self'))('an unknown folder is an error', () => {
  expect(() => makeFolder('/proc/nope/x')).toThrow("ENOENT: no such file or directory, mkdir '/proc/nope'");
});
