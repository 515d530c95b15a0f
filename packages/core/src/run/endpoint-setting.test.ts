import { expect, test } from 'vitest';
import { endpointSetting } from './endpoint-setting.ts';

const read = (value: string, more: Readonly<Record<string, string>> = {}) =>
  endpointSetting('CLOUD', { CLOUD: value, ...more })?.href;

test.each(['https://cloud.example.net', 'http://127.0.0.1:5000/', 'http://localhost:1', 'http://[::1]:1/x'])(
  '%s is taken',
  (value) => {
    expect(read(value)).toBe(new URL(value).href);
  },
);

test.each([
  'http://cloud.example.net',
  'http://10.0.0.1:80',
  'http://127.0.0.1.example.net',
  'http://localhost.example.net',
])('%s is refused unless plain http is allowed', (value) => {
  expect(() => read(value)).toThrow(/^CLOUD is http:.*MCM_ALLOW_PLAIN_HTTP=true$/);
  expect(() => read(value, { MCM_ALLOW_PLAIN_HTTP: 'yes' })).toThrow('plain http');
  expect(read(value, { MCM_ALLOW_PLAIN_HTTP: 'true' })).toBe(new URL(value).href);
});

test('what is no endpoint is refused by the name of its variable, and not told', () => {
  for (const value of ['cloud.example.net:443', 'ftp://x', 'nonsense secret', 'https://user:secret@cloud.example.net'])
    expect(() => read(value)).toThrow(expect.objectContaining({ message: expect.not.stringContaining('secret') }));
});

test('an empty variable is none', () => {
  expect([read(''), endpointSetting('CLOUD', {})]).toEqual([undefined, undefined]);
});
