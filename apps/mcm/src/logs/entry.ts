import { eachFormatted, type OutputFormat } from '../output/format.ts';

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type Level = (typeof LEVELS)[number];

export interface LogEntry {
  readonly program: string;
  readonly at: string;
  readonly level: Level | undefined;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface LogFilter {
  readonly programs?: readonly string[] | undefined;
  readonly machine?: string | undefined;
  readonly level?: Level | undefined;
}

/** Parses a log line. If the line is unstructured, the message is the whole line. */
export function parseEntry(program: string, line: string, before = ''): LogEntry {
  const parsed = structured(line);
  if (!parsed) return { program, at: before, level: undefined, message: line, fields: {} };
  const { time, level, msg, binary: _, ...fields } = parsed;
  return {
    program,
    at: typeof time === 'string' ? time : before,
    level: LEVELS.find((one) => one === level),
    message: String(msg),
    fields,
  };
}

function structured(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    const isEntry = typeof value === 'object' && value !== null && 'msg' in value && 'level' in value;
    return isEntry ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined; // A killed program may leave an incomplete line, so the line is printed unchanged.
  }
}

const names = (value: unknown, machine: string): boolean =>
  Array.isArray(value)
    ? value.some((one) => names(one, machine))
    : typeof value === 'string' && (value === machine || value.endsWith(`/${machine}`));

/**
 * Returns true if a line matches the filter. An unstructured line may contain the cause of a crash, so it matches every
 * level.
 */
export function isWanted(entry: LogEntry, { programs, machine, level }: LogFilter): boolean {
  if (programs && !programs.includes(entry.program)) return false;
  if (machine !== undefined && !Object.values(entry.fields).some((value) => names(value, machine))) return false;
  return level === undefined || entry.level === undefined || LEVELS.indexOf(entry.level) >= LEVELS.indexOf(level);
}

/** Sorts log lines by time, the oldest first. */
export const byTime = (entries: readonly LogEntry[]): LogEntry[] =>
  entries.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));

const MARKS: Readonly<Record<Level, string>> = { debug: '.', info: ' ', warn: '!', error: 'E' };

/** Formats a log line. */
export const entryText = (entry: LogEntry, format: OutputFormat): string =>
  eachFormatted(format, entry, lineOf(entry, format === 'wide')).join('\n');

function lineOf(entry: LogEntry, wide: boolean): string {
  const { at, level, program, message, fields } = entry;
  const { machine, because, error, ...others } = fields;
  const about = typeof machine === 'string' ? ` ${machine}:` : '';
  const why = typeof because === 'string' ? `: ${because}` : '';
  const cause = causeOf(error);
  const more = wide && Object.keys(others).length > 0 ? ` ${JSON.stringify(others)}` : '';
  const time = at.slice(11, 23) || ' '.repeat(12);
  return `${time} ${level ? MARKS[level] : ' '} [${program}]${about} ${message}${why}${cause}${more}`;
}

function causeOf(error: unknown): string {
  if (error === undefined) return '';
  const { message } = typeof error === 'object' && error !== null ? (error as { readonly message?: unknown }) : {};
  return `: ${typeof message === 'string' ? message : typeof error === 'string' ? error : JSON.stringify(error)}`;
}
