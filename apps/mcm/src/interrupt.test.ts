import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, test } from 'vitest';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));
let stalled: Server;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mcm-interrupt-'));
  mkdirSync(join(folder, 'logs'));
  writeFileSync(join(folder, 'logs/cloud.log'), 'begun\n');
  stalled = createServer((socket) => void socket.on('error', () => undefined));
  stalled.listen(0, '127.0.0.1');
  await once(stalled, 'listening');
  const server = `http://127.0.0.1:${(stalled.address() as AddressInfo).port}`;
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  };
  writeFileSync(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig));
});
afterAll(() => {
  stalled.close();
  rmSync(folder, { recursive: true });
});

test.for([
  ['rollout status workers', 130, null],
  ['explain machinedeployment/workers', null, 'SIGINT'],
  ['logs --follow', 0, null],
] as const)(
  'mcm %s ends at once and without output when it is interrupted',
  async ([words, code, signal], { expect }) => {
    const args = ['--conditions=source', main, ...words.split(' '), '--data-dir', folder];
    const asked = words.startsWith('logs') ? undefined : once(stalled, 'connection');
    const child = spawn(process.execPath, args, { env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const ended = once(child, 'exit');
    await (asked ?? once(child.stdout, 'data'));
    child.kill('SIGINT');
    expect(await ended).toEqual([code, signal]);
    expect(said).toBe('');
  },
);

test('mcm logs ends without a message when its reader closes the pipe', async ({ expect }) => {
  const args = ['--conditions=source', main, 'logs', '--data-dir', folder];
  const child = spawn(process.execPath, args, { env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  expect(await once(child, 'exit')).toEqual([141, null]);
  expect(said).toBe('');
});
