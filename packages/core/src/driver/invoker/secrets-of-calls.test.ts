import type { MachineClass } from '@mcm/api';
import type { Secret } from '@mcm/kube';
import { expect, test } from 'vitest';
import { MachineError } from '../contract/errors.ts';
import { classOf, failure, machineOf, play } from '../toy.ts';

const refused = (token: string): MachineError =>
  new MachineError('PermissionDenied', `token ${token} is refused`, { credentialsRefused: true });

test('removes the secrets of another class from the error of a call that used its credentials', async () => {
  const { invoker, log } = play(
    {
      status: async ({ credentials: { token } }) => {
        if (token === 'token-shared') throw refused(token);
        return { providerId: 'toy:///1', nodeName: 'node-1' };
      },
      delete: async ({ credentials: { token } }) => {
        if (token === 'token-shared') throw refused(token);
        throw new MachineError('Internal', `token ${token} cannot delete the VM`);
      },
    },
    { fallback: () => [classOf('other')] },
  );
  const error = await failure(invoker.delete(machineOf('m', 'a')));
  expect([error.code, error.message]).toEqual(['Internal', 'token *** cannot delete the VM']);
  expect(JSON.stringify(log)).not.toContain('token-of-other');
});

test('removes a secret from the error of a call even if the Secret changes during the call', async () => {
  let token = 'token-before-rotation';
  const secret = (): Secret => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'a',
      namespace: 'default',
      uid: 'a',
      resourceVersion: token,
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    data: { token: Buffer.from(token).toString('base64'), userData: Buffer.from('#cloud-config').toString('base64') },
  });
  const store = { get: (): MachineClass => classOf('a') };
  const { invoker } = play(
    {
      delete: async ({ credentials }) => {
        token = 'token-after-rotation';
        throw new MachineError('Internal', `cannot delete the VM with ${credentials.token}`);
      },
    },
    { caches: { classes: { store }, secrets: { store: { get: secret } } } },
  );
  const error = await failure(invoker.delete(machineOf('m', 'a')));
  expect(error.message).toBe('cannot delete the VM with ***');
});
