import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mcm, ROOT } from './harness/mcm.ts';

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

const MAIN = join(ROOT, 'apps', 'mcm', 'src', 'main.ts');

/** What the workspace's script `mcm` runs, for a folder that is not the workspace. */
const MCM = `'${process.execPath}' --conditions=source '${MAIN}'`;

/** The commands of the README's tour, in order. */
const tour = [...readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/^```sh tour\n([\s\S]*?)^```$/gm)].map(
  (match) => (match[1] ?? '').replaceAll('npx -y pnpm@12 mcm', MCM),
);

test('the tour of the README has its commands', () => expect(tour.length).toBeGreaterThanOrEqual(4));

test.skipIf(!hasKubectl)(
  'the tour of the README works as it is written (needs kubectl)',
  { timeout: 400_000 },
  async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'mcm tour '));
    cpSync(join(ROOT, 'examples'), join(cwd, 'examples'), { recursive: true });
    const up = mcm(['up', '--no-tty'], { cwd });
    try {
      await up.line(/^ready: 3 machines Running/);
      const output = await shell(['set -eu', ...tour, 'kubectl get machines --no-headers'].join('\n'), cwd);
      const machines = output.trim().split('\n').slice(-5);
      for (const line of machines) expect(line).toMatch(/^workers-\S+\s+Running/);
    } finally {
      up.child.kill('SIGINT');
      expect(await up.ended).toMatchObject({ code: 0 });
      rmSync(cwd, { recursive: true, force: true });
    }
  },
);

function shell(script: string, cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', script], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('close', (code) =>
      code === 0 ? resolve(stdout) : reject(new Error(`the tour ended with ${code}\n${stdout}\n${stderr}`)),
    );
  });
}
