import { expect, test } from 'vitest';
import { endpointsInForce, SettingSources } from './settings.ts';

const read = (value: string, more: Readonly<Record<string, string>> = {}) =>
  new SettingSources({}, { CLOUD: value, ...more }).endpoint('cloud', ['CLOUD'])?.value.href;

test.each(['https://cloud.example.net', 'http://127.0.0.1:5000/', 'http://localhost:1', 'http://[::1]:1/x'])(
  '%s is accepted',
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
  expect(() => read(value, { MCM_ALLOW_PLAIN_HTTP: 'false' })).toThrow('plain http');
  expect(read(value, { MCM_ALLOW_PLAIN_HTTP: 'true' })).toBe(new URL(value).href);
});

test('an invalid endpoint is refused with the name of its variable, and its value is not printed', () => {
  for (const value of [
    ...['cloud.example.net:443', 'ftp://x', 'nonsense secret', 'https://user:secret@cloud.example.net'],
    'https://cloud.example.net/?token=secret',
  ])
    expect(() => read(value)).toThrow(expect.objectContaining({ message: expect.not.stringContaining('secret') }));
});

test('an empty variable counts as absent', () => {
  expect([read(''), new SettingSources({}, {}).endpoint('cloud', ['CLOUD'])]).toEqual([undefined, undefined]);
});

test('a flag precedes the variables, the first set variable counts, and only the effective one is checked', () => {
  const variables = { FIRST: '', SECOND: 'https://second.example/', THIRD: 'rubbish' };
  const of = (flags: Readonly<Record<string, unknown>>) =>
    endpointsInForce(new SettingSources(flags, variables).endpoint('cloud', ['FIRST', 'SECOND', 'THIRD']), undefined);
  expect(of({ cloud: '' })).toEqual({ SECOND: 'https://second.example' });
  expect(of({ cloud: 'https://flag.example:444/x' })).toEqual({ '--cloud': 'https://flag.example:444' });
  expect(() => of({ cloud: 'http://flag.example' })).toThrow(/^--cloud is http:/);
});

test('a switch that is given as a flag, on or off, precedes its variable, which is true or false', () => {
  const of = (flags: Readonly<Record<string, unknown>>, text: string) =>
    new SettingSources(flags, { ON: text }).switch('on', 'ON');
  expect(of({ on: undefined }, 'true')).toEqual({ name: 'ON', value: true });
  expect(of({ on: false }, 'true')).toEqual({ name: '--on', value: false });
  expect(of({}, '')).toBeUndefined();
  expect(() => of({}, 'yes')).toThrow('ON=yes must be true or false; correct or remove the variable');
  expect(new SettingSources({ 'allow-plain-http': false }, { MCM_ALLOW_PLAIN_HTTP: 'true' }).allowPlainHttp).toBe(
    false,
  );
});
