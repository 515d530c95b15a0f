import { TokenRefused, TokenUnavailable } from '@mcm/core/driver';
import { describe, expect, test } from 'vitest';
import { readRefusal } from '../gce/refusal.ts';
import { fromCloud, OperationFailed } from './errors.ts';
import { specProblems } from './validate.ts';

const { signal } = new AbortController();
const none = { get: () => null };
const refusal = (status: number, reason: string) =>
  readRefusal(status, none, { error: { message: 'told', errors: [{ reason }] } }, new Date(0));

describe('the party that can fix an error', () => {
  test.each([
    [401, 'authError', true],
    [403, 'forbidden', true],
    [403, 'quotaExceeded', false],
    [403, 'rateLimitExceeded', false],
    [404, 'notFound', false],
    [500, 'backendError', false],
  ])('%i %s is an error of the credentials: %s', (status, reason, refused) => {
    expect(fromCloud(refusal(status, reason), 'list', signal).credentialsRefused).toBe(refused);
  });

  test('a refused or unavailable token is an error of the credentials', () => {
    expect(fromCloud(new TokenRefused('no'), 'list', signal)).toMatchObject({
      code: 'Internal',
      credentialsRefused: true,
    });
    expect(fromCloud(new TokenUnavailable('later', { retryAfterMs: 7_000 }), 'list', signal)).toMatchObject({
      code: 'Unavailable',
      credentialsRefused: false,
      retryAfterMs: 7_000,
    });
  });
});

test('only a 404 of Google itself means that a resource does not exist', () => {
  const page = readRefusal(404, none, undefined, new Date(0));
  expect([refusal(404, 'notFound').absent, page.absent, refusal(410, 'notFound').absent]).toEqual([true, false, false]);
});

test('an error keeps its cause, which shows whether a server answered', () => {
  const cause = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  expect(fromCloud(cause, 'list', signal).cause).toBe(cause);
});

test('a lack of capacity counts only for launches and operations, by the last error', () => {
  const failed = (...codes: string[]) => new OperationFailed(codes.map((code) => ({ code, message: code })));
  expect(fromCloud(failed('A', 'CPU_QUOTA'), 'create', signal).code).toBe('ResourceExhausted');
  expect(fromCloud(failed('QUOTA_EXCEEDED', 'A'), 'create', signal).code).toBe('Internal');
  expect(fromCloud(failed(), 'create', signal).message).toContain('without a reason');
  expect(fromCloud(refusal(403, 'quotaExceeded'), 'create', signal, true).code).toBe('ResourceExhausted');
  expect(fromCloud(refusal(403, 'quotaExceeded'), 'list', signal).code).toBe('Internal');
});

test('a machine type that the zone lacks is a lack of capacity, also if the cloud throttles', () => {
  const body = { error: { message: 'x does not exist in zone y', errors: [{ reason: 'rateLimitExceeded' }] } };
  for (const status of [403, 429]) {
    const thrown = readRefusal(status, none, body, new Date(0));
    expect(fromCloud(thrown, 'create', signal, true).code).toBe('ResourceExhausted');
    expect(fromCloud(thrown, 'list', signal).code).toBe('Unavailable');
  }
});

test('an operation whose error has no text ends with an empty text, as in the original', () => {
  expect(new OperationFailed([{ code: 'STOCKOUT', message: '' }]).message).toBe('');
});

test.each(['/99999999999999999999', '/-99999999999999999999', '/9223372036854775808'])(
  'a mask size over 64 bits is no number: %s',
  (ipCidrRange) => {
    const said = specProblems({ networkInterfaces: [{ network: 'n', ipCidrRange }] }).join('\n');
    expect(said).toContain(`invalid CIDR mask size: ${ipCidrRange.slice(1)}`);
  },
);

test('white space of Go counts as a blank key name', () => {
  const said = (kmsKeyName: string) => specProblems({ disks: [{ encryption: { kmsKeyName } }] }).join('\n');
  expect(said('\u0085')).toContain('kmsKeyName is required');
  expect(said('\ufeff')).not.toContain('kmsKeyName is required');
});

test('a missing field of a class is reported with its path', () => {
  const reported = specProblems({ region: 'r', zone: 'z', machineType: 'm' }).join('\n');
  for (const path of [
    'spec.disks: Required',
    'spec.networkInterfaces.networkInterfaces: Required',
    'spec.scheduling.onHostMaintenance',
  ])
    expect(reported).toContain(path);
});
