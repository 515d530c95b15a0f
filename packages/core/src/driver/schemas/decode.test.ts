import type { MachineClass } from '@mcm/api';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { decodeInput } from './decode.ts';

const driver = {
  providerSpec: z.object({ zone: z.string() }),
  credentialsSchema: z.object({ token: z.string().min(8), userData: z.string() }),
};
const classOf = (change: Partial<MachineClass>): MachineClass =>
  ({
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineClass',
    metadata: { name: 'small', namespace: 'garden' },
    provider: 'local',
    providerSpec: { zone: 'a' },
    secretRef: { name: 'cloud', namespace: 'garden' },
    ...change,
  }) as MachineClass;
const decode = (change: Partial<MachineClass>, data: Record<string, string>) => () =>
  decodeInput(driver, { call: 'create', machineClass: classOf(change), data });

const RIGHT = { token: 'long enough', userData: 'hello' };

test('valid input is accepted', () => {
  expect(decode({}, RIGHT)()).toEqual({ spec: { zone: 'a' }, credentials: RIGHT });
});

test('an invalid field of the provider spec is named with its class', () => {
  expect(decode({ providerSpec: { zone: 7 } }, RIGHT)).toThrow(
    /^providerSpec\.zone: must be a string, not a number; correct the field in MachineClass small$/,
  );
});

test('missing or invalid keys are named with their Secret', () => {
  expect(decode({}, { token: 'short' })).toThrow(
    /^data\.token of Secret garden\/cloud: .*; correct the key in the Secret; data\.userData of Secret garden\/cloud is missing; add the key$/,
  );
});

test('a key may be missing in either of two Secrets', () => {
  const credentialsSecretRef = { name: 'login', namespace: 'garden' };
  expect(decode({ credentialsSecretRef }, { userData: 'hello' })).toThrow(
    'data.token of Secret garden/cloud or garden/login is missing; add the key',
  );
});

test('a class without a Secret gets one event with the hint', () => {
  const { secretRef: _, ...rest } = classOf({});
  expect(() => decodeInput(driver, { call: 'create', machineClass: rest as MachineClass, data: {} })).toThrow(
    /^secretRef: MachineClass small refers to no Secret; add a Secret with userData and credentials$/,
  );
});
