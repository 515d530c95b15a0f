import { KubeError } from '../contract/errors.ts';

const FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no server listens at the address: start the API server, or correct the address',
  ENOTFOUND: 'the host name of the address does not exist: correct the address, or repair DNS',
  EAI_AGAIN: 'DNS does not resolve the host name of the address: repair DNS, or correct the address',
  ETIMEDOUT: 'no server responds at the address: check firewalls and the API server, or correct the address',
  ECONNRESET:
    'the server closes the connection without a response: wait for its start, use https://, or correct the address',
  EHOSTUNREACH: 'the host has no route to the address: check routes and firewalls, or correct the address',
  ENETUNREACH: 'the host has no route to the address: check routes and firewalls, or correct the address',
  ERR_SSL_WRONG_VERSION_NUMBER:
    'the server at the address does not use TLS, so this server is not an API server: correct the address',
  NO_TLS: 'the server requires TLS, or is not a Kubernetes API server: use https://, or correct the address',
  NO_WAY_ON: 'the proxy at the address does not reach the API server: check the proxy, or correct the address',
  BadAnswer: 'the server at the address is not a Kubernetes API server: correct the address',
};

const SAME: Readonly<Record<string, keyof typeof FAULTS>> = {
  HTTPParserError: 'BadAnswer',
  UND_ERR_CONNECT_TIMEOUT: 'ETIMEDOUT',
  UND_ERR_SOCKET: 'ECONNRESET',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'ERR_SSL_WRONG_VERSION_NUMBER',
};

function codesOf(error: unknown): readonly string[] {
  if (!(error instanceof Error)) return [];
  const own = ['code' in error && typeof error.code === 'string' ? error.code : error.name];
  const parts: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
  return [...own, ...codesOf(error.cause), ...parts.flatMap(codesOf)];
}

/**
 * Explains a response without a `Status`. A Kubernetes API always sends a `Status`, except with the 404 of an unknown
 * path.
 */
function faultWithoutStatus(code: number): string {
  if (code >= 500) return 'NO_WAY_ON';
  return code === 400 ? 'NO_TLS' : 'BadAnswer';
}

function faultOf(error: KubeError): string | undefined {
  if (error.reason === 'BadAnswer') return error.reason;
  if (error.code !== 0) return error.status.message === undefined ? faultWithoutStatus(error.code) : undefined;
  return codesOf(error.cause)
    .map((code) => SAME[code] ?? code)
    .find((code) => code in FAULTS);
}

/**
 * Returns a clause with the reason why no API server responded, and a hint. If the response may lack a `Status`, the
 * caller must have requested `/version`, because every API server serves `/version`.
 */
export function unreached(error: unknown): string | undefined {
  if (!(error instanceof KubeError)) return undefined;
  const fault = faultOf(error);
  return fault === undefined ? undefined : FAULTS[fault];
}
