import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@mcm/kube';

/**
 * Issues bearer tokens and verifies them. A token contains its expiry and a signature, so the class stores no tokens.
 */
export class BearerTokens {
  readonly #clock: Clock;
  readonly #key: string;
  readonly #lifeMs: number;

  /** @param key The key that signs the tokens. With an unchanged key, the tokens of an earlier process stay valid. */
  constructor(clock: Clock, key: string, lifeMs = 3_600_000) {
    this.#clock = clock;
    this.#key = key;
    this.#lifeMs = lifeMs;
  }

  /** Returns the response of an OAuth token endpoint with a new token. */
  issue(subject: string): {
    readonly access_token: string;
    readonly expires_in: number;
    readonly token_type: 'Bearer';
  } {
    const until = this.#clock.now().getTime() + this.#lifeMs;
    const payload = Buffer.from(JSON.stringify({ subject, until })).toString('base64url');
    return {
      access_token: `${payload}.${this.#seal(payload)}`,
      expires_in: Math.floor(this.#lifeMs / 1_000),
      token_type: 'Bearer',
    };
  }

  admits(authorization: string | undefined): boolean {
    const [, payload = '', seal = ''] = /^Bearer ([\w-]+)\.([\w-]+)$/.exec(authorization ?? '') ?? [];
    const [a, b] = [Buffer.from(seal), Buffer.from(this.#seal(payload))];
    if (a.length !== b.length || !timingSafeEqual(a, b)) return false;
    const { until }: { until: number } = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return until > this.#clock.now().getTime();
  }

  #seal(payload: string): string {
    return createHmac('sha256', this.#key).update(payload).digest('base64url');
  }
}

/** Returns the value of a header. The names of HTTP headers are case-insensitive. */
export const headerOf = (headers: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
