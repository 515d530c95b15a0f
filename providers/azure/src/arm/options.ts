import type { LearnedRates } from '@mcm/core/driver';
import type { Clock, Random, Transport } from '@mcm/kube';

export interface ArmOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly connect: (origin: string) => Transport;
  readonly endpoint: string;
  readonly userAgent: string;
  /** Returns the value of the Authorization header. */
  readonly authorize: (signal: AbortSignal) => Promise<string | undefined>;
  readonly refused?: (authorization: string) => void;
  /** The rate limits of the principal. */
  readonly rates?: LearnedRates | undefined;
}
