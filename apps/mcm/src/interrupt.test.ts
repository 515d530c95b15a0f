import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, test } from 'vitest';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));
/** An API server that takes every request and answers none. */
let silent: Server;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mcm-interrupt-'));
  mkdirSync(join(folder, 'logs'));
  writeFileSync(join(folder, 'logs/cloud.log'), 'begun\n');
  silent = createServer((socket) => void socket.on('error', () => undefined)); // The one who asked is ended.
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const server = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const kubeconfig = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  };
  writeFileSync(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig));
});
afterAll(() => {
  silent.close();
  rmSync(folder, { recursive: true });
});

test.for([
  ['rollout status workers', 130, null],
  // What only reads leaves the signal to the system: a shell tells 130 of it. It has several connections, of which others would hear.
  ['explain machinedeployment/workers', null, 'SIGINT'],
  ['logs --follow', 0, null],
] as const)(
  'mcm %s, interrupted while it waits, ends at once and without a word',
  async ([words, code, signal], { expect }) => {
    const args = ['--conditions=source', main, ...words.split(' '), '--data-dir', folder];
    const asked = words.startsWith('logs') ? undefined : once(silent, 'connection');
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
