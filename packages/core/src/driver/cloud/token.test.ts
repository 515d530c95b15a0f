import type { Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { askForToken, TokenRefused, TokenUnavailable } from './token.ts';

const { signal } = new AbortController();

const answers =
  (status: number, body: string, retryAfter?: string): Transport =>
  async () => ({
    status,
    body: null,
    text: async () => body,
    headers: { get: (name) => (name === 'retry-after' ? (retryAfter ?? null) : null) },
  });

const ask = (transport: Transport, given: AbortSignal = signal) =>
  askForToken({
    now: new Date('2026-01-01T00:00:00Z'),
    connect: () => transport,
    url: 'https://tokens.example/one/token',
    headers: {},
    body: new URLSearchParams({ client_secret: 'secret-of-the-test' }).toString(),
    schema: z.looseObject({ access_token: z.string().min(1) }),
    say: (what) => `no token from tokens.example: ${what}`,
    signal: given,
  });

const failure = (transport: Transport, given?: AbortSignal): Promise<unknown> =>
  ask(transport, given).then(
    () => expect.fail('a token was given'),
    (thrown: unknown) => thrown,
  );

test('a token is requested from its address', async () => {
  const asked: string[] = [];
  const transport: Transport = (request) => {
    asked.push(`${request.method} ${request.path} ${request.body}`);
    return answers(200, '{"access_token":"t","more":1}')(request);
  };
  expect(await ask(transport)).toMatchObject({ access_token: 't' });
  expect(asked).toEqual(['POST /one/token client_secret=secret-of-the-test']);
});

test('a throttle is no refusal of credentials, and gives the time of the next request', async () => {
  const error = await failure(answers(429, '{"error":"slow_down"}', '7'));
  expect(error).toBeInstanceOf(TokenUnavailable);
  expect(error).toMatchObject({ retryAfterMs: 7_000, message: 'no token from tokens.example: 429 slow_down' });
});

test.each([
  ['fails', answers(503, 'oops'), '503'],
  ['cannot be reached', () => Promise.reject(new Error('connect ECONNREFUSED')), 'no response: connect ECONNREFUSED'],
])('an answer with %s is no verdict about the credentials', async (_what, transport, says) => {
  const error = await failure(transport);
  expect(error).toBeInstanceOf(TokenUnavailable);
  expect(error).toMatchObject({ message: `no token from tokens.example: ${says}` });
});

test('an error about refused credentials contains only the code', async () => {
  const body = '{"error":"invalid_client","error_description":"secret-of-the-test"}';
  const error = await failure(answers(401, body));
  expect(error).toBeInstanceOf(TokenRefused);
  expect(error).toMatchObject({ message: 'no token from tokens.example: 401 invalid_client' });
  const quoting = await failure(answers(400, '{"error":"secret-of-the-test"}'));
  expect(String(quoting)).not.toContain('secret-of-the-test');
});

test.each(['{"access_token":"half-of-a-tok', '{"access_token":5}', 'oops', ''])(
  'an answer without a token is reported as such, and not shown: %s',
  async (body) => {
    const error = await failure(answers(200, body));
    expect(error).toBeInstanceOf(TokenUnavailable);
    expect(String(error)).toContain('the response with status 200 contains no token');
    expect(String(error)).not.toContain('half-of');
  },
);

test('an aborted request ends with the reason of its signal', async () => {
  const reason = new Error('the client canceled the call');
  const rejects: Transport = () => Promise.reject(new Error('aborted'));
  expect(await failure(rejects, AbortSignal.abort(reason))).toBe(reason);
});
