import { expect, test } from 'vitest';
import { readAccount } from './account.ts';

const KEY = { type: 'service_account', project_id: 'p', client_email: 'a@p' };
const WORKLOAD = {
  type: 'external_account',
  project_id: 'p',
  audience: '//iam.googleapis.com/x',
  token_url: 'https://sts.googleapis.com/v1/token',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  credential_source: { file: '/var/run/secrets/gardener.cloud/workload-identity/token' },
};

const account = (json: object) => readAccount({ serviceAccountJSON: JSON.stringify(json) });

test.each(['client_email', 'private_key', 'private_key_id', 'token_uri', 'universe_domain'])(
  'null and an empty text count as absent: %s',
  (field) => {
    const { [field as 'client_email']: _, ...without } = KEY;
    expect(account({ ...KEY, [field]: null })).toEqual(account(without));
    expect(account({ ...KEY, [field]: '' })).toEqual(account(without));
  },
);

test.each(['user@', 'user:secret@', ':secret@'])('a token_uri that contains %s is refused', (userInfo) => {
  const tokenUri = (info: string) => account({ ...KEY, token_uri: `https://${info}oauth2.googleapis.com/token` });
  expect(() => tokenUri('')).not.toThrow();
  expect(() => tokenUri(userInfo)).toThrow('token_uri');
});

test('a number is refused', () => {
  expect(() => account({ ...KEY, client_email: 1 })).toThrow('client_email');
});

test('blanks around a fixed value of a workload identity have no meaning', () => {
  const { file } = WORKLOAD.credential_source;
  for (const change of [
    { token_url: ` ${WORKLOAD.token_url}\u0085` },
    { subject_token_type: `${WORKLOAD.subject_token_type}\n` },
    { credential_source: { file: `${file} ` } },
  ])
    expect(account({ ...WORKLOAD, ...change })).toEqual(account(WORKLOAD));
  expect(() => account({ ...WORKLOAD, token_url: `\ufeff${WORKLOAD.token_url}` })).toThrow('invalid token_url');
});

test('blanks of Go around the JSON have no meaning', () => {
  expect(readAccount({ serviceAccountJSON: `\u0085${JSON.stringify(KEY)}\n` })).toEqual(account(KEY));
});
