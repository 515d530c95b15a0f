import type { TransportResponse } from '@mcm/kube';
import { tryParseJson } from '@mcm/kube';
import { z } from 'zod';

type Headers = TransportResponse['headers'];

const inner = z.looseObject({ code: z.string().nullish(), message: z.string().nullish() });
const wrapped = z.looseObject({ error: z.unknown(), 'odata.error': z.unknown() }).partial();

/** The header with the error code of a response. Azure sets this header even if the response has no body. */
const CODE_HEADER = 'x-ms-error-code';

/** The error for an error response of Azure, or for a failed operation. */
export class ArmError extends Error {
  override readonly name = 'ArmError';
  readonly status: number;
  readonly code: string;
  /** The whole body of the response, in which the rules of the original search for words. */
  readonly text: string;
  readonly retryAfterMs: number | undefined;

  constructor(
    request: string,
    status: number,
    text: string,
    { headers, retryAfterMs }: { readonly headers?: Headers; readonly retryAfterMs?: number | undefined } = {},
  ) {
    const { code, message } = readError(text, headers);
    super(`${request}: ${status} ${code === '' ? 'without a code' : code}${message === '' ? '' : `: ${message}`}`);
    this.status = status;
    this.code = code;
    this.text = text;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Matches the error code in an XML response of a storage service. */
const XML_CODE = /<(?:\w+:)?[cC]ode>\s*(\w+)\s*<\/(?:\w+:)?[cC]ode>/;

/**
 * Reads the error code and the message of a response. The header takes precedence over the body, as in the SDKs of
 * Azure. The body may be XML, or JSON with or without a property `error`.
 */
function readError(text: string, headers: Headers | undefined): { code: string; message: string } {
  const value = tryParseJson(text);
  const around = wrapped.safeParse(value).data;
  const error = inner.safeParse(around?.error ?? around?.['odata.error'] ?? value).data;
  const reported = headers?.get(CODE_HEADER)?.trim() ?? '';
  const code = reported || error?.code || XML_CODE.exec(text)?.[1] || '';
  return { code, message: error?.message ?? '' };
}
