import type { Logger } from '../contract/logger.ts';

/** The severity of a log line. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const satisfies readonly (
  | LogLevel
  | 'silent'
)[];

/** A logged line. */
export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A logger that stores its lines, for tests. */
export interface MemoryLogger extends Logger {
  readonly lines: readonly LogLine[];
}

function over(lines: LogLine[], own: Readonly<Record<string, unknown>>): MemoryLogger {
  const write =
    (level: LogLevel) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
      lines.push({ level, message, fields: { ...own, ...fields } });
    };
  return {
    lines,
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    with: (fields) => over(lines, { ...own, ...fields }),
  };
}

/** Creates a logger for tests. */
export const createMemoryLogger = (): MemoryLogger => over([], {});

const nothing = (): void => undefined;

/** A logger that drops all lines. */
export const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  with: () => silentLogger,
};
