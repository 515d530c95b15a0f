import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import type { X509Certificate } from '@peculiar/x509';
import type { ServingPair } from '../server.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const LINE = /.{1,64}/g;

export interface Validity {
  readonly from: Date;
  readonly until: Date;
}

/** Only processes that create certificates load the certificate library. */
async function library(): Promise<typeof import('@peculiar/x509')> {
  await import('reflect-metadata');
  return import('@peculiar/x509');
}

const serialNumber = (): string => {
  const bytes = Buffer.from(webcrypto.getRandomValues(new Uint8Array(16)));
  // A serial number must be positive and must not start with a zero byte.
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString('hex');
};

async function pairOf(certificate: X509Certificate, key: webcrypto.CryptoKey): Promise<ServingPair> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64');
  const lines = der.match(LINE) ?? [];
  return {
    cert: `${certificate.toString('pem').trim()}\n`,
    key: ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----', ''].join('\n'),
  };
}

const keyPair = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;

const derOf = (pem: string): Buffer => Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64');

/**
 * Creates a certificate authority that can sign serving certificates, but cannot sign other authorities.
 * @param purpose the purpose of the certificates, which is a part of the authority's name
 */
export async function issueAuthority({ from, until }: Validity, purpose = 'webhooks'): Promise<ServingPair> {
  const x509 = await library();
  const keys = await keyPair();
  const serial = serialNumber();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: serial,
      // The name of an authority contains a random part, because a client with two trusted authorities finds the
      // signing authority by its name.
      name: [{ CN: [`machine-controller-manager ${purpose} ${serial.slice(0, 8)}`] }],
      notBefore: from,
      notAfter: until,
      signingAlgorithm: ALGORITHM,
      keys,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return pairOf(certificate, keys.privateKey);
}

/** Creates a serving certificate. */
export async function issueServing(
  authority: ServingPair,
  names: readonly string[],
  { from, until }: Validity,
): Promise<ServingPair> {
  const x509 = await library();
  const keys = await keyPair();
  const issuer = new x509.X509Certificate(authority.cert);
  const signingKey = await webcrypto.subtle.importKey('pkcs8', derOf(authority.key), ALGORITHM, false, ['sign']);
  const alternatives = names.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value }));
  const certificate = await x509.X509CertificateGenerator.create(
    {
      serialNumber: serialNumber(),
      subject: [{ CN: ['machine-controller-manager'] }],
      issuer: issuer.subject,
      notBefore: from,
      notAfter: until,
      signingAlgorithm: ALGORITHM,
      publicKey: keys.publicKey,
      signingKey,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension(alternatives),
        await x509.AuthorityKeyIdentifierExtension.create(issuer, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return pairOf(certificate, keys.privateKey);
}
