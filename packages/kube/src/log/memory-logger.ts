import type { Logger } from '../contract/logger.ts';

/** How grave a line is. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** What a log can be limited to, from everything to nothing. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const satisfies readonly (
  | LogLevel
  | 'silent'
)[];

/** A line as it was logged. */
export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A logger that keeps its lines, for tests. */
export interface MemoryLogger extends Logger {
  /** All lines so far, those of loggers made by `with` too. */
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

/** A logger that keeps its lines, for tests. */
export const createMemoryLogger = (): MemoryLogger => over([], {});

const nothing = (): void => undefined;

/** A logger that drops everything. */
export const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  with: () => silentLogger,
};
