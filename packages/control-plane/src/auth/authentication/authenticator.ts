import { hash, timingSafeEqual } from 'node:crypto';
import { unauthorized } from '../../apimachinery/errors/errors.ts';
import type { ServerRequest } from '../../apimachinery/http/exchange.ts';
import { AUTHENTICATED, administrator, anonymous, type UserInfo } from '../../apimachinery/users/user.ts';

export type TokenReader = (token: string) => UserInfo | undefined;

const digest = (text: string): Buffer => hash('sha256', text, 'buffer');

export function staticTokens(tokens: ReadonlyMap<string, UserInfo>): TokenReader {
  const known = [...tokens].map(([token, user]) => ({ hash: digest(token), user }));
  /** A cache of valid tokens, so that the function does not compute a digest for a repeated token. */
  const accepted = new Map<string, UserInfo>();
  return (token) => {
    const before = accepted.get(token);
    if (before !== undefined) return before;
    const hash = digest(token);
    const user = known.find((entry) => timingSafeEqual(entry.hash, hash))?.user;
    if (user !== undefined) accepted.set(token, user);
    return user;
  };
}

/** Returns the bearer token in an Authorization header. If two spaces follow `Bearer`, the header contains no token. */
export function bearerToken(header: string): string | undefined {
  const [scheme = '', token = ''] = header.trim().split(' ');
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined;
}

/**
 * Finds the user of a request by its client certificate or bearer token. As in kube-apiserver, a valid certificate
 * takes precedence.
 */
export class Authenticator {
  readonly #readers: TokenReader[];
  /** Whether a request from this process has the permissions of the administrator if the request has no credentials. */
  readonly #trustInside: boolean;

  constructor(readers: TokenReader[], trustInside: boolean) {
    this.#readers = readers;
    this.#trustInside = trustInside;
  }

  /** @throws StatusError 401 if the token is unknown and the request has no valid certificate */
  authenticate(request: ServerRequest): UserInfo {
    const { certificate } = request;
    if (certificate !== undefined && certificate.commonName !== '') {
      return { name: certificate.commonName, groups: [...certificate.organizations, AUTHENTICATED] };
    }
    const header = request.header('authorization');
    const token = header === undefined ? undefined : bearerToken(header);
    if (token !== undefined) {
      const user = this.identify(token);
      if (user === undefined) throw unauthorized();
      return user;
    }
    return request.trusted && this.#trustInside && header === undefined ? administrator : anonymous;
  }

  identify(token: string): UserInfo | undefined {
    for (const reader of this.#readers) {
      const user = reader(token);
      if (user !== undefined) return user;
    }
    return undefined;
  }
}
