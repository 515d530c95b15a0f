// The rules in this file come from go-yaml v2 (resolve.go, encode.go) and from the packages strconv and time of Go.

const WORDS: ReadonlySet<string> = new Set(
  ['', '~', '<<', 'y', 'Y', 'n', 'N', '.nan', '.NaN', '.NAN'].concat(
    ['yes', 'no', 'true', 'false', 'on', 'off', 'null'].flatMap((word) => [
      word,
      word.toUpperCase(),
      `${word[0]?.toUpperCase()}${word.slice(1)}`,
    ]),
    ['', '+', '-'].flatMap((sign) => ['.inf', '.Inf', '.INF'].map((word) => sign + word)),
  ),
);

export const isWord = (text: string): boolean => WORDS.has(text);

const MARKED_INTEGER = /^([-+]?)0(?:[xX]([0-9a-fA-F]+)|[oO]([0-7]+)|[bB]([01]+))$/;
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
const FRACTION = /^\.\d+(_\d+)*([eE][-+]?\d+(_\d+)*)?$/;
const BASE_60 = /^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$/;
const TIMESTAMP =
  /^(\d{4})-(\d\d?)-(\d\d?)(?:(?:[Tt](\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?(?:Z|[-+](\d\d):(\d\d)))| +(\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?)?$/;

const MAX_INT = 2n ** 63n;
const MAX_UINT = 2n ** 64n;

export function resolves(text: string): boolean {
  if (text === '<<') return false;
  if (isWord(text)) return true;
  if (text.startsWith('.')) return FRACTION.test(text) && isFiniteFloat(text.replaceAll('_', ''));
  if (!/^[-+0-9]/.test(text)) return false;
  if (BASE_60.test(text) || isTimestamp(text)) return true;
  const plain = text.replaceAll('_', '');
  return isMarkedInteger(plain) || (FLOAT.test(plain) && isFiniteFloat(plain));
}

/** If a float overflows, Go reads the float as a text. */
const isFiniteFloat = (text: string): boolean => Number.isFinite(Number(text));

/** Returns true for an integer with a radix prefix that fits into 64 bits. */
function isMarkedInteger(text: string): boolean {
  const [, sign, hex, octal, binary] = MARKED_INTEGER.exec(text) ?? [];
  if (sign === undefined) return false;
  const value = BigInt(hex === undefined ? (octal === undefined ? `0b${binary}` : `0o${octal}`) : `0x${hex}`);
  if (sign === '') return value < MAX_UINT;
  return sign === '-' ? value <= MAX_INT : value < MAX_INT;
}

function isTimestamp(text: string): boolean {
  const match = TIMESTAMP.exec(text);
  if (!match) return false;
  const [year = 0, month = 0, day = 0, ...rest] = match.slice(1).map((part) => (part === undefined ? 0 : Number(part)));
  const [hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0, ...other] = rest;
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return false;
  const [otherHour = 0, otherMinute = 0, otherSecond = 0] = other;
  const times = [hour, otherHour].every((one) => one < 24);
  const parts = [minute, second, otherMinute, otherSecond].every((one) => one < 60);
  return times && parts && zoneHour <= 24 && zoneMinute <= 60;
}

function daysIn(year: number, month: number): number {
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}
