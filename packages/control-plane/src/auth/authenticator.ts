import { hash, timingSafeEqual } from 'node:crypto';
import { unauthorized } from '../apimachinery/errors/errors.ts';
import type { ServerRequest } from '../apimachinery/http/exchange.ts';
import { AUTHENTICATED, administrator, anonymous, type UserInfo } from '../apimachinery/users/user.ts';

/** Finds the user of a bearer token; undefined: not one of its tokens. */
export type TokenReader = (token: string) => UserInfo | undefined;

const digest = (text: string): Buffer => hash('sha256', text, 'buffer');

/** A reader of fixed tokens. */
export function staticTokens(tokens: ReadonlyMap<string, UserInfo>): TokenReader {
  const known = [...tokens].map(([token, user]) => ({ hash: digest(token), user }));
  return (token) => {
    const hash = digest(token);
    return known.find((entry) => timingSafeEqual(entry.hash, hash))?.user;
  };
}

/** The token of an `Authorization` header: the word after `Bearer`; undefined where there is none, as after two spaces. */
export function bearerToken(header: string): string | undefined {
  const [scheme = '', token = ''] = header.trim().split(' ');
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined;
}

/** Who sends a request: by bearer token, client certificate, or from inside the process. */
export class Authenticator {
  readonly #readers: TokenReader[];
  /** Without credentials a request from inside the process is the administrator's. */
  readonly #trustInside: boolean;

  constructor(readers: TokenReader[], trustInside: boolean) {
    this.#readers = readers;
    this.#trustInside = trustInside;
  }

  /** @throws StatusError 401 for a token that nobody knows */
  authenticate(request: ServerRequest): UserInfo {
    const header = request.header('authorization');
    const token = header === undefined ? undefined : bearerToken(header);
    if (token !== undefined) {
      const user = this.identify(token);
      if (user === undefined) throw unauthorized();
      return user;
    }
    const { certificate } = request;
    if (certificate !== undefined && certificate.commonName !== '') {
      return { name: certificate.commonName, groups: [...certificate.organizations, AUTHENTICATED] };
    }
    return request.trusted && this.#trustInside && header === undefined ? administrator : anonymous;
  }

  /** The user of a token. */
  identify(token: string): UserInfo | undefined {
    for (const reader of this.#readers) {
      const user = reader(token);
      if (user !== undefined) return user;
    }
    return undefined;
  }
}
