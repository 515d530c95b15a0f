import { createPrivateKey, X509Certificate } from 'node:crypto';
import { ConfigError } from './cluster-config.ts';

/** A PEM text, and the file or field from which it was read. */
export interface Pem {
  readonly text: string;
  readonly from: string;
}

/** Returns the first certificate in a PEM text. Returns undefined if the text contains no certificate. */
export function parseCertificate(certificate: string): X509Certificate | undefined {
  try {
    return new X509Certificate(certificate);
  } catch {
    return undefined; // The caller reports it, because the error of the library has no hint.
  }
}

/** Returns true if the key belongs to the certificate. */
export function keyFits(certificate: X509Certificate, key: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false; // An invalid key does not belong to it either.
  }
}

/**
 * Parses a certificate.
 * @throws ConfigError with the file or field if it contains no certificate
 */
export function mustBeCertificate({ text, from }: Pem): X509Certificate {
  const parsed = parseCertificate(text);
  if (parsed === undefined) throw new ConfigError(`${from} is not a PEM certificate; replace it with one`);
  return parsed;
}

/**
 * Refuses an expired certificate, so that a valid certificate stays in use.
 * @throws ConfigError if the certificate has expired
 */
export function mustNotHaveExpired({ text, from }: Pem, now: Date): void {
  const { validTo } = mustBeCertificate({ text, from });
  if (now.getTime() > Date.parse(validTo))
    throw new ConfigError(`${from} expired at ${new Date(validTo).toISOString()}; issue another`);
}

/**
 * Verifies that the key belongs to the certificate.
 * @throws ConfigError with the sources of the key and the certificate if they do not belong together
 */
export function mustFit(certificate: Pem, key: Pem): void {
  if (keyFits(mustBeCertificate(certificate), key.text)) return;
  throw new ConfigError(`${certificate.from} and ${key.from} do not match; use the pair that was issued together`);
}
