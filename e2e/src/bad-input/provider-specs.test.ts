import type { MachineClass } from '@mcm/api';
import { unknownFieldCases, wrongTypes } from '@mcm/conformance';
import { createInvoker, type DriverInvoker, driverReference } from '@mcm/core';
import { realClock, type Secret, seededRandom, silentLogger } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { SAMPLES, type Sample } from './providers.ts';

/** The driver reports problems of classes and Secrets without a request to the cloud. */

const meta = {
  name: 'odd',
  namespace: 'default',
  uid: 'u',
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
};
const reference = { name: 'odd', namespace: 'default' };

const classOf = ({ provider }: Sample, providerSpec: Readonly<Record<string, unknown>>): MachineClass => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineClass',
  metadata: meta,
  provider,
  providerSpec,
  secretRef: reference,
  credentialsSecretRef: reference,
});

const driverOf = (sample: Sample) =>
  sample.createDriver({
    clock: realClock,
    random: seededRandom(1),
    connect: () => () => Promise.reject(new Error('the cloud must not be asked')),
  });

function invokerOf(sample: Sample, data: Readonly<Record<string, string>> = sample.secret): DriverInvoker {
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  const secret: Secret = { apiVersion: 'v1', kind: 'Secret', metadata: meta, data: Object.fromEntries(encoded) };
  return createInvoker({
    driver: driverOf(sample),
    caches: { classes: { store: { get: () => undefined } }, secrets: { store: { get: () => secret } } },
    clock: realClock,
    log: silentLogger,
    stop: new AbortController().signal,
  });
}

const without = <T>(record: Readonly<Record<string, T>>, key: string): Record<string, T> =>
  Object.fromEntries(Object.entries(record).filter(([each]) => each !== key));

describe.each(SAMPLES.map((sample) => [sample.provider, sample] as const))('provider %s', (_name, sample) => {
  const { spec, secret } = sample;
  const schema = driverReference(driverOf(sample)).providerSpec;
  const invoker = invokerOf(sample);
  const check = (providerSpec: Readonly<Record<string, unknown>>): string =>
    invoker.check(classOf(sample, providerSpec)).join('; ');

  /** Error messages may contain the keys of the Secret, but not its values. */
  const expectNoSecret = (said: string): void => {
    for (const value of Object.values(secret)) expect(said).not.toContain(value);
  };

  test('the sample is valid', () => {
    expect(check(spec)).toBe('');
    expect(invoker.unknownFields(classOf(sample, spec))).toEqual([]);
  });

  test.each(wrongTypes(schema, spec).map((each) => [each.path, each] as const))(
    'a wrong type of %s is refused with its path',
    (path, { spec: wrong }) => {
      const said = check(wrong);
      expect(said).toContain(`providerSpec.${path.replace('.of-the-kit', '.of-the-kit')}`);
      expectNoSecret(said);
    },
  );

  test.each(unknownFieldCases(schema, spec).map((each) => [each.path, each] as const))(
    'the error for the unknown field %s contains a known name',
    (path, { spec: odd, meant }) => {
      const [said = '', ...more] = invoker.unknownFields(classOf(sample, odd));
      expect(more).toEqual([]);
      expect(said).toContain(`providerSpec.${path}: is not a field`);
      expect(said).toContain(`did you mean ${meant}?`);
    },
  );

  test.each(sample.required)('without %s the class is refused, and the field is named', (field) => {
    expect(check(without(spec, field)).toLowerCase()).toContain(field.toLowerCase());
  });

  test.each(sample.contradictions.map(({ change, says }) => [Object.keys(change).join(), change, says] as const))(
    'contradictory settings in %s are refused',
    (_what, change, says) => {
      expect(check({ ...spec, ...change })).toMatch(says);
    },
  );

  test.each(sample.keys)('a Secret without %s is refused, and the key is named', (key) => {
    const said = invokerOf(sample, without(secret, key)).check(classOf(sample, spec)).join('; ');
    expect(said.toLowerCase()).toContain(key.toLowerCase());
    expect(said).toContain('Secret default/odd');
    expectNoSecret(said);
  });

  test.each(sample.keys)('a Secret whose %s is empty is refused, and the key is named', async (key) => {
    const odd = invokerOf(sample, { ...secret, [key]: '' });
    // Some keys contain documents, such as JSON. The driver parses a document only during a call, but before the first
    // request to the cloud.
    const asked = await odd.list(classOf(sample, spec)).then(
      () => 'it works',
      (thrown: unknown) => String(thrown),
    );
    expect(asked.toLowerCase()).toContain(key.toLowerCase());
    expect(asked).not.toContain('the cloud must not be asked');
    expectNoSecret(asked);
  });

  test('a Secret without userData is refused', () => {
    const said = invokerOf(sample, without(secret, 'userData')).check(classOf(sample, spec)).join('; ');
    expect(said).toContain('userData');
    expect(said).toContain('Secret default/odd');
  });

  test('bytes that are no text are refused with their key', () => {
    const bytes: Secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: meta,
      data: { [sample.keys[0] ?? '']: Buffer.from([0xff, 0xfe, 0]).toString('base64') },
    };
    const odd = createInvoker({
      driver: driverOf(sample),
      caches: { classes: { store: { get: () => undefined } }, secrets: { store: { get: () => bytes } } },
      clock: realClock,
      log: silentLogger,
      stop: new AbortController().signal,
    });
    expect(odd.check(classOf(sample, spec)).join()).toContain(
      `data.${sample.keys[0]} of Secret default/odd is not UTF-8`,
    );
  });
});
