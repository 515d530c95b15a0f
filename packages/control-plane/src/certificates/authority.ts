import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP, isIPv4 } from 'node:net';
import * as der from './der.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const YEAR_MS = 365 * DAY_MS;
const CA_NAME: Subject = { commonName: 'mcm control plane' };

const OID = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const;

/** A key and its certificate as PEM. */
export interface KeyPair {
  readonly key: string;
  readonly certificate: string;
}

interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

/** The certificate authority of the control plane. */
export interface CertificateAuthority extends KeyPair {
  /** Issues a server certificate for the host names and IPv4 addresses. The certificate is valid for a year. */
  issueServer(hosts: readonly string[]): KeyPair;
  /** Issues a certificate for the given key and purpose. */
  issue(leaf: Leaf): string;
  issueClientPair(subject: Subject): KeyPair;
}

interface Leaf {
  readonly subject: Subject;
  readonly publicKey: KeyObject;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly keyUsages: readonly KeyUsage[];
  readonly extendedKeyUsages: readonly ExtendedKeyUsage[];
  /** The host names and IP addresses in a server certificate. */
  readonly hosts: readonly string[];
  readonly emails?: readonly string[];
  readonly uris?: readonly string[];
}

interface Certificate {
  readonly subject: Subject;
  readonly publicKey: KeyObject;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly extensions: readonly Buffer[];
}

const algorithm = der.sequence(der.oid(OID.ecdsaWithSha256));

const attribute = (type: string, text: string): Buffer => der.set(der.sequence(der.oid(type), der.utf8(text)));

const nameOf = ({ commonName, organizations = [] }: Subject): Buffer =>
  der.sequence(
    ...organizations.map((organization) => attribute(OID.organization, organization)),
    attribute(OID.commonName, commonName),
  );

const extension = (id: string, critical: boolean, content: Buffer): Buffer =>
  der.sequence(der.oid(id), ...(critical ? [der.boolean(true)] : []), der.octets(content));

const KEY_USAGE_BITS = {
  digitalSignature: 0,
  contentCommitment: 1,
  keyEncipherment: 2,
  dataEncipherment: 3,
  keyAgreement: 4,
  keyCertSign: 5,
  cRLSign: 6,
  encipherOnly: 7,
  decipherOnly: 8,
} as const;

export type KeyUsage = keyof typeof KEY_USAGE_BITS;

const EXTENDED_KEY_USAGES = {
  any: '2.5.29.37.0',
  serverAuth: OID.serverAuth,
  clientAuth: OID.clientAuth,
  codeSigning: '1.3.6.1.5.5.7.3.3',
  emailProtection: '1.3.6.1.5.5.7.3.4',
  ipsecEndSystem: '1.3.6.1.5.5.7.3.5',
  ipsecTunnel: '1.3.6.1.5.5.7.3.6',
  ipsecUser: '1.3.6.1.5.5.7.3.7',
  timeStamping: '1.3.6.1.5.5.7.3.8',
  ocspSigning: '1.3.6.1.5.5.7.3.9',
  microsoftSgc: '1.3.6.1.4.1.311.10.3.3',
  netscapeSgc: '2.16.840.1.113730.4.1',
} as const;

export type ExtendedKeyUsage = keyof typeof EXTENDED_KEY_USAGES;

function keyUsage(...positions: number[]): Buffer {
  const last = Math.max(...positions);
  const bytes = Buffer.alloc(last < 8 ? 1 : 2);
  for (const position of positions) bytes[position >> 3] = (bytes[position >> 3] ?? 0) | (0x80 >> (position & 7));
  return extension(OID.keyUsage, true, der.bits(bytes, 7 - (last & 7)));
}

const extendedKeyUsage = (...usages: string[]): Buffer =>
  extension(OID.extendedKeyUsage, false, der.sequence(...usages.map((usage) => der.oid(usage))));

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const middle = Array.from({ length: 8 - left.length - right.length }, () => '0');
  const bytes = Buffer.alloc(16);
  for (const [index, group] of [...left, ...middle, ...right].entries())
    bytes.writeUInt16BE(Number.parseInt(group, 16), index * 2);
  return bytes;
}

type Names = Pick<Leaf, 'hosts' | 'emails' | 'uris'>;

const alternativeNames = ({ hosts, emails = [], uris = [] }: Names): Buffer =>
  extension(
    OID.subjectAltName,
    false,
    der.sequence(
      ...hosts.map((host) =>
        isIP(host) === 0 ? der.implicit(2, Buffer.from(host)) : der.implicit(7, addressBytes(host)),
      ),
      ...emails.map((email) => der.implicit(1, Buffer.from(email, 'latin1'))),
      ...uris.map((uri) => der.implicit(6, Buffer.from(uri, 'latin1'))),
    ),
  );

const pem = (label: string, bytes: Buffer): string =>
  `-----BEGIN ${label}-----\n${(bytes.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END ${label}-----\n`;

const exportKey = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

function serial(): Buffer {
  const bytes = randomBytes(16);
  // A serial number of a certificate must be positive and must have no leading zero byte.
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01;
  return bytes;
}

function issue(signer: KeyObject, { subject, publicKey, notBefore, notAfter, extensions }: Certificate): string {
  const body = der.sequence(
    der.explicit(0, der.integer(2)),
    der.integer(serial()),
    algorithm,
    nameOf(CA_NAME),
    der.sequence(der.time(notBefore), der.time(notAfter)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der.explicit(3, der.sequence(...extensions)),
  );
  return pem('CERTIFICATE', der.sequence(body, algorithm, der.bits(sign('sha256', body, signer))));
}

const generate = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

/**
 * Opens a certificate authority from its stored key and certificate.
 * @param now the current time; most certificates are valid from one day before this time
 */
export function openAuthority(pair: KeyPair, now: Date): CertificateAuthority {
  const signer = createPrivateKey(pair.key);
  const begin = new Date(now.getTime() - DAY_MS);
  const client = (subject: Subject, publicKey: KeyObject, validMs: number): string =>
    issue(signer, {
      subject,
      publicKey,
      notBefore: begin,
      notAfter: new Date(now.getTime() + validMs),
      extensions: [keyUsage(0), extendedKeyUsage(OID.clientAuth)],
    });
  return {
    ...pair,
    issueServer(hosts) {
      const { privateKey, publicKey } = generate();
      const certificate = issue(signer, {
        subject: { commonName: 'kube-apiserver' },
        publicKey,
        notBefore: begin,
        notAfter: new Date(now.getTime() + YEAR_MS),
        extensions: [keyUsage(0, 2), extendedKeyUsage(OID.serverAuth), alternativeNames({ hosts })],
      });
      return { key: exportKey(privateKey), certificate };
    },
    issue: ({ keyUsages, extendedKeyUsages, hosts, emails = [], uris = [], ...leaf }) =>
      issue(signer, {
        ...leaf,
        extensions: [
          ...(keyUsages.length === 0 ? [] : [keyUsage(...keyUsages.map((usage) => KEY_USAGE_BITS[usage]))]),
          ...(extendedKeyUsages.length === 0
            ? []
            : [extendedKeyUsage(...extendedKeyUsages.map((usage) => EXTENDED_KEY_USAGES[usage]))]),
          extension(OID.basicConstraints, true, der.sequence()),
          ...(hosts.length + emails.length + uris.length === 0 ? [] : [alternativeNames({ hosts, emails, uris })]),
        ],
      }),
    issueClientPair(subject) {
      const { privateKey, publicKey } = generate();
      return { key: exportKey(privateKey), certificate: client(subject, publicKey, YEAR_MS) };
    },
  };
}

/** Creates a new certificate authority, which is valid for ten years. */
export function createAuthority(now: Date): CertificateAuthority {
  const { privateKey, publicKey } = generate();
  const certificate = issue(privateKey, {
    subject: CA_NAME,
    publicKey,
    notBefore: new Date(now.getTime() - DAY_MS),
    notAfter: new Date(now.getTime() + 10 * YEAR_MS),
    extensions: [extension(OID.basicConstraints, true, der.sequence(der.boolean(true))), keyUsage(0, 5)],
  });
  return openAuthority({ key: exportKey(privateKey), certificate }, now);
}

export const createKey = (): string => exportKey(generate().privateKey);
