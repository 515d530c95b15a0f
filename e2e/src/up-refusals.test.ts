import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sharedBundle } from '@mcm/tools/bundles';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { mcm } from './harness/mcm.ts';

const program = await sharedBundle('mcm');
const PATIENCE_MS = 180_000;

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'mcm e2e '));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

describe('mcm up that does not start its fleet', () => {
  test('Ctrl-C stops everything with exit code 0, even before the fleet is ready', {
    timeout: PATIENCE_MS,
  }, async () => {
    const run = mcm(['up', '--no-tty'], { cwd, program });
    await run.line(/^control-plane ready/);
    run.child.kill('SIGINT');
    expect(await run.ended).toMatchObject({ code: 0 });
  });

  test('a port in use is refused with its number', { timeout: PATIENCE_MS }, async () => {
    const server: Server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    const run = await mcm(['up', '--no-tty', `--port=${port}`], { cwd, program }).ended;
    server.close();
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(new RegExp(`^mcm: control-plane: .*${port}.*\n$`));
  });

  test('a foreign directory is refused before anything starts', async () => {
    mkdirSync(join(cwd, 'thesis'));
    writeFileSync(join(cwd, 'thesis', 'chapter-1.txt'), 'mine');
    const run = await mcm(['up', '--data-dir', 'thesis'], { cwd, program }).ended;
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toMatch(/thesis contains files of other programs: use an empty or a new directory\n$/);
  });
});
