import type { MachineError } from '@mcm/core/driver';
import { realClock, type Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { fromCloud } from '../driver/errors.ts';
import { cloudOf } from './clouds.ts';
import { createTokenSource } from './tokens.ts';

const principal = { tenant: 'tenant-1', clientId: 'client-1', proof: { secret: 'secret-of-the-test' } };
const { signal } = new AbortController();

const answers =
  (status: number, body: string, retryAfter?: string): Transport =>
  async () => ({
    ...{ status, body: null, text: async () => body },
    headers: { get: (name) => (name === 'retry-after' ? (retryAfter ?? null) : null) },
  });

/** What a machine is told when no token is given. */
async function told(transport: Transport): Promise<MachineError> {
  const options = { clock: realClock, connect: () => transport, readFile: async () => undefined };
  try {
    await createTokenSource(principal, cloudOf('AzureChina'), options)(signal);
  } catch (thrown) {
    return fromCloud(thrown, 'list: ', signal);
  }
  throw new Error('a token was given');
}

test('a login host that throttles refuses no credentials, and says when it may be asked again', async () => {
  const error = await told(answers(429, '{"error":"temporarily_unavailable"}', '7'));
  expect([error.code, error.credentialsRefused, error.retryAfterMs]).toEqual(['Unavailable', false, 7_000]);
});

test.each([
  ['fails', answers(503, 'oops')],
  ['is out of reach', () => Promise.reject(new Error('connect ECONNREFUSED 127.0.0.1:1'))],
])('a login host that %s is asked again soon, and is named', async (_what, transport) => {
  const error = await told(transport);
  expect([error.code, error.credentialsRefused]).toEqual(['Unavailable', false]);
  expect(error.message).toContain('https://login.chinacloudapi.cn');
});

test('refused credentials are told as such, without the secret', async () => {
  const error = await told(answers(401, '{"error":"invalid_client","error_description":"secret-of-the-test"}'));
  expect(error).toMatchObject({ code: 'Internal', credentialsRefused: true });
  expect(error.message).toContain('invalid_client');
  expect(error.message).not.toContain('secret-of-the-test');
});

test.each(['{"access_token":"half-of-a-tok', '{"access_token":5}', 'oops', ''])(
  'an answer without a token is told as such, and not shown: %s',
  async (body) => {
    const error = await told(answers(200, body));
    expect([error.code, error.credentialsRefused]).toEqual(['Unavailable', false]);
    expect(error.message).toContain('login.chinacloudapi.cn');
    expect(error.message).not.toContain('half-of');
  },
);
