import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { isIP } from 'node:net';
import { DerError, type DerValue, readAll, readOid, readText, readValue } from './der-reader.ts';

export interface SigningRequest {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly publicKey: KeyObject;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
}

const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
const SUBJECT_ALT_NAME = '2.5.29.17';

const DIGESTS: Readonly<Record<string, string | null>> = {
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.3.101.112': null,
};

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----\r?\n([\s\S]*?)-----END \1-----/;

export function pemBlock(text: string, label: string): Buffer | undefined {
  const match = BLOCK.exec(text);
  return match !== null && match[1] === label ? Buffer.from(match[2] ?? '', 'base64') : undefined;
}

/** A cache of parsed requests, because validation, approval and signing read the same request within milliseconds. */
const known = new Map<string, SigningRequest>();
const MAX_KNOWN = 64;

/**
 * Reads a certificate request. The signature must match the public key in the request.
 * @param text the request as base64 of PEM, as in `spec.request`
 * @throws Error with the reason why the request is invalid
 */
export function readSigningRequest(text: string): SigningRequest {
  const found = known.get(text);
  if (found !== undefined) return found;
  const request = parse(text);
  known.set(text, request);
  const [oldest] = known.keys();
  if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
  return request;
}

function parse(text: string): SigningRequest {
  const der = pemBlock(Buffer.from(text, 'base64').toString('utf8'), 'CERTIFICATE REQUEST');
  if (der === undefined) throw new Error('PEM block type must be CERTIFICATE REQUEST');
  const [info, algorithm, signature] = readAll(readValue(der).content);
  if (info === undefined || algorithm === undefined || signature === undefined) {
    throw new DerError('asn1: structure error: no certification request');
  }
  const [, subject, key, attributes] = readAll(info.content);
  if (subject === undefined || key === undefined) throw new DerError('asn1: structure error: no subject');
  const publicKey = createPublicKey({ key: key.bytes, format: 'der', type: 'spki' });
  const digest = DIGESTS[oidOf(algorithm)];
  if (digest === undefined) throw new Error('x509: cannot verify signature: algorithm unimplemented');
  if (!verify(digest, info.bytes, publicKey, signature.content.subarray(1))) {
    throw new Error('x509: signature of the certificate request does not match its key');
  }
  return { ...readSubject(subject), publicKey, ...readNames(attributes) };
}

const oidOf = (sequence: DerValue): string => {
  const [oid] = readAll(sequence.content);
  if (oid === undefined) throw new DerError('asn1: structure error: no object identifier');
  return readOid(oid);
};

function readSubject(subject: DerValue): Pick<SigningRequest, 'commonName' | 'organizations'> {
  let commonName = '';
  const organizations: string[] = [];
  for (const attribute of readAll(subject.content).flatMap((set) => readAll(set.content))) {
    const [oid, value] = readAll(attribute.content);
    if (oid === undefined || value === undefined) continue;
    const type = readOid(oid);
    if (type === COMMON_NAME) commonName = readText(value);
    else if (type === ORGANIZATION) organizations.push(readText(value));
  }
  return { commonName, organizations };
}

/** Reads the names in a certificate request. RFC 5280 defines the tags (`GeneralName`). */
function readNames(
  attributes: DerValue | undefined,
): Pick<SigningRequest, 'dnsNames' | 'ipAddresses' | 'emails' | 'uris'> {
  const names = { dnsNames: [] as string[], ipAddresses: [] as string[], emails: [] as string[], uris: [] as string[] };
  for (const name of alternativeNames(attributes)) {
    const kind = name.tag & 0x1f;
    if (kind === 1) names.emails.push(name.content.toString('latin1'));
    else if (kind === 2) names.dnsNames.push(name.content.toString('latin1'));
    else if (kind === 6) names.uris.push(name.content.toString('latin1'));
    else if (kind === 7) names.ipAddresses.push(addressOf(name.content));
  }
  return names;
}

function* alternativeNames(attributes: DerValue | undefined): Generator<DerValue> {
  for (const attribute of attributes === undefined ? [] : readAll(attributes.content)) {
    const [oid, values] = readAll(attribute.content);
    if (oid === undefined || values === undefined || readOid(oid) !== EXTENSION_REQUEST) continue;
    for (const extension of readAll(values.content).flatMap((list) => readAll(list.content))) {
      const parts = readAll(extension.content);
      const [id] = parts;
      const content = parts.at(-1);
      if (id === undefined || content === undefined || readOid(id) !== SUBJECT_ALT_NAME) continue;
      yield* readAll(readValue(content.content).content);
    }
  }
}

function addressOf(bytes: Buffer): string {
  if (bytes.length === 4) return [...bytes].join('.');
  const groups = Array.from({ length: bytes.length >> 1 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  const text = groups.join(':');
  return isIP(text) === 6 ? text : '';
}
