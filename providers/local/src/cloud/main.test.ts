import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sampled } from '@mcm/kube/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));

let dir: string;
let children: ChildProcess[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'local cloud '));
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

interface Started {
  readonly child: ChildProcess;
  readonly url: Promise<string>;
  readonly end: Promise<{ readonly code: number | null; readonly stderr: string }>;
}

function start(args: readonly string[], env: Record<string, string> = {}): Started {
  const child = spawn(process.execPath, ['--conditions=source', MAIN, '--log-level=warn', ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, ...env },
  });
  children.push(child);
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const end = once(child, 'exit').then(([code]) => ({ code: typeof code === 'number' ? code : null, stderr }));
  const url = new Promise<string>((resolve, reject) => {
    if (child.stdout)
      createInterface({ input: child.stdout }).once('line', (line) => resolve(line.replace(/^ready /, '')));
    void end.then(() => reject(new Error(`ended: ${stderr}`)));
  });
  url.catch(() => undefined);
  return { child, url, end };
}

const launch = async (url: string): Promise<{ id: string; state: string }> => {
  const body = JSON.stringify({ name: 'vm', image: 'linux', clientToken: 'uid', userData: 'behaviour: {join: never}' });
  return (await fetch(`${url}/v1/instances?wait=running`, { method: 'POST', body })).json() as Promise<{
    id: string;
    state: string;
  }>;
};

describe('local-cloud', () => {
  test('local-cloud keeps its instances after SIGKILL and SIGTERM, and ends when its parent process ends', async () => {
    const args = ['--data-dir', join(dir, 'a folder')];
    const first = start(args);
    const { id, state } = await launch(await first.url);
    expect(state).toBe('running');
    first.child.kill('SIGKILL');
    await first.end;
    const second = start(args);
    expect((await launch(await second.url)).id).toBe(id);
    second.child.kill('SIGTERM');
    expect(await second.end).toMatchObject({ code: 0 });
    const third = start(args);
    expect((await launch(await third.url)).id).toBe(id);
    third.child.disconnect();
    expect(await third.end).toMatchObject({ code: 0 });
  });

  test('local-cloud requires the token of its environment', async () => {
    const url = await start([], { MCM_LOCAL_CLOUD_TOKEN: 'secret' }).url;
    expect((await fetch(`${url}/v1/instances`)).status).toBe(401);
    const headers = { authorization: 'Bearer secret' };
    expect((await fetch(`${url}/v1/instances`, { headers })).status).toBe(200);
  });

  test('local-cloud refuses requests from a page of another origin', async () => {
    const { url } = start(['--memory']);
    const order = { method: 'POST', body: '{}', headers: { origin: 'http://evil.example' } };
    expect((await fetch(`${await url}/v1/instances`, order)).status).toBe(403);
    expect((await fetch(`${await url}/faults`, order)).status).toBe(403);
  });

  test('a port in use, a foreign store and a second instance are refused with one sentence and without changes', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    expect(await start(['--port', String(port)]).end).toEqual({
      code: 1,
      stderr: `local-cloud: --port ${port} is in use: use another port, or 0 for any free port\n`,
    });
    server.close();

    writeFileSync(join(dir, 'cloud.sqlite'), 'my own notes '.repeat(20));
    const foreign = await start(['--data-dir', dir]).end;
    expect(foreign.code).toBe(1);
    expect(foreign.stderr).toMatch(/^.*cloud\.sqlite is damaged or not a store of local-cloud: .*\n$/);
    expect(readFileSync(join(dir, 'cloud.sqlite'), 'utf8')).toMatch(/^my own notes/);

    const args = ['--data-dir', join(dir, 'own')];
    await start(args).url;
    const second = await start(args).end;
    expect([second.code, second.stderr]).toEqual([1, expect.stringMatching(/another local-cloud uses/)]);
  });

  test.each(
    sampled<[readonly string[], RegExp]>(
      [
        [['--port=x'], /--port.*whole number from 0 to 65535/],
        [['--boot-latency=soon'], /--boot-latency.*duration such as/],
        [['--zones=A B'], /--zones.*lower-case/],
        [['--data-dir=x', '--memory'], /cannot be used with option '--memory'/],
        [['--kubelet-pod-shutdown=never'], /--kubelet-pod-shutdown.*grace, immediate/],
        [['--node-kubeconfig=/nowhere/kubeconfig'], /kubeconfig \/nowhere\/kubeconfig does not exist/],
        [['surplus'], /^local-cloud: surplus: is not a flag/],
      ],
      7,
    ),
  )('local-cloud refuses %j', async (args, message) => {
    const { code, stderr } = await start(args).end;
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });
});
