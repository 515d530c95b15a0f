import { createPrivateKey, X509Certificate } from 'node:crypto';
import { ConfigError } from './cluster-config.ts';

/** PEM, and its file or field. */
export interface Pem {
  readonly text: string;
  readonly from: string;
}

/** The first certificate in PEM. Undefined when there is none. */
export function parseCertificate(certificate: string): X509Certificate | undefined {
  try {
    return new X509Certificate(certificate);
  } catch {
    return undefined; // The caller reports it, because the error of the library has no hint.
  }
}

/** Whether a key belongs to a certificate. */
export function keyFits(certificate: X509Certificate, key: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false; // An invalid key does not belong to it either.
  }
}

/** @throws ConfigError that names the file or field without a certificate */
export function mustBeCertificate({ text, from }: Pem): X509Certificate {
  const parsed = parseCertificate(text);
  if (parsed === undefined) throw new ConfigError(`${from} is not a PEM certificate; replace it with one`);
  return parsed;
}

/** @throws ConfigError when a certificate has expired, so that it does not replace a valid one */
export function mustNotHaveExpired({ text, from }: Pem, now: Date): void {
  const { validTo } = mustBeCertificate({ text, from });
  if (now.getTime() > Date.parse(validTo))
    throw new ConfigError(`${from} expired at ${new Date(validTo).toISOString()}; issue another`);
}

/** @throws ConfigError that names both when the key does not belong to the certificate */
export function mustFit(certificate: Pem, key: Pem): void {
  if (keyFits(mustBeCertificate(certificate), key.text)) return;
  throw new ConfigError(`${certificate.from} and ${key.from} do not match; use the pair that was issued together`);
}
