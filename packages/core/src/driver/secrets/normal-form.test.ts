import { USER_DATA_KEY } from '@mcm/api';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scrub } from './evidence-text.ts';
import { normalForm } from './normal-form.ts';
import { redact } from './redact.ts';

const chars = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~!$&()=?<>"\'/+éß€'];
const word = fc.string({ unit: fc.constantFrom(...chars), minLength: 10, maxLength: 40 });
const secret = fc.tuple(word, fc.nat(9)).map(([text, digit]) => `q${text}${digit}z`);

const each = (text: string, how: (char: string) => string): string => [...text].map(how).join('');
const code = (char: string): number => char.codePointAt(0) ?? 0;
const bytes = (text: string): readonly string[] => Buffer.from(text).toString('hex').match(/../g) ?? [];
const special: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};
const u = (char: string): string => `\\u${code(char).toString(16).padStart(4, '0')}`;
const wrap = (text: string, width: number, end: string): string =>
  text.match(new RegExp(`.{1,${width}}`, 'g'))?.join(end) ?? '';

type Encoding = readonly [name: string, encode: (text: string, at: number) => string];
const ENCODINGS: readonly Encoding[] = [
  ['as it is', (text) => text],
  ['XML', (text) => each(text, (char) => special[char] ?? char)],
  ['XML in decimal', (text) => each(text, (char) => `&#${code(char)};`)],
  ['XML in hexadecimal', (text) => each(text, (char) => `&#x${code(char).toString(16).toUpperCase()};`)],
  ['Go JSON', (text) => JSON.stringify(text).slice(1, -1).replaceAll(/[<>&]/g, u)],
  ['unicode escapes', (text) => each(text, u)],
  ['unicode escapes in JSON', (text) => JSON.stringify(each(text, u)).slice(1, -1)],
  ['JSON in XML', (text) => each(JSON.stringify(text).slice(1, -1), (char) => special[char] ?? char)],
  ['JSON in JSON in JSON', (text) => [1, 2, 3].reduce((inner) => JSON.stringify(inner).slice(1, -1), text)],
  ['a URL', (text) => encodeURIComponent(text)],
  ['a URL, twice', (text) => encodeURIComponent(encodeURIComponent(text))],
  [
    'bytes of a program',
    (text) =>
      bytes(text)
        .map((byte) => `\\x${byte}`)
        .join(''),
  ],
  ['hexadecimal', (text) => bytes(text).join('')],
  ['large hexadecimal', (text) => bytes(text).join('').toUpperCase()],
  ['hexadecimal with colons', (text) => bytes(text).join(':')],
  ['hexadecimal with spaces', (text) => wrap(bytes(text).join(' '), 47, '\n')],
  [
    'hexadecimal of C',
    (text) =>
      bytes(text)
        .map((byte) => `0x${byte}`)
        .join(', '),
  ],
  ['large letters', (text) => each(text, (char) => (char < '\u0080' ? char.toUpperCase() : char))],
  ['small letters', (text) => each(text, (char) => (char < '\u0080' ? char.toLowerCase() : char))],
  ['split at a space', (text, at) => `${text.slice(0, 1 + (at % 8))} ${text.slice(1 + (at % 8))}`],
  ['split by an escaped line end', (text, at) => `${text.slice(0, 1 + (at % 8))}\\n${text.slice(1 + (at % 8))}`],
  ['base64', (text, at) => Buffer.from(`${'x'.repeat(at % 4)}${text}yy`).toString('base64')],
  ['base64url', (text) => Buffer.from(text).toString('base64url')],
  ['wrapped base64', (text) => wrap(Buffer.from(`user:${text}`).toString('base64'), 8, '\n')],
  ['wrapped base64 in JSON', (text) => wrap(Buffer.from(`user:${text}`).toString('base64'), 8, '\\r\\n')],
  ['wrapped base64 in XML', (text) => wrap(Buffer.from(`user:${text}`).toString('base64'), 8, '&#xA;')],
];

type Place = readonly [name: string, of: (text: string) => { readonly key: string; readonly value: string }];
const PLACES: readonly Place[] = [
  ['a value', (text) => ({ key: 'password', value: text })],
  ['a line of a value', (text) => ({ key: 'config', value: `[default]\n${text}\nregion = eu\n` })],
  ['a value of a key file', (text) => ({ key: 'json', value: JSON.stringify({ type: 'x', client_secret: text }) })],
  [
    'a nested value of a key file',
    (text) => ({ key: 'json', value: JSON.stringify({ a: [{ b: { authToken: text } }] }) }),
  ],
  [
    'a key file within a key file',
    (text) => ({ key: 'json', value: JSON.stringify({ file: JSON.stringify({ key: text }) }) }),
  ],
  ['below a secret key', (text) => ({ key: 'json', value: JSON.stringify({ credentials: { value: [text] } }) })],
  ['a long line of user data', (text) => ({ key: USER_DATA_KEY, value: `#!/bin/sh\njoin --with ${text}\ndone\n` })],
];

const shows = (said: string, value: string): boolean => normalForm(said).text.includes(normalForm(value).text);

test.each(PLACES)('%s is removed in every encoding, and the text around it stays', (_name, placeOf) => {
  fc.assert(
    fc.property(secret, fc.constantFrom(...ENCODINGS), fc.nat(100), (value, [, encode], at) => {
      const { key, value: stored } = placeOf(value);
      const shown = encode(key === USER_DATA_KEY ? `join --with ${value}` : value, at);
      const text = `RunInstances failed: [${shown}] (HTTP 403)`;
      const said = redact(text, { [key]: stored });
      expect(said).not.toContain(shown);
      expect(shows(said, value)).toBe(false);
      expect(said).toMatch(/^RunInstances failed: \[[\s\S]*\*\*\*[\s\S]*\] \(HTTP 403\)$/);
      const kept = scrub(text, { secrets: { [key]: stored }, tokens: [] });
      expect(kept).not.toContain(shown);
      expect(shows(kept, value)).toBe(false);
    }),
    { numRuns: Number(process.env.MCM_REDACTION_RUNS ?? 40) },
  );
});

test.each([
  ['password=hunter2', 'hunter2'],
  ['token: a1b2', 'a1b2'],
  ['PIN_KEY="9z8y7x"', '9z8y7x'],
  ['--token q1w2e3', 'q1w2e3'],
  ['Xk9!pQ2r', 'Xk9!pQ2r'],
])('the secret of a short line of user data is removed: %s', (line, hidden) => {
  const said = redact(`cloud-init: bad value ${hidden}, again ${Buffer.from(hidden).toString('hex')}`, {
    [USER_DATA_KEY]: `#!/bin/sh\nset -eu\n${line}\ndone\n`,
  });
  expect(said).not.toContain(hidden);
  expect(said).toMatch(/^cloud-init: bad value \*\*\*, again/);
});

test('a single word of a value with several words is removed, and ordinary words stay', () => {
  const said = redact('cannot use tok3n-abcdef, but the words stay', { token: 'the words tok3n-abcdef stay' });
  expect(said).toBe('cannot use ***, but the words stay');
});

test.each([
  'cloud-init: set -eu; done; exit 0; sleep 10; echo ok; apt update',
  'machine m-1 in zone eu-west-1a: 42 of 50 volumes, 10:31:07, 0x1f, 5f:3a',
  'https://oauth2.googleapis.com/token answered 403 &amp; "\\u003cnone\\u003e" at 100%25',
  'région, größer, 日本語 and 🙂 stay as they are\n\tin their lines',
])('an ordinary text stays unchanged: %s', (text) => {
  const secrets = {
    password: 'hunter2/hunter2',
    json: JSON.stringify({ token_uri: 'https://oauth2.googleapis.com/token', private_key: 'kkkk-1234-llll' }),
    [USER_DATA_KEY]: '#!/bin/sh\nset -eu\nsleep 10\necho ok\napt update\nfi\ndone\nexit 0\n',
  };
  expect(redact(text, secrets)).toBe(text);
  expect(scrub(text, { secrets, tokens: [] })).toBe(text);
});
