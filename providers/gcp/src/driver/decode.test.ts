import { type DriverInput, MachineError } from '@mcm/core/driver';
import { expect, test } from 'vitest';
import { decode } from './decode.ts';

const input = (providerSpec: object): Omit<DriverInput, 'call'> => ({
  machineClass: {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineClass',
    metadata: { name: 'c', namespace: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
    provider: 'GCP',
    providerSpec: { ...providerSpec },
    secretRef: { name: 's', namespace: 'n' },
  },
  data: { serviceAccountJSON: '{}', userData: '' },
});

const reported = (given: DriverInput): MachineError => {
  try {
    decode(given);
  } catch (thrown) {
    return MachineError.from(thrown);
  }
  throw new Error('it was taken');
};

test('a missing zone is reported with its path, which the text of the original omits', () => {
  const { message, place } = reported({ ...input({}), call: 'list' });
  expect(message).toMatch(/^List machines failed on validateZone: .*zone cannot be empty\]$/);
  expect(place).toBe('providerSpec.zone');
});

test('a class is checked without the name of a machine', () => {
  expect(reported({ ...input({}), call: 'create' }).message).toMatch(
    /^Create machines failed on validateProviderSpec: /,
  );
});

test.each(['disks', 'networkInterfaces', 'metadata'])('a null entry of %s prevents a creation only', (field) => {
  const given = input({ zone: 'z', [field]: [null] });
  expect(reported({ ...given, call: 'create' }).message).toContain(`providerSpec.${field}[0]: must not be null`);
  for (const call of ['status', 'delete', 'list'] as const) expect(() => decode({ ...given, call })).not.toThrow();
});

test('a null tag or service account counts as an empty one', () => {
  const given = { ...input({ zone: 'z', tags: [null], serviceAccounts: [null] }), call: 'create' } as const;
  expect(reported(given).message).toContain('failed on validateProviderSpec');
});

test('a missing key of a Secret is reported for the Secret', () => {
  const { message, place } = reported({ ...input({ zone: 'z' }), call: 'list', data: {} });
  expect(message).toContain('userData is required field');
  expect(place).toBe('secret');
});
