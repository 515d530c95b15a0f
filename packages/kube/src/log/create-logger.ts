import type { Writable } from 'node:stream';
import type { DestinationStream, Logger as PinoLogger } from 'pino';
import { errorText } from '../base/error-text.ts';
import { load } from '../base/lazy.ts';
import { KubeError } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';
import { LossyWriter, writeAll } from './lossy-writer.ts';
import { LOG_LEVELS, type LogLevel } from './memory-logger.ts';

/** Destination and level of the log. */
export interface LoggerOptions {
  readonly level: LogLevel | 'silent';
  readonly destination?: Writable;
  readonly fields?: Readonly<Record<string, unknown>>;
}

const REDACTED = ['token', 'password', 'authorization', 'userData', 'credentials', 'secretData'];

/** Returns the error with its causes for the log. */
const errorField = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error;
  if (error instanceof KubeError) return { message: errorText(error), code: error.code, reason: error.reason };
  return { message: errorText(error), stack: error.stack };
};

interface Limit {
  level: LogLevel | 'silent';
}

function wrap(pino: PinoLogger, limit: Limit): Logger {
  const write =
    (level: LogLevel) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
      if (LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(limit.level)) pino[level](fields, message);
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    with: (fields) => wrap(pino.child(fields), limit),
  };
}

export interface LeveledLogger extends Logger {
  readonly level: { get(): LogLevel | 'silent'; set(level: LogLevel | 'silent'): void };
}

/** The logger ignores write errors, because a full disk or a closed pipe must not end the process. */
function standardError(): DestinationStream {
  const notice = (dropped: number, reason: string): string =>
    JSON.stringify({ level: 'warn', dropped, reason, msg: 'Dropped log lines because of a write error' });
  return new LossyWriter({ sink: (bytes) => writeAll(2, bytes), notice });
}

/** Creates a logger. pino is imported on demand, because libraries and tests do not need it. */
export function createLogger(options: LoggerOptions): LeveledLogger {
  const pino = load('pino') as typeof import('pino');
  const destination: DestinationStream = options.destination ?? standardError();
  const logger = pino.pino(
    {
      level: 'debug',
      base: options.fields ?? {},
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: errorField },
      redact: REDACTED,
    },
    destination,
  );
  const limit: Limit = { level: options.level };
  const level: LeveledLogger['level'] = {
    get: () => limit.level,
    set: (wanted) => {
      limit.level = wanted;
    },
  };
  return { ...wrap(logger, limit), level };
}
