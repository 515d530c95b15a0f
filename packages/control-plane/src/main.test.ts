import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { isThorough } from './thorough.testing.ts';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));
const running = new Set<ChildProcess>();
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'control plane '));
});

afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
  rmSync(dir, { recursive: true });
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function launch(...args: string[]): { child: ChildProcess; ready: Promise<string>; ended: Promise<Ended> } {
  const child = spawn(process.execPath, ['--conditions=source', MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let stdout = '';
  let stderr = '';
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => {
      running.delete(child);
      resolve({ code, stdout, stderr });
    });
  });
  const ready = new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
      const match = /^ready (https:\S+)\n/.exec(stdout);
      if (match?.[1] !== undefined) resolve(match[1]);
    });
    void ended.then((end) => reject(new Error(`ended with ${end.code}: ${end.stderr}`)));
  });
  ready.catch(() => undefined);
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  return { child, ready, ended };
}

interface Kubeconfig {
  readonly clusters: readonly [{ cluster: { server: string; 'certificate-authority-data': string } }];
  readonly users: readonly [{ user: { token: string } }];
}

function call(file: string, method: string, path: string, body?: object): Promise<{ status: number; text: string }> {
  const config = parse(readFileSync(file, 'utf8')) as Kubeconfig;
  const { cluster } = config.clusters[0];
  const ca = Buffer.from(cluster['certificate-authority-data'], 'base64');
  const headers = { authorization: `Bearer ${config.users[0].user.token}`, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = request(`${cluster.server}${path}`, { method, ca, headers, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

test('after a kill at any instant and a restart, every answered write exists, and versions increase', async () => {
  const data = join(dir, 'data');
  const kubeconfig = join(dir, 'kubeconfig');
  writeFileSync(kubeconfig, 'of an earlier start', { mode: 0o644 });
  const first = launch('--data-dir', data, '--kubeconfig', kubeconfig);
  await first.ready;
  expect(statSync(kubeconfig).mode & 0o777).toBe(0o600);
  const answered: string[] = [];
  let version = 0;
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let index = 0; index < 1000; index++) {
      const name = `w${writer}-${index}`;
      const { status, text } = await call(kubeconfig, 'POST', CONFIG_MAPS, { metadata: { name } });
      expect(status).toBe(201);
      answered.push(name);
      const { metadata } = JSON.parse(text) as { metadata: { resourceVersion: string } };
      version = Math.max(version, Number(metadata.resourceVersion));
      if (answered.length === 60) first.child.kill('SIGKILL');
    }
  });
  await Promise.allSettled(writers);
  await first.ended;

  const second = launch('--data-dir', data, '--kubeconfig', kubeconfig);
  await second.ready;
  const { text } = await call(kubeconfig, 'GET', CONFIG_MAPS);
  const list = JSON.parse(text) as { metadata: { resourceVersion: string }; items: { metadata: { name: string } }[] };
  const names = new Set(list.items.map(({ metadata }) => metadata.name));
  expect(answered.filter((name) => !names.has(name))).toEqual([]);
  expect(Number(list.metadata.resourceVersion)).toBeGreaterThanOrEqual(version);
  second.child.kill('SIGTERM');
  expect(await second.ended).toMatchObject({ code: 0, stderr: '' });
});

test.runIf(isThorough)('a second process with the same folder or port is refused in one sentence', async () => {
  const data = join(dir, 'data');
  const first = launch('--data-dir', data);
  const url = await first.ready;
  const same = await launch('--data-dir', data).ended;
  expect(same).toMatchObject({ code: 1, stdout: '' });
  expect(same.stderr).toMatch(
    /^control-plane: the data folder .* is in use by another running control plane; use another --data-dir\n$/,
  );
  const port = new URL(url).port;
  const busy = await launch('--port', port).ended;
  expect(busy).toMatchObject({ code: 1, stdout: '' });
  expect(busy.stderr).toBe(`control-plane: port ${port} of 127.0.0.1 is in use by another program\n`);
});

test('a folder of another program is not changed', async () => {
  const data = join(dir, 'data');
  mkdirSync(data);
  writeFileSync(join(data, 'letters.txt'), 'dear');
  const refused = await launch('--data-dir', data).ended;
  expect(refused.code).toBe(1);
  expect(refused.stderr.trim().split('\n')).toHaveLength(1);
  expect(existsSync(join(data, 'store.sqlite'))).toBe(false);
});

test('the request log has one line for each answered request', async () => {
  const kubeconfig = join(dir, 'kubeconfig');
  const log = join(dir, 'requests');
  const plane = launch('--kubeconfig', kubeconfig, '--request-log', log, '--no-controllers');
  await plane.ready;
  await call(kubeconfig, 'POST', CONFIG_MAPS, { metadata: { name: 'x' } });
  await call(kubeconfig, 'GET', `${CONFIG_MAPS}/y`);
  plane.child.kill('SIGTERM');
  await plane.ended;
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { verb: 'create', resource: 'configmaps', namespace: 'default', code: 201 },
    { verb: 'get', resource: 'configmaps', name: 'y', code: 404 },
  ]);
});

test('--runtime-config serves an alpha API, unless it is false', async () => {
  const kubeconfig = join(dir, 'kubeconfig');
  for (const [value, status] of [
    ['true', 200],
    ['false', 404],
  ] as const) {
    const plane = launch('--kubeconfig', kubeconfig, `--runtime-config=lifecycle.k8s.io/v1alpha1=${value}`);
    await plane.ready;
    expect((await call(kubeconfig, 'GET', '/apis/lifecycle.k8s.io/v1alpha1')).status).toBe(status);
    plane.child.kill('SIGTERM');
    await plane.ended;
  }
});

const REFUSED: readonly (readonly [flags: readonly string[], reported: string])[] = [
  [['--memory', '--data-dir=x'], 'control-plane: --memory cannot be used together with --data-dir\n'],
  [['--data-dri=secret'], "control-plane: unknown flag '--data-dri' (Did you mean --data-dir?)\n"],
  [['--memory=secret'], 'control-plane: --memory takes no value\n'],
  [['--port', 'ninety'], 'The port must be a number from 0 to 65535.'],
  [['--advertise-address=127.0.0.1'], 'The address must be an IPv4 address outside of 127.0.0.0/8'],
  [['--runtime-config=lifecycle.k8s.io/v1'], 'The alpha versions are lifecycle.k8s.io/v1alpha1.'],
  [['--runtime-config=lifecycle.k8s.io/v1alpha1=yes'], 'must be true or false'],
];

// Each case starts a process, so only a thorough run contains all cases.
test.each(isThorough ? REFUSED : REFUSED.slice(0, 2))('the flags %j are refused', async (flags, reported) => {
  const { code, stderr } = await launch(...flags).ended;
  expect(code).toBe(1);
  if (reported.endsWith('\n')) expect(stderr).toBe(reported);
  else expect(stderr).toContain(reported);
});

test('a data folder that is a file is refused', async () => {
  const file = join(dir, 'file');
  writeFileSync(file, '');
  expect((await launch(`--data-dir=${file}`).ended).stderr).toBe(
    `control-plane: cannot use the data folder ${file}: it is not a folder; use another --data-dir\n`,
  );
});
