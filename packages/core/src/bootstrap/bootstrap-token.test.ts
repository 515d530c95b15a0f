import type { Secret } from '@mcm/kube';
import { expect, test } from 'vitest';
import { machine } from '../machine/testing.ts';
import { tokenId, tokenOf } from './bootstrap-token.ts';

const secret = (data: Record<string, string>): Secret =>
  ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'bootstrap-token-abcdef',
      namespace: 'kube-system',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: '',
    },
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  }) as Secret;

test.each<[what: string, data: Record<string, string>, token: string | undefined]>([
  ['both parts', { 'token-id': 'abcdef', 'token-secret': '0123456789abcdef' }, 'abcdef.0123456789abcdef'],
  ['its id alone', { 'token-id': 'abcdef' }, undefined],
  ['only the secret', { 'token-secret': '0123456789abcdef' }, undefined],
  ['nothing', {}, undefined],
])('a token is read only from a Secret with both parts: %s', (_what, data, token) => {
  expect(tokenOf(secret(data))).toBe(token);
});

test('the id of a token comes from the UID: a later machine of the same name has another token', () => {
  const first = machine({ name: 'worker-1', metadata: { uid: 'first' } });
  const second = machine({ name: 'worker-1', metadata: { uid: 'second' } });
  expect(tokenId(first)).toMatch(/^[a-z0-9]{6}$/);
  expect(tokenId(second)).not.toBe(tokenId(first));
  expect(tokenId(machine({ name: 'renamed', metadata: { uid: 'first' } }))).toBe(tokenId(first));
});
