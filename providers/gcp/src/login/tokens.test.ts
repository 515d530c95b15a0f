import { realClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { createTokenSource } from './tokens.ts';

test('an invalid private key is refused before any request, without quoting it', async () => {
  const account = {
    type: 'service_account',
    project: 'p',
    email: 'e@p',
    privateKeyId: 'k',
    privateKey: 'rubbish-in-place-of-a-key',
    tokenUri: 'https://tokens.example/token',
  } as const;
  const asked: string[] = [];
  const connect = (origin: string) => () => Promise.reject(new Error(`${asked.push(origin)} asked`));
  const source = createTokenSource(account, { clock: realClock, connect, readFile: async () => undefined });
  const thrown: unknown = await source.get(new AbortController().signal).catch((error: unknown) => error);
  expect(thrown).toMatchObject({
    name: 'TokenRefused',
    message: 'private_key of the service account must be an RSA key in PEM',
  });
  expect(String(thrown)).not.toContain('rubbish');
  expect(asked).toEqual([]);
});
