interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MINUTE: Bounds = { min: 0, max: 59, names: [] };
const HOUR: Bounds = { min: 0, max: 23, names: [] };
const DAY: Bounds = { min: 1, max: 31, names: [] };
const MONTH: Bounds = { min: 1, max: 12, names: MONTHS };
const WEEKDAY: Bounds = { min: 0, max: 6, names: DAYS };

const DESCRIPTORS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** The allowed values of a calendar field. For `*` and `?` in a schedule, every value is allowed. */
interface Field {
  readonly values: ReadonlySet<number>;
  readonly open: boolean;
}

/** A schedule: either a period in milliseconds, or the allowed values of each calendar field. */
export type Schedule =
  | { readonly everyMs: number }
  | {
      readonly minute: Field;
      readonly hour: Field;
      readonly day: Field;
      readonly month: Field;
      readonly weekday: Field;
    };

export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
}

function parseValue(text: string, { min, names }: Bounds): number {
  const named = names.indexOf(text.toLowerCase());
  if (named !== -1) return named + min;
  if (!/^[+-]?\d+$/.test(text)) {
    throw new ScheduleError(
      `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  const value = Number(text);
  if (value < 0) throw new ScheduleError(`negative number (${value}) not allowed: ${text}`);
  return value;
}

function parseRange(expression: string, bounds: Bounds): Field {
  const parts = expression.split('/');
  const [range = '', stepText] = parts;
  const ends = range.split('-');
  const [first = '', last] = ends;
  const star = first === '*' || first === '?';
  let low = bounds.min;
  let high = bounds.max;
  if (!star) {
    low = parseValue(first, bounds);
    if (ends.length > 2) throw new ScheduleError(`too many hyphens: ${expression}`);
    high = last === undefined ? low : parseValue(last, bounds);
  }
  let step = 1;
  if (parts.length > 2) throw new ScheduleError(`too many slashes: ${expression}`);
  if (stepText !== undefined) {
    step = parseValue(stepText, { ...bounds, names: [] });
    // The form `N/step` means the range from N to the maximum of the field.
    if (last === undefined && !star) high = bounds.max;
  }
  if (low < bounds.min) {
    throw new ScheduleError(`beginning of range (${low}) below minimum (${bounds.min}): ${expression}`);
  }
  if (high > bounds.max) throw new ScheduleError(`end of range (${high}) above maximum (${bounds.max}): ${expression}`);
  if (low > high) throw new ScheduleError(`beginning of range (${low}) beyond end of range (${high}): ${expression}`);
  if (step === 0) throw new ScheduleError(`step of range should be a positive number: ${expression}`);
  const values = new Set<number>();
  for (let value = low; value <= high; value += step) values.add(value);
  return { values, open: star && step === 1 };
}

function parseField(text: string, bounds: Bounds): Field {
  const values = new Set<number>();
  let open = false;
  for (const expression of text.split(',').filter((part) => part !== '')) {
    const field = parseRange(expression, bounds);
    for (const value of field.values) values.add(value);
    open ||= field.open;
  }
  return { values, open };
}

const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Converts a Go duration such as `1h30m` to milliseconds. */
function goDuration(text: string): number | undefined {
  if (!/^[+-]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit = ''] of text.matchAll(/(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/g)) {
    total += Number(amount) * (UNITS[unit] ?? 0);
  }
  return text.startsWith('-') ? -total : total;
}

/**
 * Parses a schedule with five fields, or a name such as `@daily`.
 * @throws ScheduleError if the schedule is invalid
 */
export function parseSchedule(schedule: string): Schedule {
  if (schedule === '') throw new ScheduleError('empty spec string');
  if (schedule.startsWith('@every ')) {
    const text = schedule.slice('@every '.length);
    const every = goDuration(text);
    if (every === undefined) {
      throw new ScheduleError(`failed to parse duration ${schedule}: time: invalid duration ${JSON.stringify(text)}`);
    }
    return { everyMs: Math.max(1000, Math.floor(every / 1000) * 1000) };
  }
  if (schedule.startsWith('@')) {
    const fields = DESCRIPTORS[schedule];
    if (fields === undefined) throw new ScheduleError(`unrecognized descriptor: ${schedule}`);
    return parseSchedule(fields);
  }
  const fields = schedule.split(/\s+/).filter((field) => field !== '');
  if (fields.length !== 5) {
    throw new ScheduleError(`expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`);
  }
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields;
  return {
    minute: parseField(minute, MINUTE),
    hour: parseField(hour, HOUR),
    day: parseField(day, DAY),
    month: parseField(month, MONTH),
    weekday: parseField(weekday, WEEKDAY),
  };
}

class Zone {
  readonly #format: Intl.DateTimeFormat;

  /** @throws RangeError for an unknown time zone */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /**
   * Returns the local time of an instant as a number. The number represents the same clock time in UTC, in milliseconds
   * since the epoch.
   */
  shown(at: number): number {
    const parts = new Map(this.#format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
    return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  }

  /** Returns the instant of a local time. */
  instantOf(shown: number): number | undefined {
    let at = shown - (this.shown(shown) - shown);
    at = shown - (this.shown(at) - at);
    return this.shown(at) === shown ? at : undefined;
  }
}

const DAY_MS = 86_400_000;
const YEARS = 5;

const CANONICAL: ReadonlyMap<string, string> = new Map(
  Intl.supportedValuesOf('timeZone').map((name) => [name.toLowerCase(), name]),
);

const CAPITALS: ReadonlySet<string> = new Set(
  'ACT CDT CET CHAT CST EDT EET EST GB GMT HST IN LHI MDT MET MST NSW NZ PDT PRC PST ROC ROK SU UCT US UTC W WET'.split(
    ' ',
  ),
);

const isSpelled = (word: string): boolean =>
  CAPITALS.has(word.toUpperCase()) ? CAPITALS.has(word) : /^(?:[A-Z][a-z]+)+$/.test(word);

/**
 * Returns whether the name of a time zone has the correct capitals. Go reads time zones from files, so Go refuses
 * `europe/berlin`. Node.js accepts any capitals, and lists only canonical names. For a name that Node.js does not list,
 * such as `US/Pacific`, the function checks the capitals of each word.
 */
function isSpelledCorrectly(name: string): boolean {
  const canonical = CANONICAL.get(name.toLowerCase());
  return canonical === undefined ? (name.match(/[A-Za-z]+/g) ?? []).every(isSpelled) : canonical === name;
}

/** Returns whether Go supports the name of a time zone. */
export function isTimeZone(name: string): boolean {
  try {
    return new Zone(name) !== undefined && isSpelledCorrectly(name);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Returns the first due time after `after`. */
export function nextTime(schedule: Schedule, after: Date, timeZone = 'UTC'): Date | undefined {
  if ('everyMs' in schedule) {
    const second = Math.floor(after.getTime() / 1000) * 1000;
    return new Date(second + schedule.everyMs);
  }
  const { minute, hour, day, month, weekday } = schedule;
  const zone = new Zone(timeZone);
  const start = zone.shown(after.getTime());
  const firstDay = Math.floor(start / DAY_MS) * DAY_MS;
  for (let at = firstDay; at < firstDay + YEARS * 366 * DAY_MS; at += DAY_MS) {
    const date = new Date(at);
    if (!month.values.has(date.getUTCMonth() + 1)) continue;
    const byDay = day.values.has(date.getUTCDate());
    const byWeekday = weekday.values.has(date.getUTCDay());
    // If a schedule restricts both the day and the weekday, one matching field is sufficient.
    const matches = day.open || weekday.open ? byDay && byWeekday : byDay || byWeekday;
    if (!matches) continue;
    for (let hours = 0; hours < 24; hours++) {
      if (!hour.values.has(hours)) continue;
      for (let minutes = 0; minutes < 60; minutes++) {
        if (!minute.values.has(minutes)) continue;
        const instant = zone.instantOf(at + hours * 3_600_000 + minutes * 60_000);
        if (instant !== undefined && instant > after.getTime()) return new Date(instant);
      }
    }
  }
  return undefined;
}
