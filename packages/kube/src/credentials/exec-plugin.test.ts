import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { execAsker, readPlugin } from './exec-plugin.ts';

const CLUSTER = {
  server: 'https://api.example',
  'tls-server-name': 'kubernetes',
  'certificate-authority': 'ca.pem',
  extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'a' } }],
};

const ask = (exec: object, clock = new VirtualClock()) =>
  execAsker(
    readPlugin({ command: process.execPath, ...exec }, CLUSTER, 'CA', { name: 'the plugin', folder: '/' }),
    clock,
  );

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const answering = (status: string) => ({ args: ['-e', `console.log(JSON.stringify({ status: ${status} }))`] });
const INFO = answering('{ token: process.env.KUBERNETES_EXEC_INFO }');

const infoOf = async (exec: object): Promise<unknown> => {
  const { authorization = '' } = await ask(exec)();
  return JSON.parse(authorization.replace('Bearer ', ''));
};

test('a plugin that reads its standard input to the end does not hang', async () => {
  const script = 'process.stdin.on(\'data\', () => {}).on(\'end\', () => console.log(\'{"status":{"token":"t"}}\'))';
  expect(await ask({ args: ['-e', script] })()).toEqual({ authorization: 'Bearer t', clientCertificate: undefined });
});

test('a plugin gets the requested environment variables, and the cluster only if it wants it', async () => {
  const reported = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: { interactive: false },
  };
  expect(await infoOf(INFO)).toEqual(reported);
  const apiVersion = 'client.authentication.k8s.io/v1beta1';
  expect(await infoOf({ ...INFO, apiVersion, provideClusterInfo: true })).toEqual({
    ...reported,
    apiVersion,
    spec: {
      interactive: false,
      cluster: {
        server: 'https://api.example',
        'tls-server-name': 'kubernetes',
        'certificate-authority-data': Buffer.from('CA').toString('base64'),
        config: { audience: 'a' },
      },
    },
  });
});

test('the environment of a plugin is that of the process and its own', async () => {
  const status = answering("{ token: process.env.OWN + (process.env.PATH ? ' and PATH' : '') }");
  const env = [{ name: 'OWN', value: 'own' }];
  expect((await ask({ ...status, env })()).authorization).toBe('Bearer own and PATH');
});

test('the credentials of a plugin are cached until they expire', async () => {
  const clock = new VirtualClock();
  const end = new Date(clock.now().getTime() + 60_000).toISOString();
  const again = ask(answering(`{ token: String(process.pid), expirationTimestamp: '${end}' }`), clock);
  const first = await again();
  await clock.advance(59_999);
  expect(await again()).toBe(first);
  await clock.advance(1);
  expect(await again()).not.toEqual(first);
});

test('a plugin that hangs is ended, and the next request runs the plugin again', async () => {
  const clock = new VirtualClock();
  const folder = await mkdtemp(join(tmpdir(), 'exec-plugin-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const hung = join(folder, 'hung');
  const script = `if (!fs.existsSync('${hung}')) { fs.writeFileSync('${hung}', String(process.pid)); setInterval(() => {}, 1_000); }
    else console.log('{"status":{"token":"t"}}')`;
  const again = ask({ args: ['-e', script] }, clock);
  const first = again();
  const refused = expect(first).rejects.toThrow('the program did not end within 5 minutes');
  const pid = await vi.waitUntil(async () => Number(await readFile(hung, 'utf8').catch(() => '')), 10_000);
  await clock.advance(300_000);
  await refused;
  expect((await again()).authorization).toBe('Bearer t');
  await vi.waitUntil(() => !isRunning(pid), 10_000);
});

test.each<[what: string, exec: object, words: string]>([
  ['no command', { command: '' }, 'exec.command is missing'],
  ['another version', { apiVersion: 'client.authentication.k8s.io/v1alpha1' }, 'exec.apiVersion is client'],
  ['a terminal', { interactiveMode: 'Always' }, 'set IfAvailable or Never'],
])('the error for a plugin that cannot work names its field: %s', (_what, exec, words) => {
  expect(() => ask(exec)).toThrow(words);
});

test.each<[what: string, exec: object, words: string]>([
  ['its hint', { command: 'no-such-program', installHint: 'Install it with brew.' }, 'ENOENT; Install it with brew.'],
  ['its own words', { args: ['-e', "process.stderr.write('log in first'); process.exit(1)"] }, 'log in first'],
  ['its exit code', { args: ['-e', 'process.exit(3)'] }, 'the program exited with 3'],
  ['what is missing', answering('{}'), 'the output contains no status.token'],
  ['half a pair', answering("{ clientCertificateData: 'c' }"), 'the output contains no status.token'],
  ['a bad date', answering("{ token: 't', expirationTimestamp: 'soon' }"), 'status.expirationTimestamp'],
])('a plugin failure is reported with %s', async (_what, exec, words) => {
  await expect(ask(exec)()).rejects.toThrow(words);
});
