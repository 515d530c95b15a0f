import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ROOT } from '../docs/sources.ts';

/** Prints each module of a cloud SDK when a process loads it. */
const HOOK = `import { registerHooks } from 'node:module';
registerHooks({ resolve: (name, context, next) => {
  if (/^@(aws-sdk\\/client|azure\\/arm|google-cloud\\/compute)/.test(name)) process.stderr.write('LOADS ' + name + '\\n');
  return next(name, context);
} });`;

const KUBECONFIG = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'c',
  clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:9' } }],
  users: [{ name: 'u', user: { token: 't' } }],
  contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
});

test('the AWS binary loads its SDK at its start, before the first reconcile', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcm-at-start-'));
  const [hook, kubeconfig] = [join(folder, 'hook.mjs'), join(folder, 'kubeconfig')];
  writeFileSync(hook, HOOK);
  writeFileSync(kubeconfig, KUBECONFIG);
  const main = join(ROOT, 'providers/aws/src/main.ts');
  const flags = [`--control-kubeconfig=${kubeconfig}`, '--target-kubeconfig=none', '--namespace=default', '--port=0'];
  const child = spawn(process.execPath, ['--conditions=source', `--import=${hook}`, main, ...flags], {
    env: { PATH: process.env.PATH, AWS_EC2_METADATA_DISABLED: 'true' },
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  const sdks = ['@aws-sdk/client-ec2', '@aws-sdk/client-sts'].map((name) => `LOADS ${name}`);
  let said = '';
  await new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        if (sdks.every((line) => said.includes(line))) resolve();
      });
    child.once('close', () => resolve());
  });
  for (const line of sdks) expect(said).toContain(line);
  expect(said).not.toContain('LOADS @azure');
});
