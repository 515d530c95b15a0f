import type { Clock } from './clock.ts';
import { errorText } from './error-text.ts';
import type { Logger } from './logger.ts';

/** Logs an outage when it begins and when it ends, not at every attempt in between. */
export interface OutageLog {
  /** An attempt failed. Logged as a warning the first time and whenever the reason is another; else at debug level. */
  failed(error: unknown): void;
  /** It works (again). Logged only after a failure. */
  worked(): void;
  readonly failures: number;
}

/** @param what the activity that fails, as a sentence's subject: `watch of nodes`. */
export function createOutageLog(what: string, clock: Clock, log: Logger): OutageLog {
  let failures = 0;
  let since = 0;
  let lastText = '';
  return {
    get failures() {
      return failures;
    },
    failed(error) {
      failures++;
      const text = errorText(error);
      if (failures === 1) since = clock.now().getTime();
      if (text === lastText) log.debug(`${what} still fails`, { error: text, failures });
      else log.warn(`${what} failed, trying again until it works`, { error: text });
      lastText = text;
    },
    worked() {
      if (failures === 0) return;
      log.info(`${what} works again`, { failures, afterMs: clock.now().getTime() - since });
      failures = 0;
      lastText = '';
    },
  };
}
