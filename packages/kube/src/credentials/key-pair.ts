import { createPrivateKey, X509Certificate } from 'node:crypto';
import { ConfigError } from './cluster-config.ts';

/** PEM, and where it stands. */
export interface Pem {
  readonly text: string;
  readonly from: string;
}

/** The first certificate in PEM; undefined where there is none. */
export function parseCertificate(certificate: string): X509Certificate | undefined {
  try {
    return new X509Certificate(certificate);
  } catch {
    return undefined; // Said as a sentence: the library's words name no cure.
  }
}

/** Whether a key is that of a certificate. */
export function keyFits(certificate: X509Certificate, key: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false; // No key at all does not fit either.
  }
}

/** @throws ConfigError that says where a certificate is missing */
export function mustBeCertificate({ text, from }: Pem): X509Certificate {
  const parsed = parseCertificate(text);
  if (parsed === undefined) throw new ConfigError(`${from} is not a PEM certificate; put one there`);
  return parsed;
}

/** @throws ConfigError when a certificate has expired: it would take the place of one that has not */
export function mustNotHaveExpired({ text, from }: Pem, now: Date): void {
  const { validTo } = mustBeCertificate({ text, from });
  if (now.getTime() > Date.parse(validTo))
    throw new ConfigError(`${from} expired at ${new Date(validTo).toISOString()}; issue another`);
}

/** @throws ConfigError that names both when the key is not that of the certificate */
export function mustFit(certificate: Pem, key: Pem): void {
  if (keyFits(mustBeCertificate(certificate), key.text)) return;
  throw new ConfigError(
    `${certificate.from} and ${key.from} do not belong together; put in the pair that was issued together`,
  );
}
