import { clockText, retryAfterOf } from '@mcm/core/driver';
import { withoutUndefined } from '@mcm/kube';

/** The error for an error response of EC2 or STS. */
export class Refusal extends Error {
  override readonly name: string;
  /** The error code of the response. If the response contains no code, `code` is `UnknownError`. */
  readonly code: string;
  readonly status: number;
  readonly action: string;
  readonly retryAfterMs: number | undefined;

  constructor(
    action: string,
    answer: { code: string; message: string; status: number; retryAfterMs?: number | undefined; requestId?: string },
  ) {
    const { code, message, status, retryAfterMs, requestId } = answer;
    const request = requestId ? `, request ${requestId}` : '';
    super(`${action}: ${code}: ${message} (HTTP ${status}${request})`);
    this.name = code;
    this.action = action;
    this.code = code;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * The error codes for refused credentials. A wrong clock can cause an error about the signature, because a signature
 * contains the time.
 */
export const CREDENTIALS_REFUSED: ReadonlySet<string> = new Set([
  'AuthFailure',
  'ExpiredToken',
  'ExpiredTokenException',
  'IncompleteSignature',
  'InvalidClientTokenId',
  'InvalidIdentityToken',
  'MissingAuthenticationToken',
  'OptInRequired',
  'RequestExpired',
  'SignatureDoesNotMatch',
  'AccessDenied',
  'AccessDeniedException',
  'UnauthorizedOperation',
]);

/** The error if the service sent no response, or if the response does not come from AWS. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  readonly status: number | undefined;

  constructor(action: string, what: string, options: { cause?: unknown; status?: number } = {}) {
    super(`${action}: ${what}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
  }
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

const unescaped = (text: string): string =>
  text.replaceAll(/&(#x[0-9a-f]+|#\d+|\w+);/gi, (whole, name: string) => {
    if (name.startsWith('#x')) return String.fromCodePoint(Number.parseInt(name.slice(2), 16));
    if (name.startsWith('#')) return String.fromCodePoint(Number(name.slice(1)));
    return ENTITIES[name] ?? whole;
  });

/**
 * Returns the content of the last XML element with a name. If a response contains several errors, the Go SDK reports
 * the last one.
 */
const lastElement = (xml: string, name: string): string | undefined => {
  const found = [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))].at(-1)?.[1];
  return found === undefined ? undefined : unescaped(found);
};

function fieldsOf(text: string): { readonly __type?: string; readonly message?: string } {
  if (!text.startsWith('{')) return {};
  try {
    const { __type, message }: Record<string, unknown> = JSON.parse(text);
    return withoutUndefined({
      __type: typeof __type === 'string' ? __type : undefined,
      message: typeof message === 'string' ? message : undefined,
    });
  } catch {
    return {};
  }
}

/** Parses an error response: `<Response><Errors><Error><Code>…` of EC2, or `<ErrorResponse><Error><Code>…` of STS. */
export function readRefusal(
  action: string,
  status: number,
  headers: { get(name: string): string | null },
  text: string,
  now: Date,
): Refusal {
  const json = fieldsOf(text);
  // As in the Go SDK, only errors in the element `Errors` count in a response of EC2.
  const errors = action.startsWith('AssumeRole') || text.includes('<Errors>') ? text : '';
  const code = lastElement(errors, 'Code') || json.__type?.split('#').at(-1) || 'UnknownError';
  const requestId = lastElement(text, 'RequestI[dD]') ?? headers.get('x-amzn-requestid') ?? '';
  const retryAfterMs = retryAfterOf(headers, now);
  const clock = CREDENTIALS_REFUSED.has(code) ? clockText('AWS', headers.get('date'), now) : '';
  // As in the Go SDK, the message is `UnknownError` if the response contains no message.
  const message = [lastElement(errors, 'Message') || json.message || 'UnknownError', clock].filter(Boolean).join('; ');
  return new Refusal(action, {
    code,
    message,
    status,
    requestId,
    retryAfterMs,
  });
}
