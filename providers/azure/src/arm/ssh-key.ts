import type { KeyObject } from 'node:crypto';

const field = (bytes: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};

/** Encodes a positive number (RFC 4251). A leading zero byte keeps a number with a set first bit positive. */
const number = (text: string | undefined): Buffer => {
  const bytes = Buffer.from(text ?? '', 'base64url');
  return field((bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
};

/** Returns the key as a line of authorized_keys, without comment and line end. */
export function sshPublicKey(key: KeyObject): string {
  const { n, e } = key.export({ format: 'jwk' });
  const blob = Buffer.concat([field(Buffer.from('ssh-rsa')), number(e), number(n)]);
  return `ssh-rsa ${blob.toString('base64')}`;
}
