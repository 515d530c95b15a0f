import { type Sent, withoutSent } from '@mcm/core/driver';
import type { Clock, Transport } from '@mcm/kube';
import { NoAnswer, readRefusal } from './refusal.ts';

interface SdkRequest {
  readonly method: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

interface SdkResponse {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
}

export interface RequestHandlerOptions {
  readonly clock: Clock;
  /**
   * Returns the connection to an origin, such as `https://ec2.eu-north-1.amazonaws.com`. The driver calls `connect`
   * once for each origin.
   */
  readonly connect: (origin: string) => Transport;
  /** Whether the driver may use plain http for remote hosts. */
  readonly allowPlainHttp: boolean;
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[?::1\]?)$/;

/**
 * Sends the requests of the SDK over the connections of this process. For an error response, the handler throws
 * `Refusal`. For an incomplete response or a response of a proxy, the handler throws `NoAnswer`, because the SDK
 * would treat the response as an empty success.
 */
export function createRequestHandler({ clock, connect, allowPlainHttp }: RequestHandlerOptions) {
  const transports = new Map<string, Transport>();
  const to = (origin: string): Transport => {
    const known = transports.get(origin);
    if (known) return known;
    const made = connect(origin);
    transports.set(origin, made);
    return made;
  };
  return {
    handle: async (
      request: SdkRequest,
      { abortSignal: signal }: { readonly abortSignal?: AbortSignal } = {},
    ): Promise<{ response: SdkResponse }> => {
      const { protocol, hostname, port } = request;
      const origin = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`;
      const body = textOf(request.body);
      const target = request.headers['x-amz-target'];
      const action = target?.split('.').at(-1) ?? new URLSearchParams(body).get('Action') ?? request.method;
      if (protocol === 'http:' && !allowPlainHttp && !LOOPBACK.test(hostname))
        throw new NoAnswer(
          action,
          `endpoint ${origin} uses plain http, which mcm allows only for loopback addresses; use https, or set MCM_ALLOW_PLAIN_HTTP=true`,
        );
      const { method, path, headers } = request;
      const sent = { method, path, headers, body, signal };
      const { status, headers: reported, text } = await exchange(to(origin), sent, action, origin);
      if (status >= 300) throw readRefusal(action, status, reported, withoutSent(text, quoted(sent)), clock.now());
      // SQS responds with JSON, but its response to a deletion is empty.
      const complete = target === undefined ? text.trimEnd().endsWith(`</${action}Response>`) : isJson(text);
      if (!complete)
        throw new NoAnswer(action, `${origin} returned an incomplete or invalid ${action}Response`, { status });
      return {
        response: {
          statusCode: status,
          headers: { 'content-type': target === undefined ? 'text/xml' : JSON_TYPE },
          body: new TextEncoder().encode(text),
        },
      };
    },
    updateHttpClientConfig: (): void => undefined,
    httpHandlerConfigs: () => ({}),
  };
}

/** Returns the body of a request as text. The SDK sends text to EC2 and STS, and bytes to SQS. */
const textOf = (body: unknown): string =>
  typeof body === 'string' ? body : body instanceof Uint8Array ? new TextDecoder().decode(body) : '';

const JSON_TYPE = 'application/x-amz-json-1.0';

function isJson(text: string): boolean {
  try {
    JSON.parse(text || '{}');
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the values of a request that an error message must not contain. If EC2 refuses a signature, its response
 * quotes headers.
 */
const quoted = ({ headers = {}, body = '' }: Parameters<Transport>[0]): Sent => ({
  headers,
  form: body.includes('WebIdentityToken=') ? Object.fromEntries(new URLSearchParams(body)) : {},
});

async function exchange(transport: Transport, request: Parameters<Transport>[0], action: string, origin: string) {
  try {
    const response = await transport(request);
    return {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
    };
  } catch (thrown) {
    request.signal?.throwIfAborted();
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new NoAnswer(action, `no response from ${origin}: ${why}`, { cause: thrown });
  }
}
