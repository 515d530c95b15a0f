import { createPrivateKey, X509Certificate } from 'node:crypto';
import { ConfigError } from './cluster-config.ts';

export interface Pem {
  readonly text: string;
  readonly from: string;
}

export function parseCertificate(certificate: string): X509Certificate | undefined {
  try {
    return new X509Certificate(certificate);
  } catch {
    return undefined;
  }
}

export function keyFits(certificate: X509Certificate, key: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

/** Refuses a text that contains no certificate. */
export function mustBeCertificate({ text, from }: Pem): X509Certificate {
  const parsed = parseCertificate(text);
  if (parsed === undefined)
    throw new ConfigError(`${from} is not a PEM certificate; replace the file content with a PEM certificate`);
  return parsed;
}

/** Refuses an expired certificate. */
export function mustNotHaveExpired({ text, from }: Pem, now: Date): void {
  const { validTo } = mustBeCertificate({ text, from });
  if (now.getTime() > Date.parse(validTo))
    throw new ConfigError(`${from} expired at ${new Date(validTo).toISOString()}; issue a new certificate`);
}

/** Refuses a key that does not belong to the certificate. */
export function mustFit(certificate: Pem, key: Pem): void {
  if (keyFits(mustBeCertificate(certificate), key.text)) return;
  throw new ConfigError(`${certificate.from} and ${key.from} do not match; use a certificate with its own key`);
}
