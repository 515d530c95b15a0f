import type { Clock } from '../clock/clock.ts';
import { KubeError } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';
import { errorText } from './error-text.ts';

/** Logs the start and the end of an outage, but not the attempts during the outage. */
export interface OutageLog {
  /** Warns about the first failure and about each new reason, and logs further failures at debug level. */
  failed(error: unknown): void;
  worked(): void;
  readonly failures: number;
}

/** The logged reason omits the message of the API server, because the message contains the request. */
const reasonOf = (error: unknown): string =>
  error instanceof KubeError ? `${error.code} ${error.reason}` : errorText(error);

/**
 * Creates a log of outages.
 * @param activity the failing activity as the subject of a sentence, such as `watch of nodes`
 */
export function createOutageLog(activity: string, clock: Clock, log: Logger): OutageLog {
  let failures = 0;
  let since = 0;
  let lastReason = '';
  return {
    get failures() {
      return failures;
    },
    failed(error) {
      failures++;
      const text = errorText(error);
      const reason = reasonOf(error);
      if (failures === 1) since = clock.monotonic();
      if (reason === lastReason) log.debug(`${activity} still fails`, { error: text, failures });
      else log.warn(`${activity} failed; retrying until success`, { error: text });
      lastReason = reason;
    },
    worked() {
      if (failures === 0) return;
      log.info(`${activity} succeeds again`, { failures, afterMs: clock.monotonic() - since });
      failures = 0;
      lastReason = '';
    },
  };
}
