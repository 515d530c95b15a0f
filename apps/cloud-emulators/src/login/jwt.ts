import { constants, createVerify, type KeyObject } from 'node:crypto';

type Members = Readonly<Record<string, unknown>>;

/** A parsed token. The emulator does not verify the signature of the token. */
export interface Jwt {
  readonly header: Members;
  readonly claims: Members;
  isSignedBy(key: KeyObject): boolean;
}

const membersOf = (part: string): Members | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return typeof value === 'object' && value !== null ? (value as Members) : undefined;
  } catch {
    return undefined;
  }
};

export function readJwt(text: string): Jwt | undefined {
  const [first = '', second = '', signature = ''] = text.split('.');
  const [header, claims] = [membersOf(first), membersOf(second)];
  if (!header || !claims) return undefined;
  const isSignedBy = (key: KeyObject): boolean => {
    const verify = createVerify('RSA-SHA256').update(`${first}.${second}`);
    if (header.alg === 'RS256') return verify.verify(key, signature, 'base64url');
    if (header.alg !== 'PS256') return false;
    return verify.verify({ key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }, signature, 'base64url');
  };
  return { header, claims, isSignedBy };
}
