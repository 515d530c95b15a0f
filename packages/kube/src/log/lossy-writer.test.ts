import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FileSink, LossyWriter } from './lossy-writer.ts';

test('lines that cannot be written are dropped and counted, and a line reports them when there is space again', () => {
  let full = false;
  const written: string[] = [];
  const failures: [number, string][] = [];
  const writer = new LossyWriter({
    sink: (bytes) => {
      if (full) throw new Error('ENOSPC');
      written.push(Buffer.from(bytes).toString());
    },
    notice: (dropped, reason) => `${dropped} dropped: ${reason}`,
    failed: (dropped, reason) => failures.push([dropped, reason]),
  });
  writer.write('one\n');
  full = true;
  writer.write('two\nthree\n');
  writer.write('four');
  full = false;
  writer.write('five\n');
  writer.write('six\n');
  expect(written.join('')).toBe('one\n\n3 dropped: ENOSPC\nfive\nsix\n');
  expect(failures).toEqual([
    [2, 'ENOSPC'],
    [3, 'ENOSPC'],
  ]);
});

test('a file is truncated by its writer, is appended after a close, and is retried while it cannot be opened', () => {
  const dir = mkdtempSync(join(tmpdir(), 'mcm log '));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const path = join(dir, 'log');
  const sink = new FileSink(path);
  sink.write(Buffer.from('one\n'));
  sink.close();
  sink.write(Buffer.from('two\n'));
  sink.close();
  expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const missing = new FileSink(join(dir, 'none', 'log'));
  const failures: number[] = [];
  const notice = (): string => 'dropped';
  const writer = new LossyWriter({ sink: missing.write, notice, failed: (dropped) => failures.push(dropped) });
  writer.write('lost\n');
  expect(failures).toEqual([1]);
});
