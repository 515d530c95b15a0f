import { expect, test } from 'vitest';
import { readHookWebhooks } from './config.ts';

const KEY = `whsec_${Buffer.alloc(32, 7).toString('base64')}\n`;
const PEM = '-----BEGIN CERTIFICATE-----\n';

const WEBHOOK = { name: 'backup', url: 'https://backup.example.org/hooks?of=mcm', keyFile: '/key' };

const read =
  (webhooks: unknown, files: Readonly<Record<string, string>> = {}) =>
  async (path: string): Promise<string> => {
    const all: Readonly<Record<string, string>> = { '/w': JSON.stringify(webhooks), '/key': KEY, '/ca': PEM, ...files };
    const text = all[path];
    if (text === undefined) throw new Error('no such file');
    return text;
  };

test('a webhook has a name, a URL, a key, authorities and a timeout', async () => {
  const [webhook] = await readHookWebhooks('/w', read({ webhooks: [{ ...WEBHOOK, caFile: '/ca', timeout: '3s' }] }));
  expect(await webhook?.keys.read()).toEqual({ keys: [Buffer.alloc(32, 7)] });
  expect(webhook).toEqual({
    name: 'backup',
    url: new URL('https://backup.example.org/hooks?of=mcm'),
    ca: PEM,
    keys: { read: expect.any(Function) },
    timeoutMs: 3_000,
  });
});

const change = (fields: object) => ({ webhooks: [{ ...WEBHOOK, ...fields }] });

test.each<[what: string, file: unknown, files: Readonly<Record<string, string>>, message: string]>([
  [
    'HTTP',
    change({ url: 'http://backup.example.org' }),
    {},
    'webhooks.0.url: must be an https URL, not "http://backup',
  ],
  ['a password', change({ url: 'https://me:x@b.example.org' }), {}, 'webhooks.0.url: must not contain a user'],
  ['a fragment', change({ url: 'https://b.example.org/#x' }), {}, 'webhooks.0.url: must not contain a fragment'],
  [
    'a short key',
    change({}),
    { '/key': 'whsec_c2hvcnQ=' },
    'webhooks.0.keyFile: must contain whsec_ and 24 to 64 bytes',
  ],
  ['a key without prefix', change({}), { '/key': 'x'.repeat(40) }, 'webhooks.0.keyFile: must contain whsec_'],
  ['three keys', change({}), { '/key': KEY.repeat(3) }, 'webhooks.0.keyFile: must contain at most 2 keys, not 3'],
  ['an empty key file', change({}), { '/key': '\n' }, 'webhooks.0.keyFile: must contain whsec_'],
  ['no key file', change({ keyFile: '/none' }), {}, 'webhooks.0.keyFile: cannot be read: no such file'],
  [
    'authorities without PEM',
    change({ caFile: '/ca' }),
    { '/ca': 'x' },
    'webhooks.0.caFile: contains no PEM certificate',
  ],
  ['a long timeout', change({ timeout: '5m' }), {}, 'webhooks.0.timeout: must be a duration above 0s and at most 30s'],
  ['an unknown field', change({ insecure: true }), {}, 'webhooks.0: Unrecognized key: "insecure"'],
  ['a name with spaces', change({ name: 'a b' }), {}, 'webhooks.0.name: must be a lowercase DNS name'],
  ['a repeated name', { webhooks: [WEBHOOK, WEBHOOK] }, {}, 'two webhooks have the name "backup"'],
  ['no list', {}, {}, 'webhooks: must be a list, but the field is missing'],
])('%s is refused with the field', async (_what, file, files, message) => {
  const failure = readHookWebhooks('/w', read(file, files));
  await expect(failure).rejects.toThrow(message);
  await expect(failure).rejects.toThrow('--hook-webhooks=/w');
});

test('a message about a key does not contain the key', async () => {
  const secret = 'not-a-key-but-still-confidential';
  const message = await readHookWebhooks('/w', read(change({}), { '/key': secret })).catch(String);
  expect(message).toContain('keyFile');
  expect(message).not.toContain(secret);
});

test('each call reads the keys again, and an invalid file keeps the last valid keys', async () => {
  const files: Record<string, string> = {};
  const next = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
  const [webhook] = await readHookWebhooks('/w', (path) => read({ webhooks: [WEBHOOK] }, files)(path));
  files['/key'] = `${next}\n${KEY}`;
  const both = [Buffer.alloc(32, 8), Buffer.alloc(32, 7)];
  expect(await webhook?.keys.read()).toEqual({ keys: both });
  files['/key'] = 'confidential';
  const broken = await webhook?.keys.read();
  expect(broken?.keys).toEqual(both);
  expect(broken?.problem).toContain('webhooks.0.keyFile: must contain whsec_');
  expect(broken?.problem).not.toContain('confidential');
  files['/key'] = next;
  expect(await webhook?.keys.read()).toEqual({ keys: [Buffer.alloc(32, 8)] });
});
