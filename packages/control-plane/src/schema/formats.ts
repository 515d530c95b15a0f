import { isIP } from 'node:net';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Matches host names: one label with letters and symbols of any script, or several labels. */
const HOSTNAME =
  /^(?:[a-zA-Z0-9\p{S}\p{L}](?:-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?|(?:[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63})$/u;
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})t(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:z|([+-])(\d{2}):(\d{2}))$/i;
const GO_DURATION = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
/** Matches a text that contains a number with a unit of time. */
const WORD_DURATION = /\d\s*(?:(?:ns|us|µs|ms|s|m|h|hr|d|w|wk)(?![A-Za-zµ])|nano|micro|milli|sec|min|hour|day|week)/i;
/** Matches the addresses that `net.ParseMAC` of Go accepts: 6, 8 or 20 bytes, in groups of two or four digits. */
const MAC =
  /^(?:[0-9a-f]{2}(?:(?::[0-9a-f]{2}){5}|(?:-[0-9a-f]{2}){5}|(?::[0-9a-f]{2}){7}|(?:-[0-9a-f]{2}){7}|(?::[0-9a-f]{2}){19}|(?:-[0-9a-f]{2}){19})|[0-9a-f]{4}(?:(?:\.[0-9a-f]{4}){2}|(?:\.[0-9a-f]{4}){3}|(?:\.[0-9a-f]{4}){9})|[0-9a-f]{12}|[0-9a-f]{16}|[0-9a-f]{40})$/i;
const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;

function isDate(text: string): boolean {
  const parts = DATE.exec(text);
  if (parts === null) return false;
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  if (month < 1 || month > 12 || day < 1) return false;
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

function isDateTime(text: string): boolean {
  const parts = DATE_TIME.exec(text);
  if (parts === null) return false;
  return isDate(parts[1] ?? '') && Number(parts[2]) < 24 && Number(parts[3]) < 60 && Number(parts[4]) < 60;
}

function isUri(text: string): boolean {
  // `url.ParseRequestURI` of Go accepts an absolute URL, or a path that starts with a slash.
  if (text.startsWith('/')) return ![...text].some((char) => char <= ' ');
  return /^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text) && URL.canParse(text);
}

function isCidr(text: string): boolean {
  const slash = text.lastIndexOf('/');
  if (slash < 0) return false;
  const family = isIP(text.slice(0, slash));
  const bits = text.slice(slash + 1);
  if (family === 0 || !/^(?:0|[1-9]\d{0,2})$/.test(bits)) return false;
  return Number(bits) <= (family === 4 ? 32 : 128);
}

const uuid = (version: string): RegExp =>
  new RegExp(
    `^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?[${version === '[0-9a-f]' || version === '3' ? '0-9a-f' : '89ab'}][0-9a-f]{3}-?[0-9a-f]{12}$`,
    'i',
  );

const matches =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text);

const luhn = (text: string): boolean => {
  const digits = text.replace(/[ -]/g, '');
  if (!/^\d{13,19}$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    let digit = Number(digits[digits.length - 1 - i]);
    if (i % 2 === 1) digit = digit * 2 > 9 ? digit * 2 - 9 : digit * 2;
    sum += digit;
  }
  return sum % 10 === 0;
};

const isbn10 = (text: string): boolean => {
  const digits = text.replace(/[ -]/g, '');
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < 10; i++) sum += (10 - i) * (digits[i] === 'X' ? 10 : Number(digits[i]));
  return sum % 11 === 0;
};

const isbn13 = (text: string): boolean => {
  const digits = text.replace(/[ -]/g, '');
  if (!/^\d{13}$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < 13; i++) sum += Number(digits[i]) * (i % 2 === 0 ? 1 : 3);
  return sum % 10 === 0;
};

/** As in kube-apiserver, the server ignores an unknown string format. */
const FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map<string, (text: string) => boolean>([
  ['datetime', isDateTime],
  ['date', isDate],
  ['duration', (text) => GO_DURATION.test(text) || WORD_DURATION.test(text)],
  ['byte', (text) => text !== '' && BASE64.test(text.replace(/[\r\n]/g, ''))],
  ['ipv4', (text) => isIP(text) === 4],
  ['ipv6', (text) => isIP(text) === 6],
  ['cidr', isCidr],
  ['mac', matches(MAC)],
  ['uri', isUri],
  ['email', matches(/^[^\s@<>]+@[^\s@<>]+$/)],
  ['hostname', (text) => text.length <= 255 && HOSTNAME.test(text)],
  ['uuid', matches(uuid('[0-9a-f]'))],
  ['uuid3', matches(uuid('3'))],
  ['uuid4', matches(uuid('4'))],
  ['uuid5', matches(uuid('5'))],
  ['bsonobjectid', matches(/^[0-9a-f]{24}$/i)],
  ['isbn', (text) => isbn10(text) || isbn13(text)],
  ['isbn10', isbn10],
  ['isbn13', isbn13],
  ['creditcard', luhn],
  ['ssn', matches(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ['hexcolor', matches(/^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i)],
  ['rgbcolor', matches(/^rgb\(\s*\d{1,3}%?\s*,\s*\d{1,3}%?\s*,\s*\d{1,3}%?\s*\)$/i)],
  ['password', () => true],
  ['k8sshortname', (text) => text.length <= 63 && DNS_LABEL.test(text)],
  ['k8slongname', (text) => text.length <= 253 && text.split('.').every((part) => DNS_LABEL.test(part))],
]);

/** As in Go, the function ignores hyphens in the name of a format. */
const checkOf = (format: string): ((text: string) => boolean) | undefined => FORMATS.get(format.replaceAll('-', ''));

/** Returns whether a text has a format. */
export const hasFormat = (format: string, text: string): boolean => checkOf(format)?.(text) ?? true;

const NUMERIC_FORMATS: Readonly<Record<string, readonly string[]>> = {
  integer: ['int32', 'int64'],
  number: ['float', 'double'],
};

/** Returns whether the server checks a format. For a schema without a type, `type` is ''. */
export function isKnownFormat(format: string, type: string): boolean {
  if (type === '' || type === 'string') return checkOf(format) !== undefined;
  return NUMERIC_FORMATS[type]?.includes(format) ?? false;
}
