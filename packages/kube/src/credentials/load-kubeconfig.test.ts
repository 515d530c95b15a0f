import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { issueAuthority, issueServing } from '../admission/self-made/issue.ts';
import type { ServingPair } from '../admission/server.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { type FilesNews, followFiles } from './follow-files.ts';
import { inClusterConfig } from './in-cluster.ts';
import { loadKubeconfig } from './load-kubeconfig.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kube config '));
});
afterEach(() => rm(folder, { recursive: true }));

let one: ServingPair;
let two: ServingPair;
let old: ServingPair;
beforeAll(async () => {
  const pair = async (days = 1) => {
    const validity = { from: new Date(Date.UTC(2025, 0)), until: new Date(Date.UTC(2026, 0, 1 + days)) };
    return issueServing(await issueAuthority(validity), ['client'], validity);
  };
  one = await pair();
  two = await pair();
  old = await pair(-1);
});

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
  test('a kubeconfig can contain a token and a CA', async () => {
    const loaded = await load(
      config({ token: 'abc' }, { 'certificate-authority-data': base64(one.cert), 'tls-server-name': 'kubernetes' }),
    );
    expect(loaded).toMatchObject({
      server: 'https://api:6443',
      ca: one.cert,
      tlsServerName: 'kubernetes',
      namespace: 'garden',
    });
    expect(await loaded.authorization?.()).toBe('Bearer abc');
  });

  test('client certificates are read from the kubeconfig, or from files next to it', async () => {
    await writeFile(join(folder, 'key.pem'), one.key);
    const loaded = await load(config({ 'client-certificate-data': base64(one.cert), 'client-key': 'key.pem' }));
    expect(loaded.clientCertificate).toEqual({ certificate: one.cert, key: one.key });
    expect(loaded.authorization).toBeUndefined();
  });

  test('a token file is read again after a minute, immediately after a 401, and may be missing for a moment', async () => {
    const clock = new VirtualClock();
    const file = join(folder, 'token');
    await writeFile(file, 'first\n');
    const loaded = await load(config({ tokenFile: 'token' }), clock);
    expect(loaded.from).toEqual({ authorization: file });
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
    await symlink(process.execPath, join(folder, 'plugin'));
    for (const command of [process.execPath, './plugin']) {
      const loaded = await load(config({ exec: { ...exec, command } }));
      expect(await loaded.authorization?.()).toBe('Bearer from-plugin');
    }
  });

  test('an exec plugin runs once for many requests, and again after its credentials expired or were refused', async () => {
    const clock = new VirtualClock();
    const news: FilesNews[] = [];
    const given = (status: object) => writeFile(join(folder, 'given.json'), JSON.stringify(status));
    const script = `const { appendFileSync, readFileSync } = require('node:fs'); appendFileSync('asked', '.'); console.log(JSON.stringify({ status: JSON.parse(readFileSync('given.json')) }))`;
    await writeFile(join(folder, 'plugin.cjs'), `process.chdir(__dirname); ${script}`);
    const exec = { command: process.execPath, args: [join(folder, 'plugin.cjs')] };
    const path = join(folder, 'config');
    await writeFile(path, stringify(config({ exec })));
    const pair = ({ cert, key }: ServingPair) => ({ clientCertificateData: cert, clientKeyData: key });
    const asked = async () => (await readFile(join(folder, 'asked'), 'utf8')).length;

    await given({ ...pair(one), expirationTimestamp: '2020-01-01T00:00:00Z' });
    const loaded = await loadKubeconfig(path, { clock, onFiles: (each) => news.push(each) });
    expect(loaded.clientCertificate?.certificate).toBe(one.cert);
    await given({ ...pair(two), token: 'second' });
    const [config1, config2] = await Promise.all([loaded.latest?.(), loaded.latest?.()]);
    expect(config1?.clientCertificate).toEqual({ certificate: two.cert, key: two.key });
    expect(await config1?.authorization?.()).toBe('Bearer second');
    expect(config2).toBe(config1);
    expect(await asked()).toBe(2);

    await given({ token: 'third' });
    expect(await loaded.latest?.()).toBe(config1);
    loaded.lookAgain?.();
    const third = await loaded.latest?.();
    expect([await third?.authorization?.(), third?.clientCertificate]).toEqual(['Bearer third', undefined]);
    loaded.lookAgain?.();
    expect(await loaded.latest?.()).toBe(third);
    expect(await asked()).toBe(3);
    expect(news).toEqual([config1, third].map((each) => ({ kind: 'renewed', config: each })));

    await rm(join(folder, 'given.json'));
    await clock.advance(1_000);
    loaded.lookAgain?.();
    await expect(loaded.latest?.()).rejects.toThrow(
      /^the exec plugin .+ of kubeconfig .* returned no credentials \(.*ENOENT/,
    );
    expect(news.at(-1)).toMatchObject({ kind: 'unusable', sentence: expect.stringContaining('check the command') });
    await writeFile(join(folder, 'plugin.cjs'), 'console.log("canary")');
    await expect(loaded.latest?.()).rejects.toThrow('returned no credentials (the output is not JSON); check');
    const reported = news.length;
    await clock.advance(60_000);
    await expect(loaded.latest?.()).rejects.toThrow('is not JSON');
    expect(news.slice(reported)).toEqual([expect.objectContaining({ kind: 'unusable' })]);
    await writeFile(join(folder, 'plugin.cjs'), `process.chdir(__dirname); ${script}`);
    await given({ token: 'third' });
    await loaded.latest?.();
    expect(news.at(-1)).toMatchObject({ kind: 'renewed' });
  });

  test.each([
    ['no current context', { ...config({}), 'current-context': '' }, 'has no current-context'],
    ['a missing context', { ...config({}), 'current-context': 'two' }, 'has no context "two" in contexts'],
    ['a missing user', { ...config({}), users: [] }, 'has no user "u" in users'],
    ['no server', config({}, { server: '' }), 'cluster.server must be an http(s) URL'],
    [
      'a key without its certificate',
      config({ 'client-key-data': base64('KEY') }),
      'only one of client-certificate and client-key',
    ],
    [
      'a missing file',
      config({ 'client-certificate': 'gone.pem', 'client-key': 'gone.key' }),
      'client-certificate gone.pem cannot be read',
    ],
    ['impersonation', config({ as: 'admin' }), 'user.as (impersonation) is not supported'],
    ['impersonation, extra', config({ 'as-user-extra': { a: ['b'] } }), 'user.as-user-extra (impersonation) is not'],
    [
      'an auth-provider',
      config({ 'auth-provider': { name: 'ldap' } }),
      'user.auth-provider.name is "ldap"; use one of',
    ],
    [
      'a proxy',
      config({}, { 'proxy-url': 'ftp://proxy' }),
      'cluster.proxy-url must be an http://, https:// or socks5://',
    ],
    ['a list', '- a', 'is not a mapping'],
  ])('%s is one clear sentence', async (_title, content, words) => {
    await expect(load(content)).rejects.toThrow(words);
  });

  test('broken YAML is refused without quoting it', async () => {
    const error = await load('users: [{user: {token: sesame').catch((reason: unknown) => reason);
    expect(String(error)).toContain('is not YAML');
    expect(String(error)).not.toContain('sesame');
  });

  test('a context is selected by name', async () => {
    const path = join(folder, 'config');
    const more = { ...config({ token: 'abc' }), 'current-context': 'gone' };
    await writeFile(path, stringify(more));
    expect(await loadKubeconfig(path, { context: 'one' })).toMatchObject({ namespace: 'garden' });
    await expect(loadKubeconfig(path, { context: 'ona' })).rejects.toThrow('in contexts; did you mean "one"?');
  });

  test('several files are merged: the first file with a name wins, and missing files are ignored', async () => {
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
      'no file in this list exists',
    );
  });

  test('a missing file names its path', async () => {
    await expect(loadKubeconfig(join(folder, 'nope'))).rejects.toThrow(/kubeconfig .*nope does not exist/);
  });
});

describe('changed files', () => {
  const follow = async () => {
    const [clock, news] = [new VirtualClock(), [] as FilesNews[]];
    const path = join(folder, 'config');
    const file = (name: string, text: string) => writeFile(join(folder, name), text);
    const put = (server = 'https://api:6443') =>
      file(
        'config',
        stringify(
          config(
            { 'client-certificate': 'c.pem', 'client-key': 'k.pem' },
            { server, 'certificate-authority': 'ca.pem' },
          ),
        ),
      );
    await Promise.all([put(), file('c.pem', one.cert), file('k.pem', one.key), file('ca.pem', one.cert)]);
    const loaded = await loadKubeconfig(path, { clock, onFiles: (each) => news.push(each) });
    const latest = async () => (await loaded.latest?.()) ?? loaded;
    return { clock, news, loaded, latest, file, put };
  };
  const pairOf = ({ cert, key }: ServingPair) => ({ certificate: cert, key });

  test('a new pair and a new authority are used after a minute, or immediately after a refusal', async () => {
    const { clock, news, loaded, latest, file } = await follow();
    expect(loaded.from).toMatchObject({ ca: join(folder, 'ca.pem'), clientCertificate: join(folder, 'c.pem') });
    await Promise.all([file('c.pem', two.cert), file('k.pem', two.key)]);
    await clock.advance(59_000);
    expect((await latest()).clientCertificate).toEqual(pairOf(one));
    await clock.advance(1_000);
    const [first, second] = await Promise.all([latest(), latest()]);
    expect(first.clientCertificate).toEqual(pairOf(two));
    expect(second).toBe(first);
    expect(news).toEqual([{ kind: 'renewed', config: first }]);
    await file('ca.pem', `${one.cert}${two.cert}`);
    loaded.lookAgain?.();
    expect(await latest()).toBe(first); // Hundreds of refused requests cause only one read of the files.
    await clock.advance(1_000);
    expect((await latest()).ca).toBe(`${one.cert}${two.cert}`);
    await clock.advance(59_000);
    await latest();
    expect(news).toHaveLength(2);
    await clock.advance(1_000);
    await latest();
    expect(news.map(({ kind }) => kind)).toEqual(['renewed', 'renewed', 'as-before']);
  });

  test('invalid files are reported with their names and a hint, and the previous configuration stays in use', async () => {
    const { clock, news, latest, file, put } = await follow();
    const looked = async (change: () => Promise<void>) => {
      await change();
      await clock.advance(60_000);
      expect((await latest()).clientCertificate).toEqual(pairOf(one));
      return news.at(-1);
    };
    const unusable = (sentence: string) => ({
      kind: 'unusable',
      sentence: `${sentence}; continuing with the previous configuration`,
    });
    const at = (name: string) => join(folder, name);
    expect(await looked(() => file('k.pem', two.key))).toEqual(
      unusable(`${at('c.pem')} and ${at('k.pem')} do not match; use a certificate with its own key`),
    );
    expect(await looked(() => file('k.pem', one.key))).toEqual({ kind: 'as-before' });
    const putOld = async (): Promise<void> => {
      await Promise.all([file('c.pem', old.cert), file('k.pem', old.key)]);
    };
    expect(await looked(putOld)).toEqual(
      unusable(`${at('c.pem')} expired at 2025-12-31T00:00:00.000Z; issue a new certificate`),
    );
    await Promise.all([file('c.pem', one.cert), file('k.pem', one.key)]);
    expect(await looked(() => file('ca.pem', ''))).toEqual(
      unusable(`${at('ca.pem')} is not a PEM certificate; replace the file content with a PEM certificate`),
    );
    expect(await looked(() => rm(at('ca.pem')))).toMatchObject({
      sentence: expect.stringContaining(
        `kubeconfig ${at('config')}: certificate-authority ca.pem cannot be read: ENOENT`,
      ),
    });
    await file('ca.pem', one.cert);
    expect(await looked(() => put('https://other:6443'))).toEqual(
      unusable(
        'the files contain another API server address (https://other:6443, previously https://api:6443); to use the new address, restart the process',
      ),
    );
  });

  test('a token in a kubeconfig is updated when the file changes', async () => {
    const clock = new VirtualClock();
    const loaded = await load(config({ token: 'first' }), clock);
    await load(config({ token: 'second' }), clock);
    await clock.advance(60_000);
    expect(await (await loaded.latest?.())?.authorization?.()).toBe('Bearer second');
  });
});

describe('in-cluster', () => {
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
  const inCluster = () => {
    const clock = new VirtualClock();
    return followFiles((readText) => inClusterConfig(env, { clock, readText, folder }), { clock });
  };

  test('an in-cluster client reads the files of the service account', async () => {
    await Promise.all([
      writeFile(join(folder, 'token'), 'sa'),
      writeFile(join(folder, 'ca.crt'), one.cert),
      writeFile(join(folder, 'namespace'), 'garden\n'),
    ]);
    const loaded = await inCluster();
    expect(loaded).toMatchObject({ server: 'https://[fd00::1]:443', ca: one.cert, namespace: 'garden' });
    expect(await loaded.authorization?.()).toBe('Bearer sa');
  });

  test('an in-cluster client fails outside of a pod', async () => {
    await expect(loadKubeconfig('inClusterConfig', { env: {} })).rejects.toThrow(
      'the process does not run in a pod: KUBERNETES_SERVICE_HOST',
    );
  });

  test('an in-cluster client fails in a pod without a mounted token', async () => {
    await expect(inCluster()).rejects.toThrow('check that the volume is mounted');
  });
});
