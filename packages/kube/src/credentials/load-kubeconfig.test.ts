import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { inClusterConfig } from './in-cluster.ts';
import { loadKubeconfig } from './load-kubeconfig.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kube config ')); // With spaces, as homes may have.
});
afterEach(() => rm(folder, { recursive: true }));

const base64 = (text: string) => Buffer.from(text).toString('base64');
const config = (user: object, cluster: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'one',
  contexts: [
    { name: 'other', context: { cluster: 'x', user: 'x' } },
    { name: 'one', context: { cluster: 'c', user: 'u', namespace: 'garden' } },
  ],
  clusters: [{ name: 'c', cluster: { server: 'https://api:6443', ...cluster } }],
  users: [{ name: 'u', user }],
});

async function load(content: unknown, clock = new VirtualClock()) {
  const path = join(folder, 'config');
  await writeFile(path, typeof content === 'string' ? content : stringify(content));
  return loadKubeconfig(path, { clock, env: {} });
}

describe('kubeconfig', () => {
  test('a token and a CA in the file', async () => {
    const loaded = await load(
      config({ token: 'abc' }, { 'certificate-authority-data': base64('CA'), 'tls-server-name': 'kubernetes' }),
    );
    expect(loaded).toMatchObject({
      server: 'https://api:6443',
      ca: 'CA',
      tlsServerName: 'kubernetes',
      namespace: 'garden',
    });
    expect(await loaded.authorization?.()).toBe('Bearer abc');
  });

  test('client certificates, in the file or beside it', async () => {
    await writeFile(join(folder, 'key.pem'), 'KEY');
    const loaded = await load(config({ 'client-certificate-data': base64('CERT'), 'client-key': 'key.pem' }));
    expect(loaded.clientCertificate).toEqual({ certificate: 'CERT', key: 'KEY' });
    expect(loaded.authorization).toBeUndefined();
  });

  test('a token file is read again after a minute, at once after a 401, and survives a moment of absence', async () => {
    const clock = new VirtualClock();
    const file = join(folder, 'token');
    await writeFile(file, 'first\n');
    const loaded = await load(config({ tokenFile: 'token' }), clock);
    expect(await loaded.authorization?.()).toBe('Bearer first');
    await writeFile(file, 'second');
    expect(await loaded.authorization?.()).toBe('Bearer first');
    await clock.advance(60_000);
    expect(await loaded.authorization?.()).toBe('Bearer second');
    await writeFile(file, 'third');
    loaded.forgetAuthorization?.();
    expect(await loaded.authorization?.()).toBe('Bearer third');
    await rm(file);
    await clock.advance(60_000);
    expect(await loaded.authorization?.()).toBe('Bearer third');
  });

  test('an exec plugin is run', async () => {
    const script = `console.log(JSON.stringify({apiVersion:'client.authentication.k8s.io/v1',kind:'ExecCredential',status:{token:'from-plugin'}}))`;
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', args: ['-e', script], interactiveMode: 'Never' };
    // A path is from where the kubeconfig is, as kubectl takes it.
    await symlink(process.execPath, join(folder, 'plugin'));
    for (const command of [process.execPath, './plugin']) {
      const loaded = await load(config({ exec: { ...exec, command } }));
      expect(await loaded.authorization?.()).toBe('Bearer from-plugin');
    }
  });

  test.each([
    ['no current context', { ...config({}), 'current-context': '' }, 'has no current-context'],
    ['a context that is not there', { ...config({}), 'current-context': 'two' }, 'has no context "two" in contexts'],
    ['a user that is not there', { ...config({}), users: [] }, 'has no user "u" in users'],
    ['no server', config({}, { server: '' }), 'cluster.server must be an http(s) URL'],
    [
      'a key without its certificate',
      config({ 'client-key-data': base64('KEY') }),
      'client-certificate and client-key belong together',
    ],
    [
      'a file that is missing',
      config({ 'client-certificate': 'gone.pem', 'client-key': 'gone.key' }),
      'client-certificate gone.pem cannot be read',
    ],
    ['impersonation', config({ as: 'admin' }), 'user.as (impersonation) is not supported'],
    ['a list', '- a', 'is not a mapping'],
  ])('%s is one clear sentence', async (_title, content, words) => {
    await expect(load(content)).rejects.toThrow(words);
  });

  test('broken YAML is refused without quoting it', async () => {
    const error = await load('users: [{user: {token: sesame').catch((reason: unknown) => reason);
    expect(String(error)).toContain('is not YAML');
    expect(String(error)).not.toContain('sesame');
  });

  test('a context that is asked for, by its name', async () => {
    const path = join(folder, 'config');
    const more = { ...config({ token: 'abc' }), 'current-context': 'gone' };
    await writeFile(path, stringify(more));
    expect(await loadKubeconfig(path, { context: 'one' })).toMatchObject({ namespace: 'garden' });
    await expect(loadKubeconfig(path, { context: 'ona' })).rejects.toThrow('in contexts; did you mean "one"?');
  });

  test('several files are one: the first that has a name counts, those that are not there do not', async () => {
    const [first, second] = [join(folder, 'a', 'config'), join(folder, 'b', 'config')];
    await Promise.all(['a', 'b'].map((name) => mkdir(join(folder, name))));
    await writeFile(join(folder, 'b', 'token'), 'beside the second');
    const whole = config({ tokenFile: 'token' });
    await writeFile(
      first,
      stringify({ 'current-context': 'one', clusters: [{ name: 'c', cluster: { server: 'https://first' } }] }),
    );
    await writeFile(second, stringify({ ...whole, 'current-context': 'other' }));
    const loaded = await loadKubeconfig([join(folder, 'gone'), first, second], { clock: new VirtualClock() });
    expect(loaded).toMatchObject({ server: 'https://first', namespace: 'garden' });
    expect(await loaded.authorization?.()).toBe('Bearer beside the second');
    await expect(loadKubeconfig([join(folder, 'gone'), join(folder, 'none')])).rejects.toThrow(
      'none of these files is there',
    );
  });

  test('a missing file names its path', async () => {
    await expect(loadKubeconfig(join(folder, 'nope'))).rejects.toThrow(/kubeconfig .*nope cannot be read \(ENOENT\)/);
  });
});

describe('in-cluster', () => {
  test("takes the service account's files", async () => {
    await Promise.all([
      writeFile(join(folder, 'token'), 'sa'),
      writeFile(join(folder, 'ca.crt'), 'CA'),
      writeFile(join(folder, 'namespace'), 'garden\n'),
    ]);
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
    const loaded = await inClusterConfig(env, new VirtualClock(), folder);
    expect(loaded).toMatchObject({ server: 'https://[fd00::1]:443', ca: 'CA', namespace: 'garden' });
    expect(await loaded.authorization?.()).toBe('Bearer sa');
  });

  test('outside of a pod it says so', async () => {
    await expect(loadKubeconfig('inClusterConfig', { env: {} })).rejects.toThrow(
      'this is not a pod: KUBERNETES_SERVICE_HOST',
    );
  });

  test('a pod without a mounted token says so', async () => {
    const env = { KUBERNETES_SERVICE_HOST: 'h', KUBERNETES_SERVICE_PORT: '443' };
    await expect(inClusterConfig(env, new VirtualClock(), folder)).rejects.toThrow('is it mounted?');
  });
});
