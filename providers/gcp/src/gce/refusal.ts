import { retryAfterOf } from '@mcm/core/driver';
import { z } from 'zod';

const refusal = z.looseObject({
  error: z.looseObject({
    message: z.string().optional(),
    errors: z.array(z.looseObject({ reason: z.string().optional(), message: z.string().optional() })).optional(),
    details: z.array(z.looseObject({ reason: z.string().optional() })).optional(),
  }),
});

/** The error for an error response of Compute Engine. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly reasons: readonly string[];
  readonly reported: string;
  readonly retryAfterMs: number | undefined;

  constructor(status: number, reported: string, reasons: readonly string[], retryAfterMs?: number) {
    const reason =
      reasons.length === 1 && reported !== '' ? `, ${reasons[0]}` : reasons.map((each) => ` (${each})`).join('');
    super(`googleapi: Error ${status}: ${reported}${reason}`);
    this.status = status;
    this.reported = reported;
    this.reasons = reasons;
    this.retryAfterMs = retryAfterMs;
  }

  /**
   * Returns true if the resource does not exist. A 404 without an error body comes from a proxy or a wrong endpoint.
   */
  get absent(): boolean {
    return this.status === 404 && (this.reported !== '' || this.reasons.length > 0);
  }

  /** Returns true if Google throttled the request. A throttled request had no effect. */
  get throttles(): boolean {
    const limited = this.reasons.some((reason) => /^(user)?rateLimitExceeded$|^RATE_LIMIT_EXCEEDED$/i.test(reason));
    return this.status === 429 || (this.status === 403 && limited);
  }
}

export function readRefusal(
  status: number,
  headers: { get(name: string): string | null },
  body: unknown,
  now: Date,
): Refusal {
  const { message = '', errors = [], details = [] } = refusal.safeParse(body).data?.error ?? {};
  const reasons = [...errors, ...details].flatMap(({ reason }) => (reason ? [reason] : []));
  return new Refusal(status, message, reasons, retryAfterOf(headers, now));
}
