import { MachineError } from '@mcm/core/driver';
import { describe, expect, test } from 'vitest';
import { NoAnswer, Refusal } from '../ec2/refusal.ts';
import { fromCloud, fromLaunch } from './errors.ts';

const open = new AbortController().signal;
const refusal = (code: string, status = 400, retryAfterMs?: number) =>
  new Refusal('RunInstances', { code, message: 'no', status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });

describe('errors of RunInstances for missing capacity are ResourceExhausted [A38]', () => {
  test.each(['InsufficientInstanceCapacity', 'VcpuLimitExceeded', 'Unsupported', 'MaxIOPSLimitExceeded'])(
    '%s is ResourceExhausted',
    (code) => expect(fromLaunch(refusal(code), open).code).toBe('ResourceExhausted'),
  );

  test.each(['InvalidParameterValue', 'unsupported', 'Client.InstanceLimitExceeded'])('%s is Internal [A37]', (code) =>
    expect(fromLaunch(refusal(code), open).code).toBe('Internal'),
  );

  test('a look-up has no code for a lack of capacity', () => {
    expect(fromCloud(refusal('InsufficientInstanceCapacity', 500), open).code).toBe('Internal');
  });
});

test('throttling is Unavailable, with the delay that EC2 requests', () => {
  expect(fromCloud(refusal('RequestLimitExceeded', 503, 7_000), open)).toMatchObject({
    code: 'Unavailable',
    retryAfterMs: 7_000,
  });
});

test('refused keys are Internal as in the original, and are marked as refused', () => {
  expect(fromCloud(refusal('AuthFailure', 401), open)).toMatchObject({ code: 'Internal', credentialsRefused: true });
  expect(fromCloud(refusal('InvalidParameterValue'), open).credentialsRefused).toBe(false);
  expect(fromCloud(new NoAnswer('DescribeInstances', 'no answer'), open).credentialsRefused).toBe(false);
});

test('a cancellation by the caller is reported as such', () => {
  const stopped = AbortSignal.abort(new MachineError('DeadlineExceeded', 'too late'));
  expect(fromCloud(new Error('aborted'), stopped)).toMatchObject({ code: 'DeadlineExceeded', message: 'too late' });
  expect(fromCloud(new Error('aborted'), AbortSignal.abort(new Error('enough'))).code).toBe('Canceled');
});
