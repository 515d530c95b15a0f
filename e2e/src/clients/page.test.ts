import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../docs/sources.ts';

const page = readFileSync(join(ROOT, 'docs/control-plane.md'), 'utf8');
const MANIFEST = join(ROOT, 'packages/control-plane/package.json');

const block = (language: string): string => new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(page)?.[1] ?? '';

test('the TypeScript program of the page compiles, and prints the output of the page', async () => {
  expect(block('ts')).toBe(readFileSync(join(import.meta.dirname, 'control-plane-page.ts'), 'utf8'));
  const print = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  await import('./control-plane-page.ts');
  const lines = print.mock.calls.map(([line]) => String(line));
  print.mockRestore();
  expect(lines).toEqual(['FailureTarget: DeadlineExceeded,Failed: DeadlineExceeded', '0 pods']);
  for (const line of lines) expect(page).toContain(`\`${line}\``);
});

test('the command of the page writes a kubeconfig for clients that support only certificates', async () => {
  const [npx, name, ...args] = block('sh').trim().split(' ');
  expect([npx, name]).toEqual(['npx', '@mcm/control-plane']);
  // If a package has only one program, npx runs the program under any name.
  const { bin } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { bin: Readonly<Record<string, string>> };
  const [program = '', ...others] = Object.values(bin);
  expect(others).toEqual([]);
  const source = join(ROOT, 'packages/control-plane', program.replace('dist', 'src').replace(/js$/, 'ts'));
  const cwd = mkdtempSync(join(tmpdir(), 'control plane page '));
  const child = spawn(process.execPath, ['--conditions=source', source, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [ready] = (await once(child.stdout, 'data')) as [Buffer];
    expect(ready.toString()).toMatch(/^ready https:\/\/127\.0\.0\.1:\d+\n$/);
    const { clusters, users } = parse(readFileSync(join(cwd, 'kubeconfig'), 'utf8'));
    const decoded = (text: string): string => Buffer.from(text, 'base64').toString();
    const sent = request(`${clusters[0].cluster.server}/api/v1/namespaces/kube-system/configmaps`, {
      ca: decoded(clusters[0].cluster['certificate-authority-data']),
      cert: decoded(users[0].user['client-certificate-data']),
      key: decoded(users[0].user['client-key-data']),
      agent: false,
    });
    sent.end();
    const [answer] = await once(sent, 'response');
    expect(answer.statusCode).toBe(200);
    answer.resume();
  } finally {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
    rmSync(cwd, { recursive: true });
  }
});
