import { eachFormatted, type OutputFormat } from '../output/format.ts';

/** From the most talkative on. */
export const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type Level = (typeof LEVELS)[number];

/** One line of a program's log. */
export interface LogEntry {
  readonly program: string;
  /** RFC 3339; of a line that has none, such as a stack, that of the line before it in its file; '' for the first ones. */
  readonly at: string;
  /** Undefined: the line is no structured one. */
  readonly level: Level | undefined;
  readonly message: string;
  /** What else a structured line says. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Which entries are wanted; all that is given must hold. */
export interface LogFilter {
  readonly programs?: readonly string[];
  readonly machine?: string;
  /** This level, and those above it. */
  readonly level?: Level;
}

/** Reads one line. Total: what is no structured line is a message as it stands. */
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
    return undefined; // A program that was killed leaves half a line: it is shown as it stands.
  }
}

/** Whether a value names the machine: by itself, as `namespace/name`, or among others. */
const names = (value: unknown, machine: string): boolean =>
  Array.isArray(value)
    ? value.some((one) => names(one, machine))
    : typeof value === 'string' && (value === machine || value.endsWith(`/${machine}`));

/** Lines that are not structured have no level: they tell how a program ended, and pass every level. */
export function isWanted(entry: LogEntry, { programs, machine, level }: LogFilter): boolean {
  if (programs && !programs.includes(entry.program)) return false;
  if (machine !== undefined && !Object.values(entry.fields).some((value) => names(value, machine))) return false;
  return level === undefined || entry.level === undefined || LEVELS.indexOf(entry.level) >= LEVELS.indexOf(level);
}

/** Oldest first; lines of one program stay in their order. */
export const byTime = (entries: readonly LogEntry[]): LogEntry[] =>
  entries.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));

const MARKS: Readonly<Record<Level, string>> = { debug: '.', info: ' ', warn: '!', error: 'E' };

/** One entry as it is printed; JSON is one object a line, YAML one document each. */
export function entryText(entry: LogEntry, format: OutputFormat): string {
  if (format === 'json' || format === 'yaml') return eachFormatted(format, entry, '').join('\n');
  const { at, level, program, message, fields } = entry;
  const { machine, because, error, ...others } = fields;
  const about = typeof machine === 'string' ? ` ${machine}:` : '';
  const why = typeof because === 'string' ? `: ${because}` : '';
  const cause = causeOf(error);
  const more = format === 'wide' && Object.keys(others).length > 0 ? ` ${JSON.stringify(others)}` : '';
  const time = at.slice(11, 23) || ' '.repeat(12);
  return `${time} ${level ? MARKS[level] : ' '} [${program}]${about} ${message}${why}${cause}${more}`;
}

function causeOf(error: unknown): string {
  if (error === undefined) return '';
  const { message } = typeof error === 'object' && error !== null ? (error as { readonly message?: unknown }) : {};
  return `: ${typeof message === 'string' ? message : typeof error === 'string' ? error : JSON.stringify(error)}`;
}
