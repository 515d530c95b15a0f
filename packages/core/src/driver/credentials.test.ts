import type { MachineClass } from '@mcm/api';
import type { Secret } from '@mcm/kube';
import { expect, test } from 'vitest';
import { readSecrets, secretKeysOf, secretsTold, userDataOf } from './credentials.ts';

const machineClass = (change: Partial<MachineClass> = {}): MachineClass => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineClass',
  metadata: { name: 'small', namespace: 'test', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
  providerSpec: {},
  secretRef: { name: 'user-data', namespace: 'test' },
  ...change,
});
const secret = (name: string, data: Record<string, string>): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'test', uid: name, resourceVersion: '1', creationTimestamp: '' },
  data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
});
const read = (found: MachineClass, ...secrets: Secret[]) =>
  readSecrets(found, secretKeysOf(found), (key) => secrets.find(({ metadata }) => `test/${metadata.name}` === key));

test('S-K3 a Secret that is missing is a problem with a cure, not silently empty (O-16)', () => {
  expect(read(machineClass())).toEqual({
    data: {},
    problems: ['Secret test/user-data, which MachineClass small refers to, does not exist; create it, or name another'],
  });
});

test('S-K4 class and Secret: its data, decoded', () => {
  expect(read(machineClass(), secret('user-data', { foo: 'bar' }))).toEqual({ data: { foo: 'bar' }, problems: [] });
});

test('the keys of credentialsSecretRef win over those of secretRef', () => {
  const both = machineClass({ credentialsSecretRef: { name: 'cloud', namespace: 'test' } });
  const { data } = read(both, secret('user-data', { userData: 'x', key: 'old' }), secret('cloud', { key: 'new' }));
  expect(data).toEqual({ userData: 'x', key: 'new' });
});

test.each(['S-U3 the token step', 'S-U8 the name step'])('%s without the key userData: told with the cure', () => {
  expect(() => userDataOf({ data: {}, problems: [] }, 'm-0', machineClass())).toThrow(
    /userdata field not found in secret for machine "m-0"; add data\.userData to Secret test\/user-data$/,
  );
});

test('Secrets are told by their names, each once', () => {
  const both = machineClass({ credentialsSecretRef: { name: 'cloud', namespace: 'test' } });
  expect(secretsTold(both)).toBe('Secrets test/user-data and test/cloud');
  expect(secretsTold(machineClass({ credentialsSecretRef: { name: 'user-data', namespace: 'test' } }))).toBe(
    'Secret test/user-data',
  );
  const { secretRef: _, ...none } = machineClass();
  expect(secretsTold(none)).toBe('no Secret');
});
