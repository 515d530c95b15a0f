/** Structured log: a constant message and fields. Never put a Secret's data, user data or a token into either. */
export interface Logger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** A logger that adds `fields` to every line. */
  with(fields: Readonly<Record<string, unknown>>): Logger;
}
