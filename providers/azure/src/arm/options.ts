import type { LearnedRates } from '@mcm/core/driver';
import type { Clock, Random, Transport } from '@mcm/kube';

export interface ArmOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly connect: (origin: string) => Transport;
  /** The origin of Azure Resource Manager, the management API. */
  readonly endpoint: string;
  readonly userAgent: string;
  /** Returns the value of the Authorization header. If the result is undefined, the request has no such header. */
  readonly authorize: (signal: AbortSignal) => Promise<string | undefined>;
  /** Called when Azure refuses a value that `authorize` returned. */
  readonly refused?: (authorization: string) => void;
  /** The rate limits of the principal. By default, each client learns its own rate limits. */
  readonly rates?: LearnedRates | undefined;
}
