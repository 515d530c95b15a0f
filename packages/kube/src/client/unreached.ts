import { KubeError } from '../contract/errors.ts';

/** Reasons why no API server answered, by the codes of Node and undici, each with a hint. */
const FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at its address: start the API server, or correct the address',
  ENOTFOUND: 'the name in its address is not known: correct the address, or mend name resolution (DNS)',
  EAI_AGAIN: 'the name in its address cannot be looked up: mend name resolution (DNS), or correct the address',
  ETIMEDOUT:
    'nothing answers at its address: look for a firewall and whether the API server hangs, or correct the address',
  ECONNRESET:
    'what is at its address closes the connection without an answer: wait if the API server starts, see whether it wants https://, or correct the address',
  EHOSTUNREACH: 'no way leads to its address: look at routes and firewalls, or correct the address',
  ENETUNREACH: 'no way leads to its address: look at routes and firewalls, or correct the address',
  ERR_SSL_WRONG_VERSION_NUMBER: 'what is at its address speaks no TLS, so it is no API server: correct the address',
  NO_TLS:
    'what is at its address wants TLS, or is no Kubernetes API server: write https:// in the address, or correct it',
  NO_WAY_ON:
    'what answers at its address is a proxy that does not reach the API server, or something else: look there, or correct the address',
  BadAnswer: 'what answers at its address is no Kubernetes API server: correct the address',
};

/** Other codes of the same faults. */
const SAME: Readonly<Record<string, keyof typeof FAULTS>> = {
  HTTPParserError: 'BadAnswer',
  UND_ERR_CONNECT_TIMEOUT: 'ETIMEDOUT',
  UND_ERR_SOCKET: 'ECONNRESET',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'ERR_SSL_WRONG_VERSION_NUMBER',
};

/** The codes of an error and of what caused it, the outermost first; names where there is no code. */
function codesOf(error: unknown): readonly string[] {
  if (!(error instanceof Error)) return [];
  const own = ['code' in error && typeof error.code === 'string' ? error.code : error.name];
  const parts: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
  return [...own, ...codesOf(error.cause), ...parts.flatMap(codesOf)];
}

/**
 * A refusal without a `Status` does not come from a Kubernetes API. The only one of kube-apiserver is a 404 for a path of
 * no API.
 */
function faultOfStranger(code: number): string {
  if (code >= 500) return 'NO_WAY_ON';
  return code === 400 ? 'NO_TLS' : 'BadAnswer';
}

function faultOf(error: KubeError): string | undefined {
  if (error.reason === 'BadAnswer') return error.reason;
  if (error.code !== 0) return error.status.message === undefined ? faultOfStranger(error.code) : undefined;
  return codesOf(error.cause)
    .map((code) => SAME[code] ?? code)
    .find((code) => code in FAULTS);
}

/**
 * Why no API server answered a request, and a hint, as a clause. Undefined if an API server answered, or if only the error's
 * own text is known. Use an answer without a `Status` only for a path of every API server: `/version`.
 */
export function unreached(error: unknown): string | undefined {
  if (!(error instanceof KubeError)) return undefined;
  const fault = faultOf(error);
  return fault === undefined ? undefined : FAULTS[fault];
}
