import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { createAuthority } from './authority.ts';
import { createSigner, type RequestSpec } from './signer.ts';
import { draftRequest } from './testing.ts';

const NOW = new Date('2024-01-01T00:00:00Z');
const clock = { now: () => NOW, setTimeout: () => ({ cancel: () => undefined }) };
const authority = createAuthority(NOW);
const signer = createSigner(() => authority, clock);

const spec = (signerName: string, usages: readonly string[], more: Partial<RequestSpec> = {}): RequestSpec => {
  const { certificate } = draftRequest({ commonName: 'system:node:n', organizations: ['system:nodes'] });
  return { request: Buffer.from(certificate).toString('base64'), signerName, usages, ...more };
};

const CLIENT = 'kubernetes.io/kube-apiserver-client';
const KUBELET = 'kubernetes.io/kube-apiserver-client-kubelet';
const SERVING = 'kubernetes.io/kubelet-serving';
const LEGACY = 'kubernetes.io/legacy-unknown';

test.each([
  [CLIENT, ['digital signature'], 'missing required usage for client certificate: client auth'],
  [CLIENT, ['client auth', 'server auth'], 'invalid usage for client certificate: server auth'],
  [CLIENT, ['client auth', 'signing'], 'invalid usage for client certificate: signing'],
  [KUBELET, ['client auth'], 'usages did not match [client auth digital signature key encipherment]'],
  [SERVING, ['server auth', 'digital signature'], 'DNS or IP subjectAltName is required'],
])('%s refuses %j', (signerName, usages, message) => {
  expect(() => signer.sign(spec(signerName, usages))).toThrow(message);
});

const MINUTE = 60_000;

test.each([
  ['a year', undefined, 365 * 24 * 60 - 5],
  ['never more than a year', 2 ** 31 - 1, 365 * 24 * 60 - 5],
  ['never less than ten minutes', 60, 10],
  ['what was asked for', 3600, 60],
  ['less what it is dated back, from eight hours on', 8 * 3600, 8 * 60 - 5],
])('a certificate lasts %s', (_what, expirationSeconds, minutes) => {
  const certificate = new X509Certificate(
    signer.sign(spec(KUBELET, ['client auth', 'digital signature'], { expirationSeconds })),
  );
  expect(Date.parse(certificate.validFrom)).toBe(NOW.getTime() - 5 * MINUTE);
  expect(Date.parse(certificate.validTo)).toBe(NOW.getTime() + minutes * MINUTE);
});

test('the legacy signer signs for any usages, and never an authority', () => {
  const usages = ['cert sign', 'decipher only', 'code signing', 'any'];
  const certificate = new X509Certificate(signer.sign(spec(LEGACY, usages)));
  expect(certificate.ca).toBe(false);
  expect(certificate.keyUsage).toEqual(['2.5.29.37.0', '1.3.6.1.5.5.7.3.3']);
  expect(certificate.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true);
});
