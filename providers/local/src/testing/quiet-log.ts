import type { Logger } from '@mcm/kube';

/** A line that was logged. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A logger that keeps what it is told, so that a test can look. */
export function recordingLog(lines: LogLine[] = [], context: Readonly<Record<string, unknown>> = {}): Logger {
  const at =
    (level: LogLine['level']): Logger['info'] =>
    (message, fields = {}) => {
      lines.push({ level, message, fields: { ...context, ...fields } });
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: (fields) => recordingLog(lines, { ...context, ...fields }),
  };
}
