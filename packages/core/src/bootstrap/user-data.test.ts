import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { asksForToken, renderUserData, type UserDataValues } from './user-data.ts';

const text = (userData: string, given: UserDataValues): string =>
  Buffer.from(renderUserData(Buffer.from(userData), given)).toString();

const values = { machineName: 'foo-machine', bootstrapToken: 'abc123.0123456789abcdef' };

test.each<[row: string, userData: string, rendered: string]>([
  ['S-U2 no placeholder: unchanged', 'foobar', 'foobar'],
  [
    'S-U1 the token, at any position',
    'a <<BOOTSTRAP_TOKEN>> b <<BOOTSTRAP_TOKEN>>',
    'a abc123.0123456789abcdef b abc123.0123456789abcdef',
  ],
  [
    'S-U6 both forms of the name: only the plain one is replaced',
    '<<MACHINE_NAME>> %3C%3CMACHINE_NAME%3E%3E',
    'foo-machine %3C%3CMACHINE_NAME%3E%3E',
  ],
  ['S-U7 no placeholder of the name: the text is unchanged', 'foobar', 'foobar'],
  ['S-U9 only the escaped form: it is replaced', '%3C%3CMACHINE_NAME%3E%3E', 'foo-machine'],
  ['a dollar sign in the text has no special meaning', '$& <<MACHINE_NAME>> $1', '$& foo-machine $1'],
])('%s', (_row, userData, rendered) => {
  expect(text(userData, values)).toBe(rendered);
});

test('without a target cluster the token placeholder stays [S-U5]', () => {
  expect(text('<<BOOTSTRAP_TOKEN>> <<MACHINE_NAME>>', { machineName: 'm' })).toBe('<<BOOTSTRAP_TOKEN>> m');
});

test('an escaped placeholder gets an escaped value', () => {
  expect(text('%3C%3CBOOTSTRAP_TOKEN%3E%3E', { machineName: 'm', bootstrapToken: 'a b+c' })).toBe('a+b%2Bc');
});

test.each([
  ['<<BOOTSTRAP_TOKEN>>', true],
  ['x%3C%3CBOOTSTRAP_TOKEN%3E%3Ey', true],
  ['<BOOTSTRAP_TOKEN>', false],
])('the user data %s needs a bootstrap token: %s', (userData, asks) => {
  expect(asksForToken(Buffer.from(userData))).toBe(asks);
});

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, i) => i));

test('bytes without a placeholder stay as they are', () => {
  for (const bytes of [gzipSync('#cloud-config\n<<MACHINE_NAME>>\n'), ALL_BYTES]) {
    expect(asksForToken(bytes)).toBe(false);
    expect(renderUserData(bytes, values)).toBe(bytes);
  }
});

test('a placeholder among bytes that are not text is replaced, and every other byte stays', () => {
  const given = Buffer.concat([ALL_BYTES, Buffer.from('<<MACHINE_NAME>> é <<BOOTSTRAP_TOKEN>>'), ALL_BYTES]);
  const wanted = [ALL_BYTES, Buffer.from(`foo-machine é ${values.bootstrapToken}`), ALL_BYTES];
  expect(asksForToken(given)).toBe(true);
  expect(Buffer.from(renderUserData(given, values)).equals(Buffer.concat(wanted))).toBe(true);
});
