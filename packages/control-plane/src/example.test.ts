import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const EXAMPLE = fileURLToPath(new URL('../examples/greeter.ts', import.meta.url));

test('the example of the README works as described', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=source', EXAMPLE]);
  expect(stdout).toBe('a greeting without a name is refused with 422\nHello, stranger!\n');
});
