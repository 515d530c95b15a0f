import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { withoutUndefined } from '../../base/defined.ts';
import type { ServingPair } from '../server.ts';

export interface Authority {
  readonly cert: string;
  readonly key?: string;
  readonly from: Date;
  readonly until: Date;
}

interface Serving extends ServingPair {
  readonly names: readonly string[];
  readonly until: Date;
  readonly signedBy: string;
}

export interface Certificates {
  readonly authorities: readonly Authority[];
  readonly serving: Serving | undefined;
}

const BLOCK = /-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g;
const blocks = (pem: string): string[] => (pem.match(BLOCK) ?? []).map((block) => `${block}\n`);

const tried = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch {
    return undefined; // A user has damaged the Secret, so mcm creates the damaged parts again.
  }
};

const namesOf = (certificate: X509Certificate): string[] =>
  (certificate.subjectAltName ?? '').split(', ').map((entry) => entry.replace(/^(DNS|IP Address):/, ''));

function authoritiesOf(certs: string, keys: string): Authority[] {
  const privateKeys = blocks(keys).flatMap((pem) => {
    const key = tried((): KeyObject => createPrivateKey(pem));
    return key ? [{ key, pem }] : [];
  });
  return blocks(certs)
    .flatMap((cert) => {
      const parsed = tried(() => new X509Certificate(cert));
      if (!parsed?.ca) return [];
      const own = privateKeys.find(({ key }) => parsed.checkPrivateKey(key));
      const dates = { from: parsed.validFromDate, until: parsed.validToDate };
      return [withoutUndefined({ cert, ...dates, key: own?.pem })];
    })
    .sort((a, b) => b.from.getTime() - a.from.getTime());
}

function servingOf(cert: string, key: string, authorities: readonly Authority[]): Serving | undefined {
  const parsed = tried(() => new X509Certificate(cert));
  const own = tried(() => createPrivateKey(key));
  if (!parsed || !own || !parsed.checkPrivateKey(own)) return undefined;
  const signer = authorities.find((authority) => parsed.verify(new X509Certificate(authority.cert).publicKey));
  if (!signer) return undefined;
  return { cert, key, names: namesOf(parsed), until: parsed.validToDate, signedBy: signer.cert };
}

/** Parses the data of the Secret. */
export function readCertificates(data: Readonly<Record<string, string>> | undefined): Certificates {
  const text = (key: string): string => Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
  const authorities = authoritiesOf(text('ca.crt'), text('ca.key'));
  return { authorities, serving: servingOf(text('tls.crt'), text('tls.key'), authorities) };
}

export const bundleOf = (authorities: readonly Pick<Authority, 'cert'>[]): string =>
  authorities.map(({ cert }) => cert).join('');

export function secretData(authorities: readonly Authority[], { cert, key }: ServingPair): Record<string, string> {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return {
    'ca.crt': base64(bundleOf(authorities)),
    'ca.key': base64(authorities.map((authority) => authority.key ?? '').join('')),
    'tls.crt': base64(cert),
    'tls.key': base64(key),
  };
}
