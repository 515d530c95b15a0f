import { badRequest } from '../../apimachinery/errors/errors.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look, type Plain } from '../../apimachinery/objects/plain.ts';
import { anonymous } from '../../apimachinery/users/user.ts';
import type { ReviewHandler } from '../../resources/registry.ts';
import { bearerToken, type TokenReader } from '../authentication/authenticator.ts';
import { ISSUER, type ServiceAccountTokens } from '../authentication/service-account-tokens.ts';
import { answered, showUser } from './answer.ts';

const list = (items: readonly string[]): string => `[${items.map((item) => JSON.stringify(item)).join(' ')}]`;

/**
 * Removes `authenticated` from the status in the request body, and returns the rest. A failed review keeps the other
 * fields and sets the error.
 */
function before({ status }: ApiObject): Plain {
  const { authenticated: _authenticated, ...rest } = isRecord(status) ? status : {};
  return { ...rest, user: look(rest, 'user') };
}

/** `fixed` returns the users of the static tokens. */
export const tokenReview =
  (tokens: ServiceAccountTokens, fixed: readonly TokenReader[]): ReviewHandler =>
  ({ object }) => {
    const spec = (object.spec ?? {}) as { token?: string; audiences?: string[] };
    const { token: given = '', audiences = [] } = spec;
    if (given === '') throw badRequest('token is required for TokenReview in authentication');
    const wanted = audiences.length === 0 ? [ISSUER] : audiences;
    const token = bearerToken(`Bearer ${given}`);
    // A text with invalid header characters cannot be a token, so the review reports the anonymous user.
    if (token === undefined) {
      return answered(object, { spec, status: { authenticated: true, user: showUser(anonymous), audiences: wanted } });
    }
    const own = wanted.includes(ISSUER)
      ? fixed.map((read) => read(token)).find((found) => found !== undefined)
      : undefined;
    const user = own ?? tokens.read(token, wanted);
    if (user !== undefined) {
      const matching = own === undefined ? wanted.filter((one) => tokens.audiencesOf(token)?.includes(one)) : [ISSUER];
      return answered(object, { spec, status: { authenticated: true, user: showUser(user), audiences: matching } });
    }
    const others = tokens.audiencesOf(token);
    const isForOthers = others !== undefined && !others.some((audience) => wanted.includes(audience));
    const why = isForOthers
      ? `token audiences ${list(others)} is invalid for the target audiences ${list(wanted)}`
      : tokens.problemOf(token);
    const error = why === undefined ? 'invalid bearer token' : `[invalid bearer token, ${why}]`;
    return answered(object, { spec, status: { ...before(object), error } });
  };
