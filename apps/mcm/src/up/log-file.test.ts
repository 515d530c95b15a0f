import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { realClock } from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import { continueLog } from './log-file.ts';
import { Program } from './processes.ts';

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'mcm-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return { folder, log: join(folder, 'program.log') };
}

test('the log of a program keeps the lines of earlier starts of up', async () => {
  const { folder, log } = setUp();
  const program = join(folder, 'program.mjs');
  writeFileSync(program, "console.log('ready http://127.0.0.1:1'); setInterval(() => undefined, 1000);");
  const start = async (): Promise<void> => {
    continueLog(log);
    const spec = { name: 'test', module: pathToFileURL(program).href, args: [], logFile: log };
    const running = new Program(spec, { clock: realClock, onChange: () => undefined });
    await running.start();
    await running.stop();
  };
  await start();
  await start();
  expect(readFileSync(log, 'utf8')).toBe('ready http://127.0.0.1:1\n'.repeat(2));
});

test('ends an incomplete line, and creates no log', () => {
  const { log } = setUp();
  continueLog(log);
  expect(existsSync(log)).toBe(false);
  writeFileSync(log, 'a\nkilled he');
  continueLog(log);
  continueLog(log);
  expect(readFileSync(log, 'utf8')).toBe('a\nkilled he\n');
});

test('moves a large log aside', () => {
  const { log } = setUp();
  writeFileSync(log, 'x'.repeat(11));
  continueLog(log, 10);
  expect([existsSync(log), readFileSync(`${log}.1`, 'utf8')]).toEqual([false, 'x'.repeat(11)]);
});
