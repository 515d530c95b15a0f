/** The functions for durations parse like `time.ParseDuration` and format like `time.Duration.String` of Go. */

const UNITS = 'ns|us|µs|μs|ms|s|m|h';

/**
 * Matches Go durations without negative values. The duration pattern is built from a string, because bundlers escape
 * `µ` in a literal. CRDs contain the duration pattern, and Go does not accept the escaped form of `µ`.
 */
export const DURATION_PATTERN = new RegExp(`^[+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(${UNITS}))+)$`);

const UNIT_NS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n], // U+00B5, the micro sign
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);

const SEGMENT = new RegExp(`([0-9]*)(?:\\.([0-9]*))?(${UNITS})`, 'y');
const MAX_NS = 2n ** 63n;

/**
 * Parses a Go duration.
 * @returns nanoseconds, or undefined if the text is not a duration, or exceeds an int64 of nanoseconds
 */
export function parseDurationNs(text: string): bigint | undefined {
  const negative = text.startsWith('-');
  const digits = negative || text.startsWith('+') ? text.slice(1) : text;
  if (digits === '0') return 0n;
  const total = sumSegments(digits);
  if (total === undefined) return undefined;
  if (total > (negative ? MAX_NS : MAX_NS - 1n)) return undefined;
  return negative ? -total : total;
}

function sumSegments(digits: string): bigint | undefined {
  // The parser refuses a longer text, because a malicious text could use much CPU time.
  if (digits === '' || digits.length > 256) return undefined;
  let total = 0n;
  for (let at = 0; at < digits.length; at = SEGMENT.lastIndex) {
    SEGMENT.lastIndex = at;
    const match = SEGMENT.exec(digits);
    const [, whole = '', fraction = '', unit = ''] = match ?? [];
    const scale = UNIT_NS.get(unit);
    if (match === null || scale === undefined || whole + fraction === '') return undefined;
    total += BigInt(whole || '0') * scale + (BigInt(fraction || '0') * scale) / 10n ** BigInt(fraction.length);
  }
  return total;
}

/**
 * Parses a Go duration.
 * @returns milliseconds, possibly with a fraction, or undefined if the text is not a valid Go duration
 */
export function parseDurationMs(text: string): number | undefined {
  const nanoseconds = parseDurationNs(text);
  return nanoseconds === undefined ? undefined : Number(nanoseconds) / 1e6;
}

/** Formats nanoseconds like Go: `1h30m0s`, `20m0s`, `1.5s`, `166.037218ms`, `0s`. */
export function formatDurationNs(nanoseconds: bigint): string {
  if (nanoseconds < 0n) return `-${formatDurationNs(-nanoseconds)}`;
  if (nanoseconds === 0n) return '0s';
  if (nanoseconds < 1_000n) return `${nanoseconds}ns`;
  if (nanoseconds < 1_000_000n) return `${decimal(nanoseconds, 3)}µs`;
  if (nanoseconds < 1_000_000_000n) return `${decimal(nanoseconds, 6)}ms`;
  const minutes = nanoseconds / 60_000_000_000n;
  const seconds = `${decimal(nanoseconds % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return seconds;
  if (minutes < 60n) return `${minutes}m${seconds}`;
  return `${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

/** Formats milliseconds with the format of a Go duration. `formatDurationMs` rounds fractions of a nanosecond. */
export const formatDurationMs = (milliseconds: number): string => {
  const whole = Math.trunc(milliseconds);
  return formatDurationNs(BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1e6)));
};

/** Returns `value` divided by 10^`digits` as a decimal number without trailing zeros. */
function decimal(value: bigint, digits: number): string {
  const text = value.toString().padStart(digits + 1, '0');
  const fraction = text.slice(-digits).replace(/0+$/, '');
  return fraction === '' ? text.slice(0, -digits) : `${text.slice(0, -digits)}.${fraction}`;
}
