import { parseTime } from '@mcm/api';

const INTEGER = /^[+-]?\d+$/;
const GO_DURATION = /^[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/;

/** Parses a decimal integer like Go's `strconv.ParseInt`. */
export function parseInteger(text: string | undefined): number | undefined {
  if (text === undefined || !INTEGER.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Decisions parse the times of a machine repeatedly, so parsed times are cached. */
const times = new Map<string, number>();
const MOST_TIMES = 20_000;

export function parseInstant(text: string | null | undefined): number | undefined {
  if (!text) return undefined;
  const known = times.get(text);
  if (known !== undefined) return known;
  const value = parseTime(text)?.getTime();
  if (value === undefined) return undefined;
  if (times.size >= MOST_TIMES) times.clear();
  times.set(text, value);
  return value;
}

export const isGoDuration = (text: string): boolean => GO_DURATION.test(text);

/** Compares two texts as the last criterion of a sort, so that the result does not depend on the order of the input. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
