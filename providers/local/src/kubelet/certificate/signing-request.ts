import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/**
 * Encodes a value in DER. Node.js can create keys and signatures, but no certificate signing requests (PKCS #10, RFC
 * 2986).
 */
const tlv = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const length = body.length < 0x100 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const sequence = (...parts: readonly Buffer[]): Buffer => tlv(0x30, ...parts);
const set = (...parts: readonly Buffer[]): Buffer => tlv(0x31, ...parts);
const utf8 = (text: string): Buffer => tlv(0x0c, Buffer.from(text));
const bits = (bytes: Buffer): Buffer => tlv(0x03, Buffer.from([0]), bytes);

const ORGANIZATION = Buffer.from('060355040a', 'hex');
const COMMON_NAME = Buffer.from('0603550403', 'hex');
const ECDSA_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex');
const VERSION_1 = Buffer.from('020100', 'hex');
const NO_ATTRIBUTES = Buffer.from('a000', 'hex');

export interface SigningRequest {
  readonly request: string;
  readonly key: string;
}

export function makeSigningRequest(subject: {
  readonly organization: string;
  readonly commonName: string;
}): SigningRequest {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const der = encodeRequest(subject, publicKey, privateKey).toString('base64');
  const lines = der.match(/.{1,64}/g) ?? [];
  return {
    request: ['-----BEGIN CERTIFICATE REQUEST-----', ...lines, '-----END CERTIFICATE REQUEST-----', ''].join('\n'),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function encodeRequest(
  subject: { readonly organization: string; readonly commonName: string },
  publicKey: KeyObject,
  privateKey: KeyObject,
): Buffer {
  const name = sequence(
    set(sequence(ORGANIZATION, utf8(subject.organization))),
    set(sequence(COMMON_NAME, utf8(subject.commonName))),
  );
  const info = sequence(VERSION_1, name, publicKey.export({ type: 'spki', format: 'der' }), NO_ATTRIBUTES);
  return sequence(info, sequence(ECDSA_SHA256), bits(sign('sha256', info, privateKey)));
}
