import { z } from 'zod';

const inner = z.looseObject({ code: z.string().nullish(), message: z.string().nullish() });
const wrapped = z.looseObject({ error: inner });

/** What Azure answered in place of what was asked for, or how an operation of it ended. */
export class ArmError extends Error {
  override readonly name = 'ArmError';
  /** HTTP status; 200 for an operation that has failed. */
  readonly status: number;
  /** `ZonalAllocationFailed`; empty where the answer holds none. */
  readonly code: string;
  /** The answer as it came; rules of the original look at it whole. */
  readonly text: string;
  readonly retryAfterMs: number | undefined;

  constructor(request: string, status: number, text: string, retryAfterMs?: number) {
    const { code, message } = read(text);
    super(`${request}: ${status} ${code === '' ? 'without a code' : code}${message === '' ? '' : `: ${message}`}`);
    this.status = status;
    this.code = code;
    this.text = text;
    this.retryAfterMs = retryAfterMs;
  }
}

function read(text: string): { code: string; message: string } {
  const value = parseJson(text);
  const found = wrapped.safeParse(value).data?.error ?? inner.safeParse(value).data;
  return { code: found?.code ?? '', message: found?.message ?? '' };
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // some proxy's page, or nothing
  }
}
