import type { TransportResponse } from '@mcm/kube';
import { tryParseJson } from '@mcm/kube';
import { z } from 'zod';

type Headers = TransportResponse['headers'];

const inner = z.looseObject({ code: z.string().nullish(), message: z.string().nullish() });
const wrapped = z.looseObject({ error: z.unknown(), 'odata.error': z.unknown() }).partial();

/** The header with the error code, which a response with or without a body may have. */
const CODE_HEADER = 'x-ms-error-code';

/** An error response of Azure, or the failed end of an operation. */
export class ArmError extends Error {
  override readonly name = 'ArmError';
  /** The HTTP status, or 200 for a failed operation. */
  readonly status: number;
  /** The error code, such as `ZonalAllocationFailed`. The code is empty if the response contains none. */
  readonly code: string;
  /** The unchanged text of the response, because rules of the original search the whole text. */
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

/** The error code in an XML response of a storage service. */
const XML_CODE = /<(?:\w+:)?[cC]ode>\s*(\w+)\s*<\/(?:\w+:)?[cC]ode>/;

/**
 * Reads the error of a response. The header takes precedence over the body, as in the SDKs of Azure. The body may be
 * XML, or JSON with or without a member `error`.
 */
function readError(text: string, headers: Headers | undefined): { code: string; message: string } {
  const value = tryParseJson(text);
  const around = wrapped.safeParse(value).data;
  const error = inner.safeParse(around?.error ?? around?.['odata.error'] ?? value).data;
  const reported = headers?.get(CODE_HEADER)?.trim() ?? '';
  const code = reported || error?.code || XML_CODE.exec(text)?.[1] || '';
  return { code, message: error?.message ?? '' };
}
