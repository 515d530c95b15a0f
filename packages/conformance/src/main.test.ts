import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const ARGS = ['--conditions=source', here('./main.ts'), '--config', here('../examples/toy.yaml'), '--driver'];

let folder: string | undefined;
afterEach(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true });
  folder = undefined;
});

test('the last line is written to the pipe before the process ends', async () => {
  // The import error is larger than the buffer of a pipe. A process that exits too early would therefore truncate the
  // error.
  folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  const driver = join(folder, 'talkative.mjs');
  await writeFile(driver, "throw new Error('x'.repeat(2 ** 20) + ' the end');\n");
  const played = promisify(execFile)(process.execPath, [...ARGS, driver], { maxBuffer: 2 ** 24 });
  const { code, stdout } = await played.then(
    () => ({ code: 0, stdout: '' }),
    (error: { code: number; stdout: string }) => error,
  );
  expect(stdout.slice(-40)).toContain('the end');
  expect(code).toBe(2);
});

test('a closed pipe does not stop the run, and the exit code is that of the result', async () => {
  const child = spawn(process.execPath, [...ARGS, here('../examples/toy-driver.ts')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  child.stdout.destroy();
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect([code, said]).toEqual([0, '']);
});
