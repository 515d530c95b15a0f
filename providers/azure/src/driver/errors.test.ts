import { TokenRefused, TokenUnavailable } from '@mcm/core/driver';
import { expect, test } from 'vitest';
import { ArmError } from '../arm/error.ts';
import { fromCloud, isAbsent, isExhausted } from './errors.ts';

const { signal } = new AbortController();
const error = (status: number, code: string, message = 'told') =>
  new ArmError('GET x', status, JSON.stringify({ error: { code, message } }));
const headers = (code: string) => ({ get: (name: string) => (name === 'x-ms-error-code' ? code : null) });

test.each([
  [401, 'InvalidAuthenticationToken', true],
  [403, 'AuthorizationFailed', true],
  [403, 'RequestDisallowedByPolicy', false],
  [404, 'ResourceNotFound', false],
  [500, 'Oops', false],
])('%i %s is an error of the credentials: %s', (status, code, refused) => {
  expect(fromCloud(error(status, code), 'get: ', signal).credentialsRefused).toBe(refused);
});

test('credentials without a token, and the cause of all other errors', () => {
  expect(fromCloud(new TokenRefused('no'), 'get: ', signal)).toMatchObject({
    code: 'Internal',
    credentialsRefused: true,
  });
  expect(fromCloud(new TokenUnavailable('later', { retryAfterMs: 7_000 }), 'get: ', signal)).toMatchObject({
    code: 'Unavailable',
    credentialsRefused: false,
    retryAfterMs: 7_000,
  });
  const cause = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  expect(fromCloud(cause, 'get: ', signal).cause).toBe(cause);
});

test('only a 404 of Azure itself means that a resource does not exist', () => {
  expect(isAbsent(error(404, 'ResourceNotFound'))).toBe(true);
  expect(isAbsent(new ArmError('GET x', 404, '<html>'))).toBe(false);
  expect(isAbsent(error(410, 'ResourceNotFound'))).toBe(false);
  expect(isAbsent(new ArmError('GET x', 404, '', { headers: headers('ResourceNotFound') }))).toBe(true);
});

test.each<[what: string, text: string, inHeader: string, code: string]>([
  ['the header without a body', '', 'AllocationFailed', 'AllocationFailed'],
  ['the header with an HTML page', '<html>no</html>', 'AllocationFailed', 'AllocationFailed'],
  ['the header with another code in the body', '{"error":{"code":"Conflict"}}', 'AllocationFailed', 'AllocationFailed'],
  ['the body', '{"error":{"code":"SkuNotAvailable"}}', '', 'SkuNotAvailable'],
  ['a body without error around it', '{"code":"SkuNotAvailable"}', '', 'SkuNotAvailable'],
  ['OData', '{"odata.error":{"code":"SkuNotAvailable"}}', '', 'SkuNotAvailable'],
  ['XML', '<Error><Code>AuthenticationFailed</Code></Error>', '', 'AuthenticationFailed'],
  ['an error that is a text', '{"error":"AllocationFailed","code":"x"}', '', ''],
  ['nothing', '', '', ''],
])('the code of an error is the code in %s', (_what, text, inHeader, code) => {
  expect(new ArmError('GET x', 409, text, { headers: headers(inHeader) }).code).toBe(code);
});

test('errors for missing capacity or quota are recognized by their code and text', () => {
  for (const code of ['ZonalAllocationFailed', 'SkuNotAvailable', 'AllocationFailed', 'ResourceQuotaExceeded'])
    expect(isExhausted(error(409, code))).toBe(true);
  expect(isExhausted(error(409, 'OperationNotAllowed', 'exceeding approved quota'))).toBe(true);
  expect(isExhausted(error(409, 'OperationNotAllowed', 'attached'))).toBe(false);
  const apart = { code: 'OperationNotAllowed', message: 'exceeding', details: 'quota' };
  expect(isExhausted(new ArmError('PUT x', 409, JSON.stringify({ error: apart })))).toBe(false);
  expect(isExhausted(error(400, 'BadRequest', 'is  not supported'))).toBe(true);
  expect(isExhausted(error(400, 'BadRequest', 'wrong'))).toBe(false);
  expect(isExhausted(new Error('ZonalAllocationFailed'))).toBe(false);
});
