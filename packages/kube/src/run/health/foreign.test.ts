import type { IncomingHttpHeaders } from 'node:http';
import { expect, test } from 'vitest';
import { foreignRefusal } from './foreign.ts';

const statusOf = (headers: IncomingHttpHeaders, remoteAddress: string | undefined = '127.0.0.1'): number | undefined =>
  foreignRefusal({ socket: { remoteAddress }, headers })?.status;

test.each(['127.0.0.1:8080', 'localhost:8080', 'LOCALHOST', '[::1]:8080', 'mcm.localhost', '10.0.0.7:10258'])(
  'over loopback, the host %s is allowed',
  (host) => {
    expect(statusOf({ host })).toBeUndefined();
  },
);

test.each(['evil.example:8080', 'localhost.evil.example', '127.0.0.1.evil.example', 'notlocalhost', '', undefined])(
  'over loopback, the host %s is refused',
  (host) => {
    expect(statusOf(host === undefined ? {} : { host })).toBe(421);
    expect(statusOf(host === undefined ? {} : { host }, '::1')).toBe(421);
    expect(statusOf(host === undefined ? {} : { host }, '::ffff:127.0.0.1')).toBe(421);
  },
);

test.each([
  { origin: 'http://evil.example' },
  { origin: 'http://localhost:8081' },
  { origin: 'null' },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
])('a page of another origin is refused: %o', (headers) => {
  expect(statusOf({ host: 'localhost:8080', ...headers })).toBe(403);
});

test.each([
  { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'none' },
  { 'sec-fetch-site': 'same-origin' },
])('a page of the same origin is allowed: %o', (headers) => {
  expect(statusOf({ host: 'localhost:8080', ...headers })).toBeUndefined();
});

test('clients from the network may use any host name', () => {
  expect(statusOf({ host: 'mcm.kube-system.svc:10258', origin: 'http://other' }, '10.0.0.9')).toBeUndefined();
});
