import { type DriverInput, MachineError } from '@mcm/core/driver';
import { expect, test } from 'vitest';
import { decode } from './decode.ts';

const input = (providerSpec: object): Omit<DriverInput, 'call'> => ({
  machineClass: {
    ...{ apiVersion: 'machine.sapcloud.io/v1alpha1', kind: 'MachineClass' },
    metadata: { name: 'c', namespace: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
    ...{ provider: 'GCP', providerSpec: { ...providerSpec }, secretRef: { name: 's', namespace: 'n' } },
  },
  data: { serviceAccountJSON: '{}', userData: '' },
});

const told = (given: DriverInput): MachineError => {
  try {
    decode(given);
  } catch (thrown) {
    return MachineError.from(thrown);
  }
  throw new Error('it was taken');
};

test('a missing zone is told with its path, which the original’s words leave out', () => {
  const { message, place } = told({ ...input({}), call: 'list' });
  expect(message).toMatch(/^List machines failed on validateZone: .*zone cannot be empty\]$/);
  expect(place).toBe('providerSpec.zone');
});

test('a class is judged without naming a machine that is none', () => {
  expect(told({ ...input({}), call: 'create' }).message).toMatch(/^Create machines failed on validateProviderSpec: /);
});

test('a Secret that lacks something is told as the Secret', () => {
  const { message, place } = told({ ...input({ zone: 'z' }), call: 'list', data: {} });
  expect(message).toContain('userData is required field');
  expect(place).toBe('secret');
});
