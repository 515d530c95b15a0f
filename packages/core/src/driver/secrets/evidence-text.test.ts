import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scrub } from './evidence-text.ts';

const SECRET = 'hunter2-hunter2';
const TOKEN = 'abc123.0123456789abcdef';
const USER_DATA = [
  '#!/bin/bash -eu',
  'kubeadm join --token <<BOOTSTRAP_TOKEN>> --node <<MACHINE_NAME>> --discovery-token-unsafe',
  'echo nothing',
].join('\n');
const known = { secrets: { password: SECRET, userData: USER_DATA }, tokens: [TOKEN] };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

test.each<[what: string, text: string, hidden: string]>([
  ['a value of a Secret', `login with ${SECRET} now`, SECRET],
  ['a bootstrap token', `join --token ${TOKEN}`, TOKEN],
  ['the secret half of a token', 'secret 0123456789abcdef', '0123456789abcdef'],
  ['a token of another machine', 'token zzz999.fedcba9876543210', 'fedcba9876543210'],
  ['URL-encoded', `?p=${encodeURIComponent('a b/c+d&e')}`, encodeURIComponent('a b/c+d&e')],
  ['in base64, alone', base64(SECRET), base64(SECRET).slice(0, 16)],
  ['in base64, within a longer text', base64(`x${SECRET}yy`), base64(`x${SECRET}yy`).slice(4, 20)],
  ['wrapped by the console', `hunter2-\r\nhunter2`, 'hunter2\n'],
  ['colored by the console', 'hunter2\u001b[31m-hunter2', 'hunter2\u001b'],
  ['a line of user data, rendered', 'kubeadm join --token x --node m-1 --discovery-token-unsafe', 'kubeadm join'],
  ['a private key', '-----BEGIN RSA PRIVATE KEY-----\nMIIabc\nMIIdef', 'MIIdef'],
  ['a web token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.sig-nature', 'eyJzdWIi'],
  ['an access key', 'key AKIAABCDEFGHIJKLMNOP', 'AKIAABCDEFGHIJKLMNOP'],
  ['an Authorization header', 'Authorization: Bearer abcdefgh', 'abcdefgh'],
  ['a password that is assigned', 'DB_PASSWORD=correct-horse', 'correct-horse'],
  ['a password in a URL', 'https://user:correct-horse@host/', 'correct-horse'],
])('removed: %s', (_what, text, hidden) => {
  const more = { secrets: { ...known.secrets, odd: 'a b/c+d&e' }, tokens: known.tokens };
  const result = scrub(`before ${text} after`, more);
  expect(result).not.toContain(hidden);
  expect(result).toContain('***');
  expect(result.startsWith('before ')).toBe(true);
  expect(result.endsWith(' after') || text.includes('PRIVATE KEY')).toBe(true);
});

test('text without secrets stays unchanged', () => {
  const text = '[ 12.3] cloud-init: disk \u001b[32mOK\u001b[0m\r\n  kernel 6.1.0-abc, 42 packages\n';
  expect(scrub(text, known)).toBe(text);
  expect(scrub(text, { secrets: {}, tokens: [] })).toBe(text);
});

test('gzip user data: its base64 and its unpacked text are removed', () => {
  const inner = `#cloud-config\n${'packages: [a, b, c]\n'.repeat(9)}join --with-this-password-of-the-pool\n`;
  const userData = gzipSync(inner);
  const packed = { secrets: { userData }, tokens: [] };
  const shown = scrub(
    `cloud-init: join --with-this-password-of-the-pool\nmetadata ${userData.toString('base64')} end`,
    packed,
  );
  expect(shown).not.toContain('with-this-password');
  for (let at = 0; at + 16 <= userData.length; at += 16)
    expect(shown).not.toContain(userData.subarray(at, at + 15).toString('base64'));
  expect(shown).toMatch(/^cloud-init: .* end$/s);
});

const alphabet = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~!$%&/()=?+#"\\ äß'];
const noise = fc.string({ unit: fc.constantFrom(...alphabet, '\n', '\t', '\u001b[1m'), maxLength: 200 });
const secret = fc
  .string({ unit: fc.constantFrom(...alphabet), minLength: 12, maxLength: 60 })
  .filter((text) => text.replace(/\s/g, '').length >= 12);
const token = fc
  .tuple(
    fc.string({ unit: fc.constantFrom(...'abcdefghij0123456789'), minLength: 6, maxLength: 6 }),
    fc.string({ unit: fc.constantFrom(...'klmnopqrst0123456789'), minLength: 16, maxLength: 16 }),
  )
  .map((parts) => parts.join('.'));

type Disguise = readonly [name: string, hide: (text: string, random: number) => string];
const DISGUISES: readonly Disguise[] = [
  ['plain', (text) => text],
  ['wrapped', (text, at) => `${text.slice(0, at % text.length)}\r\n${text.slice(at % text.length)}`],
  ['coloured', (text, at) => `${text.slice(0, at % text.length)}\u001b[33m${text.slice(at % text.length)}`],
  ['URL', (text) => encodeURIComponent(text)],
  ['JSON', (text) => JSON.stringify(text)],
  ['base64', (text, at) => base64('x'.repeat(at % 5) + text + 'y'.repeat(at % 3))],
];
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what terminals send
const bare = (text: string): string => text.replace(/\u001b\[[0-9;]*m/g, '').replace(/\s/g, '');

test('no secret, token or line of user data survives in any encoding (fuzz)', () => {
  fc.assert(
    fc.property(
      fc.record({ before: noise, after: noise, secret, token, line: secret }),
      fc.constantFrom('secret', 'token', 'line'),
      fc.constantFrom(...DISGUISES),
      fc.nat(10_000),
      (parts, which, [name, disguise], at) => {
        const value = parts[which as 'secret' | 'token' | 'line'];
        const shown = disguise(value, at);
        const text = `${parts.before}\n${shown}\n${parts.after}`;
        const result = scrub(text, {
          secrets: { key: parts.secret, userData: `#!/bin/sh\n${parts.line}\n` },
          tokens: [parts.token],
        });
        const forms = [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)].map(bare);
        for (const form of forms) expect(bare(result)).not.toContain(form);
        if (name === 'base64') expect(result).not.toContain(shown);
      },
    ),
  );
});

const LONG = 60_000;
/** The maximum CPU time: a linear scan of the text needs less, and a quadratic scan needs more. */
const MOST_CPU_MS = 2_000;
test.each<[what: string, part: string]>([
  ['line breaks', '\n'],
  ['blanks', ' '],
  ['starts of tokens', 'eyJ-'],
  ['starts of tokens in one word', '-eyJaaaaaaaaaa'],
  ['quotes', '"'],
  ['names of fields without a value', 'password:'],
  ['names of headers with many blanks', `bearer${' '.repeat(500)}`],
  ['starts of keys', '-----BEGIN PRIVATE KEY-----'],
  ['escape sequences', '\u001b[31m'],
])('the scan of a console with only %s is linear', (_what, part) => {
  const text = part.repeat(Math.ceil(LONG / part.length));
  const { user } = process.cpuUsage();
  scrub(text, known);
  expect((process.cpuUsage().user - user) / 1_000).toBeLessThan(MOST_CPU_MS);
});

test.each([
  ['an authorization header after many blanks', `authorization:${' '.repeat(300)}basic${' '.repeat(300)}`, 'c2VjcmV0'],
  ['a password on the next line', 'password:\n\n', 'tr0ub4dor'],
  ['the start of a JSON web token', '', 'eyJhbGciOiJSUzI1NiIsImtpZCI6'],
])('%s is removed', (_what, before, value) => {
  expect(scrub(`${before}${value}`, known)).not.toContain(value);
});

test('the keys of user data with placeholders are no secrets, and its other parts are', () => {
  const userData = '{"bootstrapToken":"<<BOOTSTRAP_TOKEN>>","nodeName":"<<MACHINE_NAME>>","password":"correct horse"}';
  const clean = (text: string): string => scrub(text, { secrets: { userData }, tokens: [] });
  expect(clean('{"providerId":"x","nodeName":"workers-1"}')).toBe('{"providerId":"x","nodeName":"workers-1"}');
  expect(clean('{"a":"b","password":"correct horse"}')).not.toContain('horse');
});
