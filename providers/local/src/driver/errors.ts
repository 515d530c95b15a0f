import { type MachineCode, MachineError } from '@mcm/core/driver';
import type { TransportResponse } from '@mcm/kube';
import { z } from 'zod';
import { json } from './json.ts';

const errorBody = z.looseObject({ error: z.looseObject({ code: z.string(), message: z.string() }) });

/**
 * The machine code for each error code of the cloud. The error code takes precedence over the HTTP status, because
 * several error codes have one HTTP status.
 */
const BY_CODE: Readonly<Record<string, MachineCode>> = {
  InvalidParameter: 'InvalidArgument',
  MalformedRequest: 'InvalidArgument',
  RequestTooLarge: 'InvalidArgument',
  Unauthenticated: 'Unauthenticated',
  PermissionDenied: 'PermissionDenied',
  QuotaExceeded: 'ResourceExhausted',
  InsufficientCapacity: 'ResourceExhausted',
  NotFound: 'NotFound',
  IncorrectState: 'Aborted',
  ResourceInUse: 'Aborted',
  RequestLimitExceeded: 'Unavailable',
  InternalError: 'Unavailable',
  ServiceUnavailable: 'Unavailable',
  RequestTimeout: 'DeadlineExceeded',
};

const BY_STATUS: Readonly<Record<number, MachineCode>> = {
  400: 'InvalidArgument',
  401: 'Unauthenticated',
  403: 'PermissionDenied',
  408: 'DeadlineExceeded',
  409: 'Aborted',
  422: 'InvalidArgument',
  429: 'Unavailable',
  504: 'DeadlineExceeded',
};

/**
 * Converts an error response of the cloud. A 404 without the error body of the cloud comes from another server, such as
 * a proxy, so the VM may still exist.
 */
export function fromAnswer(response: TransportResponse, text: string): MachineError {
  const parsed = errorBody.safeParse(json(text));
  const error = parsed.success ? parsed.data.error : undefined;
  const known = error && Object.hasOwn(BY_CODE, error.code) ? BY_CODE[error.code] : undefined;
  const code = known ?? BY_STATUS[response.status] ?? (response.status >= 500 ? 'Unavailable' : 'Internal');
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const message = error ? `${error.code}: ${error.message}` : `the cloud responded with status ${response.status}`;
  return new MachineError(code, message, Number.isFinite(retryAfter) ? { retryAfterMs: retryAfter * 1_000 } : {});
}

export function fromFailure(thrown: unknown, caller: AbortSignal, timedOut: boolean): MachineError {
  if (thrown instanceof MachineError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (caller.aborted) return aborted(caller);
  if (timedOut) return new MachineError('DeadlineExceeded', 'the cloud did not respond in time', { cause: thrown });
  return new MachineError('Unavailable', `cannot reach the cloud: ${message}`, { cause: thrown });
}

/**
 * Returns `DeadlineExceeded` if the time limit of the caller expired, or `Canceled` if the caller canceled the request.
 */
export function aborted(caller: AbortSignal): MachineError {
  const timeout = caller.reason instanceof Error && caller.reason.name === 'TimeoutError';
  return new MachineError(timeout ? 'DeadlineExceeded' : 'Canceled', 'the caller canceled the call', {
    cause: caller.reason,
  });
}
