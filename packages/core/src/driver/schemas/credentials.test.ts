import type { MachineClass } from '@mcm/api';
import type { Secret } from '@mcm/kube';
import { expect, test } from 'vitest';
import { readSecrets, secretKeysOf, secretNames, userDataOf } from './credentials.ts';

const machineClass = (change: Partial<MachineClass> = {}): MachineClass => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineClass',
  metadata: { name: 'small', namespace: 'test', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
  providerSpec: {},
  secretRef: { name: 'user-data', namespace: 'test' },
  ...change,
});
const secret = (name: string, data: Record<string, string | Uint8Array>): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'test', uid: name, resourceVersion: '1', creationTimestamp: '' },
  data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
});
const read = (found: MachineClass, ...secrets: Secret[]) =>
  readSecrets(found, secretKeysOf(found), (key) => secrets.find(({ metadata }) => `test/${metadata.name}` === key));

test('a missing Secret is a problem with a hint, not silently empty [S-K3, O-16]', () => {
  expect(read(machineClass())).toEqual({
    data: {},
    hidden: {},
    problems: [
      'MachineClass small refers to Secret test/user-data, which does not exist; create the Secret, or correct the reference',
    ],
  });
});

test('the driver gets the decoded data of the Secret of the class [S-K4]', () => {
  expect(read(machineClass(), secret('user-data', { foo: 'bar' }))).toEqual({
    data: { foo: 'bar' },
    hidden: { foo: 'bar' },
    problems: [],
  });
});

test('a byte-order mark is a part of the value, as in Go', () => {
  expect(read(machineClass(), secret('user-data', { foo: '\ufeffbar' })).data).toEqual({ foo: '\ufeffbar' });
});

test('the keys of credentialsSecretRef take precedence over those of secretRef', () => {
  const both = machineClass({ credentialsSecretRef: { name: 'cloud', namespace: 'test' } });
  const { data } = read(both, secret('user-data', { userData: 'x', key: 'old' }), secret('cloud', { key: 'new' }));
  expect(data).toEqual({ userData: 'x', key: 'new' });
});

const GZIP = Buffer.from([0x1f, 0x8b, 0x08, 0x00, 0xff, 0xfe, 0xef, 0xbb, 0xbf, 0x0d, 0x0a]);

test('user data may be any bytes, and the last Secret with user data takes precedence', () => {
  const both = machineClass({ credentialsSecretRef: { name: 'cloud', namespace: 'test' } });
  const found = read(both, secret('user-data', { userData: 'text' }), secret('cloud', { userData: GZIP }));
  expect(found.problems).toEqual([]);
  expect(Buffer.from(userDataOf(found, 'm-0', both)).equals(GZIP)).toBe(true);
  expect(found.data.userData).toMatch(/./);
});

test('user data that is text keeps its byte-order mark', () => {
  const marked = Buffer.from('\ufeff#cloud-config\r\n');
  const found = read(machineClass(), secret('user-data', { userData: marked }));
  expect(Buffer.from(userDataOf(found, 'm-0', machineClass())).equals(marked)).toBe(true);
});

test('credentials must be text; keys that no driver reads need not', () => {
  const found = (reads: (key: string) => boolean) =>
    readSecrets(machineClass(), ['test/s'], () => secret('s', { token: GZIP, other: GZIP }), reads);
  expect(found((key) => key === 'token')).toMatchObject({
    data: {},
    problems: ['data.token of Secret test/s is not UTF-8 text; write base64-encoded UTF-8 text to this key'],
  });
  expect(found(() => false).problems).toEqual([]);
});

test.each(['S-U3 the token step', 'S-U8 the name step'])('%s without the key userData is reported with a hint', () => {
  expect(() => userDataOf({ data: {}, hidden: {}, problems: [] }, 'm-0', machineClass())).toThrow(
    /userdata field not found in secret for machine "m-0"; add data\.userData to Secret test\/user-data$/,
  );
});

test('messages contain the names of Secrets once each', () => {
  const both = machineClass({ credentialsSecretRef: { name: 'cloud', namespace: 'test' } });
  expect(secretNames(both)).toBe('Secrets test/user-data and test/cloud');
  expect(secretNames(machineClass({ credentialsSecretRef: { name: 'user-data', namespace: 'test' } }))).toBe(
    'Secret test/user-data',
  );
  const { secretRef: _, ...none } = machineClass();
  expect(secretNames(none)).toBe('no Secret');
});
