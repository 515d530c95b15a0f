export interface GoTime {
  readonly seconds: string;
  readonly nanos: number;
}

const SECONDS = '2006-01-02T15:04:05Z07:00';
const MICROS = '2006-01-02T15:04:05.000000Z07:00';

/** Quotes a text as Go's package `time` does, which escapes every byte outside of printable ASCII. */
function quote(text: string): string {
  let quoted = '"';
  for (const character of text) {
    if (character === '"' || character === '\\') quoted += `\\${character}`;
    else if (character >= ' ' && character < '\u0080') quoted += character;
    else for (const byte of Buffer.from(character)) quoted += `\\x${byte.toString(16).padStart(2, '0')}`;
  }
  return `${quoted}"`;
}

class Misfit extends Error {
  /** The part of the layout that does not match the text, or undefined if the text matches but is no valid time. */
  readonly part: string | undefined;

  constructor(message: string, part?: string) {
    super(message);
    this.part = part;
  }
}

const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const daysIn = (month: number, year: number): number => (month === 2 && isLeap(year) ? 29 : (DAYS[month - 1] ?? 0));

class Reader {
  rest: string;

  constructor(text: string) {
    this.rest = text;
  }

  literal(character: string): void {
    if (!this.rest.startsWith(character)) throw new Misfit(this.rest, character);
    this.rest = this.rest.slice(1);
  }

  /** Reads two digits, or one digit if `atLeast` is 1. */
  number(part: string, name: string, low: number, high: number, atLeast: 1 | 2 = 2): number {
    const digits = (atLeast === 2 ? /^\d\d/ : /^\d\d?/).exec(this.rest)?.[0];
    if (digits === undefined) throw new Misfit(this.rest, part);
    this.rest = this.rest.slice(digits.length);
    const value = Number(digits);
    if (value < low || value > high) throw new Misfit(`${name} out of range`);
    return value;
  }

  year(): number {
    const digits = /^\d[-+\d]{3}/.exec(this.rest.slice(0, 4))?.[0];
    if (digits === undefined || !/^\d{4}$/.test(digits)) throw new Misfit(this.rest, '2006');
    this.rest = this.rest.slice(4);
    return Number(digits);
  }

  /**
   * Reads a fraction of a second, although the layout contains no fraction. A fraction may have any number of digits,
   * but Go ignores the digits after the ninth.
   */
  anyFraction(): number {
    const digits = /^[.,](\d+)/.exec(this.rest)?.[1];
    if (digits === undefined) return 0;
    this.rest = this.rest.slice(1 + digits.length);
    return Number(digits.slice(0, 9).padEnd(9, '0'));
  }

  /** Reads six digits of microseconds. Go reads the microseconds as a number, so the first character may be a sign. */
  micros(): number {
    const digits = /^[.,]([-+]?\d+)$/.exec(this.rest.slice(0, 7))?.[1];
    if (digits === undefined || Buffer.byteLength(this.rest) < 7 || digits.length !== 6) {
      throw new Misfit(this.rest, '.000000');
    }
    const value = Number(digits);
    this.rest = this.rest.slice(7);
    if (value < 0) throw new Misfit('fractional second out of range');
    return value * 1000;
  }

  zone(): number {
    if (this.rest.startsWith('Z')) {
      this.rest = this.rest.slice(1);
      return 0;
    }
    const [, sign, hours, minutes] = /^([-+])(\d\d):(\d\d)/.exec(this.rest) ?? [];
    if (sign === undefined) throw new Misfit(this.rest, 'Z07:00');
    this.rest = this.rest.slice(6);
    if (Number(hours) > 24) throw new Misfit('time zone offset hour out of range');
    if (Number(minutes) > 60) throw new Misfit('time zone offset minute out of range');
    const offset = Number(hours) * 60 + Number(minutes);
    return sign === '-' ? -offset : offset;
  }
}

function read(text: string, micro: boolean): GoTime {
  const reader = new Reader(text);
  const year = reader.year();
  reader.literal('-');
  const month = reader.number('01', 'month', 1, 12);
  reader.literal('-');
  // As in Go, the parser first accepts a day from 0 to 99, and checks the range after it has read the whole text.
  const day = reader.number('02', 'day', 0, 99);
  reader.literal('T');
  const hour = reader.number('15', 'hour', 0, 23, 1);
  reader.literal(':');
  const minute = reader.number('04', 'minute', 0, 59);
  reader.literal(':');
  const second = reader.number('05', 'second', 0, 59);
  const nanos = micro ? reader.micros() : reader.anyFraction();
  const offset = reader.zone();
  if (reader.rest !== '') throw new Misfit(`extra text: ${quote(reader.rest)}`);
  if (day < 1 || day > daysIn(month, year)) throw new Misfit('day out of range');
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute - offset, second);
  return { seconds: date.toISOString().replace(/\.\d+Z$/, ''), nanos };
}

/**
 * Parses a time as Go's `time.Parse` does. The layout is RFC 3339, and the fraction of a second is optional. With
 * `micro`, the fraction must have six digits.
 * @throws RangeError with the error text of Go's `time.Parse`
 */
export function parseGoTime(text: string, micro: boolean): GoTime {
  try {
    return read(text, micro);
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    const { message, part } = error;
    if (part === undefined) throw new RangeError(`parsing time ${quote(text)}: ${message}`);
    const layout = micro ? MICROS : SECONDS;
    throw new RangeError(
      `parsing time ${quote(text)} as ${quote(layout)}: cannot parse ${quote(message)} as ${quote(part)}`,
    );
  }
}
