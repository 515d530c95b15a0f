import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ReplayFlags, reportReplay } from './run-replay.ts';
import { journalText, setNamed } from './testing.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'replay-'));
});
afterEach(async () => {
  process.exitCode = undefined;
  await rm(folder, { recursive: true });
});

const TEXT = journalText('machine-controller-manager', [
  { set: setNamed('web-1'), machines: 1 },
  { set: setNamed('web-1'), machines: 4 },
  { set: setNamed('db-1'), machines: 5 },
]);
const OTHER = TEXT.replaceAll('"verdict":"freeze"', '"verdict":"leave"');

async function replay(text: string | Uint8Array, more: Partial<ReplayFlags> = {}) {
  await writeFile(join(folder, 'journal-manager.ndjson'), text);
  const said: string[] = [];
  const say = (line: string) => void said.push(line);
  await reportReplay([folder], { output: 'text', ...more }, { say, draw: (line) => line });
  return { said, code: process.exitCode };
}

test('a replay with the same decisions exits with 0', async () => {
  expect(await replay(TEXT)).toEqual({
    said: ['3 of 3 decisions of mcm 1.2.3 repeated with mcm 0.1.0; decisions that differ: 0'],
    code: 0,
  });
});

test('a replay with another decision prints its object, time, field and both values, and exits with 1', async () => {
  expect(await replay(OTHER)).toEqual({
    said: [
      'overshoot decision about machineset/web-1 at 2026-01-01T00:00:01.000Z differs in verdict',
      '  recorded reason: 4 machines',
      '  recorded by mcm 1.2.3: "leave"',
      '  decided again by mcm 0.1.0: "freeze"',
      '3 of 3 decisions of mcm 1.2.3 repeated with mcm 0.1.0; decisions that differ: 2',
    ],
    code: 1,
  });
});

test('--all lists all differences, and JSON has both values', async () => {
  const { said, code } = await replay(OTHER, { all: true, output: 'json' });
  expect(code).toBe(1);
  expect(JSON.parse(said.join('\n'))).toMatchObject({
    differing: 2,
    differences: [
      { object: 'machineset/web-1', field: 'verdict', recorded: 'leave', present: 'freeze' },
      { object: 'machineset/db-1', field: 'verdict', recorded: 'leave', present: 'freeze' },
    ],
  });
});

test('a replay with an unsupported kind of decision repeats the others and exits with 1', async () => {
  const { said, code } = await replay(TEXT.replace('"kind":"overshoot"', '"kind":"astrology"'));
  expect(code).toBe(1);
  expect(said).toContain('  this version of mcm makes no decisions of this kind');
  expect(said.at(-1)).toBe('2 of 3 decisions of mcm 1.2.3 repeated with mcm 0.1.0; decisions that differ: 1');
});

test('a replay of a truncated journal repeats the complete records, and exits with 2', async () => {
  const { said, code } = await replay(TEXT.slice(0, -100));
  expect(code).toBe(2);
  expect(said.join('\n')).toMatch(/problem: line \d+ is not JSON and was skipped/);
  expect(said.join('\n')).toContain(
    'problem: the journal is incomplete: the file has 2 records, but the last line is missing',
  );
});

test('escape sequences of a hostile journal are printed in a visible form', async () => {
  const hostile = OTHER.replaceAll('4 machines', '4 \\u001b[2J machines').replaceAll('1.2.3', '\\u001b]0;x\\u0007');
  for (const output of ['text', 'json', 'yaml'] as const)
    expect((await replay(hostile, { output })).said.join('\n')).not.toMatch(/(?!\n)\p{Cc}/u);
});

test.each([
  ['another file', 'kind: List\n', 'the file is not an mcm journal'],
  ['an empty file', '', 'the journal is empty'],
  ['a compressed bundle', gzipSync('x'), 'the file is compressed; extract the file first: tar xzf FILE'],
  ['a newer format', '{"journal":9,"version":"9.0.0"}', 'use a newer version of mcm'],
])('%s is refused with exit code 2', async (_name, text, message) => {
  await expect(replay(text)).rejects.toThrow(message);
  expect(process.exitCode).toBe(2);
});

test('a path without a journal is refused', async () => {
  const said = { say: () => undefined, draw: (line: string) => line };
  await mkdir(join(folder, 'empty'));
  await expect(reportReplay([join(folder, 'empty')], { output: 'text' }, said)).rejects.toThrow(
    /empty has no journal: its errors.txt contains the reason/,
  );
  await expect(reportReplay([join(folder, 'missing')], { output: 'text' }, said)).rejects.toThrow(/cannot be read/);
  await expect(reportReplay(['/dev/null'], { output: 'text' }, said)).rejects.toThrow('must be a file or a folder');
});
