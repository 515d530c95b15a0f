import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { withCloud } from './connect.ts';

test('without a running instance, the message names the command for each provider', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcm-cloud-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  await expect(withCloud(folder, () => Promise.resolve('unused'))).rejects.toThrow(
    new RegExp(`^directory ${folder} has no running local instance; start an instance with: mcm up$`),
  );
});
