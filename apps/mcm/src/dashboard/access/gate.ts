import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Clock, createAccess, type KubeClient, type Logger, type Refusal } from '@mcm/kube';

/** A user of the dashboard needs the verb `get` for the path `/dashboard`. */
const ACCESS_PATH = '/dashboard';

/**
 * The maximum duration of a session. The session ends earlier if the API server no longer accepts the token of the
 * user.
 */
const SESSION_MS = 8 * 3_600_000;
/** The maximum number of sessions. Without this limit, logins could exhaust the memory. */
const MOST_SESSIONS = 1_000;
const MOST_BODY = 16_384;
/**
 * The name of the session cookie. Because of the prefix `__Host-`, browsers accept the cookie only over HTTPS and from
 * the host of the dashboard.
 */
const COOKIE = '__Host-mcm-dashboard';

/** Decides whether a request from another computer is allowed. */
export interface Gate {
  check(request: IncomingMessage): Promise<Refusal>;
  logIn(request: IncomingMessage): Promise<{ readonly cookie: string } | NonNullable<Refusal>>;
  logOut(request: IncomingMessage): { readonly cookie: string } | NonNullable<Refusal>;
}

const cookieOf = ({ headers }: IncomingMessage): string | undefined =>
  (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim().split('='))
    .find(([name]) => name === COOKIE)?.[1];

/**
 * Returns true if a form was sent from a page of the dashboard. Without the check, another site could log a user in
 * with the token of an attacker, or end the user's session.
 */
function isSameOrigin({ headers }: IncomingMessage): boolean {
  if (headers['sec-fetch-site'] !== undefined) return headers['sec-fetch-site'] === 'same-origin';
  return headers.origin === undefined || headers.origin === `https://${headers.host}`;
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  let body = '';
  for await (const part of request) {
    body += String(part);
    if (body.length > MOST_BODY) return undefined;
  }
  return body;
}

/**
 * Creates the access check of the dashboard. A request needs a bearer token, or a session with a token, even on
 * loopback. For each token, the check sends a TokenReview, and a SubjectAccessReview for the path `/dashboard`.
 */
export function createGate(options: {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
}): Gate {
  const { client, clock, log } = options;
  const access = createAccess({ client: () => client, clock, log });
  const sessions = new Map<string, { readonly token: string; readonly until: number }>();
  const ask = (token: string): Promise<Refusal> =>
    access({ remoteAddress: undefined, authorization: `Bearer ${token}`, path: ACCESS_PATH, verb: 'get' });

  const tokenOf = (request: IncomingMessage): string | undefined => {
    const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (bearer !== undefined) return bearer;
    const id = cookieOf(request) ?? '';
    const session = sessions.get(id);
    if (session !== undefined && session.until > clock.now().getTime()) return session.token;
    sessions.delete(id);
    return undefined;
  };

  return {
    async check(request) {
      const token = tokenOf(request);
      return token === undefined
        ? {
            status: 401,
            body: 'authentication required: log in at /login, or send a bearer token\n',
          }
        : ask(token);
    },
    async logIn(request) {
      if (!isSameOrigin(request))
        return {
          status: 403,
          body: 'authentication required: log in on the page of the dashboard\n',
        };
      const token = new URLSearchParams((await bodyOf(request)) ?? '').get('token')?.trim() ?? '';
      if (token === '') return { status: 401, body: 'enter a token\n' };
      const refusal = await ask(token);
      if (refusal !== undefined) return refusal;
      const [oldest] = sessions.keys();
      if (oldest !== undefined && sessions.size >= MOST_SESSIONS) sessions.delete(oldest);
      const id = randomBytes(32).toString('base64url');
      sessions.set(id, { token, until: clock.now().getTime() + SESSION_MS });
      const age = `Max-Age=${SESSION_MS / 1_000}`;
      return { cookie: `${COOKIE}=${id}; Path=/; Secure; HttpOnly; SameSite=Strict; ${age}` };
    },
    logOut(request) {
      if (!isSameOrigin(request)) return { status: 403, body: 'log out on the page of the dashboard\n' };
      sessions.delete(cookieOf(request) ?? '');
      return { cookie: `${COOKIE}=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0` };
    },
  };
}
