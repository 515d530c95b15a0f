import type { KeyObject } from 'node:crypto';

const field = (bytes: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};

/** Encodes a positive number for SSH (RFC 4251). */
const number = (text: string | undefined): Buffer => {
  const bytes = Buffer.from(text ?? '', 'base64url');
  return field((bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
};

/** Returns a public key as a line for authorized_keys, without a comment and a line end. */
export function sshPublicKey(key: KeyObject): string {
  const { n, e } = key.export({ format: 'jwk' });
  const blob = Buffer.concat([field(Buffer.from('ssh-rsa')), number(e), number(n)]);
  return `ssh-rsa ${blob.toString('base64')}`;
}
