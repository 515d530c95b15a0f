import type { Writable } from 'node:stream';
import type { DestinationStream, Logger as PinoLogger } from 'pino';
import { errorText } from '../error-text.ts';
import { KubeError } from '../errors.ts';
import { load } from '../lazy.ts';
import type { Logger } from '../logger.ts';
import type { LogLevel } from './memory-logger.ts';

export interface LoggerOptions {
  readonly level: LogLevel | 'silent';
  /** Default: standard error, one JSON object a line. */
  readonly destination?: Writable;
  /** Fields of every line. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Fields that never reach the log, whoever passes them. */
const REDACTED = ['token', 'password', 'authorization', 'userData', 'credentials', 'secretData'];

/** An error as a log field: the words of it and its causes, and where it arose unless the server said no. */
const errorField = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error;
  if (error instanceof KubeError) return { message: errorText(error), code: error.code, reason: error.reason };
  return { message: errorText(error), stack: error.stack };
};

const wrap = (pino: PinoLogger): Logger => ({
  debug: (message, fields) => pino.debug(fields ?? {}, message),
  info: (message, fields) => pino.info(fields ?? {}, message),
  warn: (message, fields) => pino.warn(fields ?? {}, message),
  error: (message, fields) => pino.error(fields ?? {}, message),
  with: (fields) => wrap(pino.child(fields)),
});

/** A logger over pino, which is loaded here and not before: libraries and tests do without. */
export function createLogger(options: LoggerOptions): Logger {
  const pino = load('pino') as typeof import('pino');
  const destination: DestinationStream = options.destination ?? pino.destination({ dest: 2, sync: true });
  const logger = pino.pino(
    {
      level: options.level,
      base: options.fields ?? {},
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: errorField },
      redact: REDACTED,
    },
    destination,
  );
  return wrap(logger);
}
