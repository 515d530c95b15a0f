import { Agent, request } from 'node:https';
import { isIP } from 'node:net';

export interface WebhookCall {
  readonly url: URL;
  /** A webhook with a Service always has `connectTo`. */
  readonly connectTo?: { readonly host: string; readonly port: number } | undefined;
  /** Without `caBundle`, the server accepts only a certificate from a CA that the operating system trusts. */
  readonly caBundle: string | undefined;
  readonly body: string;
  readonly signal: AbortSignal;
}

export interface WebhookReply {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
}

/** @throws Error with the error text of Go's network library */
export type WebhookTransport = (call: WebhookCall) => Promise<WebhookReply>;

const REPLY_LIMIT = 10 * 1024 * 1024;

const agents = new Map<string, Agent>();

/** As in Go's TLS library, the server trusts each certificate of the bundle, even a certificate without the CA flag. */
const trusting = (caBundle: string | undefined) =>
  caBundle === undefined ? {} : { ca: caBundle, allowPartialTrustChain: true };

/** Returns the HTTPS agent for a CA bundle. */
function agentFor(caBundle: string | undefined): Agent {
  const key = caBundle ?? '';
  let agent = agents.get(key);
  if (agent === undefined) {
    agent = new Agent({ keepAlive: true, maxSockets: 32, ...trusting(caBundle) });
    agents.set(key, agent);
  }
  return agent;
}

const CERTIFICATE_ERRORS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate signed by unknown authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate signed by unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate signed by unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate signed by unknown authority',
  CERT_HAS_EXPIRED: 'certificate has expired or is not yet valid',
};

function inGoWords(error: NodeJS.ErrnoException, host: string, port: number): string {
  const code = error.code ?? '';
  const address = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  if (code === 'ECONNREFUSED') return `dial tcp ${address}: connect: connection refused`;
  if (code === 'ENOTFOUND') return `dial tcp: lookup ${host}: no such host`;
  if (code === 'EHOSTUNREACH') return `dial tcp ${address}: connect: no route to host`;
  if (code === 'ECONNRESET') return 'EOF';
  const certificate = CERTIFICATE_ERRORS[code];
  if (certificate !== undefined) return `tls: failed to verify certificate: x509: ${certificate}`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `tls: failed to verify certificate: x509: certificate is not valid for ${host}`;
  }
  return error.message;
}

const CLOSED = new Set(['ECONNRESET', 'EPIPE']);

/**
 * If the webhook closes a reused connection before the response, the server repeats the call on a new connection.
 *
 * Go detects a closed idle connection before a call. Node.js may detect the closed connection only after the call, so a
 * webhook may receive a call twice. Webhooks must support repeated calls anyway, because clients repeat requests.
 */
export const httpsTransport: WebhookTransport = (call) => send(call, true);

const send = (call: WebhookCall, mayReuse: boolean): Promise<WebhookReply> =>
  new Promise((resolve, reject) => {
    const { url, connectTo, caBundle, body, signal } = call;
    const host = connectTo?.host ?? url.hostname.replace(/^\[|\]$/g, '');
    const port = connectTo?.port ?? (url.port === '' ? 443 : Number(url.port));
    let readBefore = 0;
    const isStale = ({ code = '' }: NodeJS.ErrnoException): boolean =>
      mayReuse && outgoing.reusedSocket && CLOSED.has(code) && outgoing.socket?.bytesRead === readBefore;
    const fail = (error: NodeJS.ErrnoException): void => {
      if (isStale(error)) resolve(send(call, false));
      else reject(new Error(inGoWords(error, host, port)));
    };
    const outgoing = request(
      {
        host,
        port,
        path: `${url.pathname}${url.search}`,
        method: 'POST',
        ...(mayReuse ? { agent: agentFor(caBundle) } : { agent: false, ...trusting(caBundle) }),
        servername: isIP(url.hostname) === 0 ? url.hostname : undefined,
        headers: {
          host: url.host,
          accept: 'application/json, */*',
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'kube-apiserver-admission',
        },
        signal,
      },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > REPLY_LIMIT) outgoing.destroy(new Error('the answer is too large'));
          else chunks.push(chunk);
        });
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            body: Buffer.concat(chunks).toString('utf8'),
            contentType: response.headers['content-type'] ?? '',
          }),
        );
        response.on('error', fail);
      },
    );
    outgoing.once('socket', (socket) => {
      readBefore = socket.bytesRead;
    });
    outgoing.on('error', fail);
    outgoing.end(body);
  });
