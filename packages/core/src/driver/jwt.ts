import { constants, createSign, type KeyObject } from 'node:crypto';

/** The header and claims of a JSON Web Token (RFC 7519). */
export interface JwtParts {
  /** The algorithms RS256 and PS256 need an RSA key. */
  readonly algorithm: 'RS256' | 'PS256';
  /** Fields of the header in addition to `alg` and `typ`. */
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * Creates and signs a JSON Web Token.
 * @param key a private RSA key: PEM, or a key object
 * @throws Error whose message may contain the key
 */
export function signJwt({ algorithm, header = {}, claims }: JwtParts, key: string | KeyObject): string {
  const text = `${part({ alg: algorithm, typ: 'JWT', ...header })}.${part(claims)}`;
  const sign = createSign('RSA-SHA256').update(text);
  const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
  const options = typeof key === 'string' ? { key } : { key };
  const signature = sign.sign(algorithm === 'PS256' ? { ...options, ...pss } : options, 'base64url');
  return `${text}.${signature}`;
}
