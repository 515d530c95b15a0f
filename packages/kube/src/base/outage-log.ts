import type { Clock } from '../clock/clock.ts';
import { KubeError } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';
import { errorText } from './error-text.ts';

/** Logs an outage when it begins and when it ends, not at every attempt in between. */
export interface OutageLog {
  /** An attempt failed. Logged as a warning the first time and whenever the reason is another; else at debug level. */
  failed(error: unknown): void;
  /** It works (again). Logged only after a failure. */
  worked(): void;
  readonly failures: number;
}

/** What tells one reason of an outage from another. Of an API server's error not the words: they name the request. */
const reasonOf = (error: unknown): string =>
  error instanceof KubeError ? `${error.code} ${error.reason}` : errorText(error);

/** @param what the activity that fails, as a sentence's subject: `watch of nodes`. */
export function createOutageLog(what: string, clock: Clock, log: Logger): OutageLog {
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
      if (reason === lastReason) log.debug(`${what} still fails`, { error: text, failures });
      else log.warn(`${what} failed, trying again until it works`, { error: text });
      lastReason = reason;
    },
    worked() {
      if (failures === 0) return;
      log.info(`${what} works again`, { failures, afterMs: clock.monotonic() - since });
      failures = 0;
      lastReason = '';
    },
  };
}
