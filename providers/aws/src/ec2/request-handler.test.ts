import type { TransportResponse } from '@mcm/kube';
import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { Refusal } from './refusal.ts';
import { createRequestHandler } from './request-handler.ts';

const answerOf = (status: number, text: string): TransportResponse => ({
  status,
  headers: { get: () => null },
  text: async () => text,
  body: null,
});

/** Sends a request to a service that responds with the given text. */
async function answered(status: number, text: string, action = 'AssumeRoleWithWebIdentity'): Promise<string> {
  const handler = createRequestHandler({
    clock: new VirtualClock(),
    connect: () => async () => answerOf(status, text),
    allowPlainHttp: false,
  });
  const body = new URLSearchParams({ Action: action, WebIdentityToken: 'token-of-pod' }).toString();
  const request = { method: 'POST', protocol: 'https:', hostname: 'sts.example', path: '/', headers: {}, body };
  const { response } = await handler.handle(request);
  return new TextDecoder().decode(response.body);
}

test('an answer with keys is unchanged, even if it contains a value of the request', async () => {
  const text = '<SessionToken>a-token-of-pod-b</SessionToken></AssumeRoleWithWebIdentityResponse>';
  expect(await answered(200, text)).toBe(text);
});

test('an error does not contain the token of the request', async () => {
  const text = '<Error><Code>InvalidIdentityToken</Code><Message>bad token-of-pod</Message></Error>';
  const thrown = await answered(400, text).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(Refusal);
  expect(String(thrown)).toContain('InvalidIdentityToken: bad ***');
});

test.each([
  ['<Response><Errors><Error><Code>Unsupported</Code></Error></Errors></Response>', 'Unsupported: UnknownError'],
  ['<ErrorResponse><Error><Code>Unsupported</Code><Message>m</Message></Error></ErrorResponse>', 'UnknownError'],
])('an error of EC2 is read as in the original: %s', async (text, wanted) => {
  const thrown = await answered(400, text, 'RunInstances').catch((error: unknown) => error);
  expect(String(thrown)).toContain(`RunInstances: ${wanted}`);
});
