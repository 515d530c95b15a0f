import { isIP } from 'node:net';

/** An IP address. An IPv4 address has 4 bytes, and an IPv6 address has 16 bytes. */
interface Address {
  readonly bytes: readonly number[];
  readonly strict: boolean;
}

const INVALID_IP = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const INVALID_CIDR = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';

/** The rules of older API fields accept numbers with leading zeros. */
function parseFour(text: string): Address | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255)) return undefined;
  return { bytes: parts.map(Number), strict: parts.every((part) => part === String(Number(part))) };
}

function parseSix(text: string): Address | undefined {
  const end = text.lastIndexOf(':');
  const four = text.slice(end + 1).includes('.') ? parseFour(text.slice(end + 1)) : undefined;
  const [a = 0, b = 0, c = 0, d = 0] = four?.bytes ?? [];
  const hex = (high: number, low: number): string => ((high << 8) | low).toString(16);
  const plain = four === undefined ? text : `${text.slice(0, end + 1)}${hex(a, b)}:${hex(c, d)}`;
  if (plain.includes('%') || isIP(plain) !== 6) return undefined;
  const [head = '', tail] = plain.split('::');
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((one) => Number.parseInt(one, 16));
  const [left, right] = [groups(head), groups(tail ?? '')];
  const middle = Array.from({ length: 8 - left.length - right.length }, () => 0);
  const bytes = [...left, ...middle, ...right].flatMap((group) => [group >> 8, group & 255]);
  return { bytes, strict: four?.strict ?? true };
}

/** Parses an address by the rules of older API fields. */
export const parseAddress = (text: string): Address | undefined =>
  text.includes(':') ? parseSix(text) : parseFour(text);

const isMapped = ({ bytes }: Address): boolean =>
  bytes.length === 16 && bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;

/** Formats an IPv6 address as RFC 5952 requires: `::` replaces the longest run of zeros. */
function formatSix(bytes: readonly number[]): string {
  const groups = Array.from({ length: 8 }, (_, index) => ((bytes[2 * index] ?? 0) << 8) | (bytes[2 * index + 1] ?? 0));
  let [start, length] = [-1, 1];
  for (let from = 0; from < 8; from++) {
    let to = from;
    while (to < 8 && groups[to] === 0) to++;
    if (to - from > length) [start, length] = [from, to - from];
  }
  const text = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(':');
  return start === -1 ? text(groups) : `${text(groups.slice(0, start))}::${text(groups.slice(start + length))}`;
}

/** An IPv4-mapped IPv6 address becomes an IPv4 address. */
function format(address: Address): string {
  if (address.bytes.length === 4) return address.bytes.join('.');
  return isMapped(address) ? address.bytes.slice(12).join('.') : formatSix(address.bytes);
}

/**
 * Returns the errors of an address. In older API fields, Kubernetes 1.36 applies the strict rules only to new values.
 */
export function ipProblems(text: string): string[] {
  const address = parseAddress(text);
  if (address === undefined) return [INVALID_IP];
  if (!address.strict) return ['must not have leading 0s'];
  return isMapped(address) ? ['must not be an IPv4-mapped IPv6 address'] : [];
}

/** Warns about a valid address that is not in canonical form. */
export function ipWarnings(field: string, text: string): string[] {
  const address = parseAddress(text);
  if (address === undefined) return [];
  if (!address.strict || isMapped(address)) {
    return [`${field}: non-standard IP address "${text}" is invalid: use "${format(address)}"`];
  }
  if (address.bytes.length === 4 || format(address) === text) return [];
  return [`${field}: IPv6 address "${text}" should be in RFC 5952 canonical format ("${format(address)}")`];
}

export interface Range {
  readonly address: Address;
  readonly bits: number;
  readonly strict: boolean;
}

export function parseCidr(text: string): Range | undefined {
  const slash = text.indexOf('/');
  const digits = text.slice(slash + 1);
  const address = slash === -1 ? undefined : parseAddress(text.slice(0, slash));
  if (address === undefined || !/^\d+$/.test(digits) || Number(digits) > address.bytes.length * 8) return undefined;
  return { address, bits: Number(digits), strict: address.strict && digits === String(Number(digits)) };
}

const masked = (bytes: readonly number[], bits: number): number[] =>
  bytes.map((byte, index) => byte & (0xff00 >> Math.max(0, Math.min(8, bits - 8 * index))) & 0xff);

const network = ({ address, bits }: Range): Address => ({ ...address, bytes: masked(address.bytes, bits) });

const same = (a: readonly number[], b: readonly number[]): boolean => a.join() === b.join();

export const isWithin = (inner: Range, outer: Range): boolean =>
  inner.address.bytes.length === outer.address.bytes.length &&
  inner.bits > outer.bits &&
  same(masked(network(inner).bytes, outer.bits), network(outer).bytes);

export const holdsRange = (outer: Range, inner: Range): boolean =>
  inner.address.bytes.length === outer.address.bytes.length &&
  inner.bits >= outer.bits &&
  same(masked(inner.address.bytes, outer.bits), network(outer).bytes);

/** Validates an address range by the rules of older API fields. */
export function cidrProblems(text: string): string[] {
  const range = parseCidr(text);
  if (range === undefined) return [INVALID_CIDR];
  if (!range.strict) return ['must not have leading 0s in IP or prefix length'];
  if (isMapped(range.address)) return ['must not have an IPv4-mapped IPv6 address'];
  return same(network(range).bytes, range.address.bytes) ? [] : ['must not have bits set beyond the prefix length'];
}

/** Validates an address range for fields that require the canonical form. */
export function strictCidrProblems(text: string): string[] {
  const problems = cidrProblems(text);
  const range = parseCidr(text);
  if (problems.length > 0 || range === undefined) return problems;
  const canonical = formatCidr(range);
  return canonical === text ? [] : [`must be in canonical form ("${canonical}")`];
}

/** Validates an address for fields that require the canonical form. */
export function strictIpProblems(text: string): string[] {
  const problems = ipProblems(text);
  const address = parseAddress(text);
  if (problems.length > 0 || address === undefined) return problems;
  return format(address) === text ? [] : [`must be in canonical form ("${format(address)}")`];
}

const formatCidr = (range: Range): string => `${format(network(range))}/${range.bits}`;

/** Warns about a valid range that is not in canonical form. */
export function cidrWarnings(field: string, text: string): string[] {
  const range = parseCidr(text);
  if (range === undefined) return [];
  const warnings: string[] = [];
  if (!same(network(range).bytes, range.address.bytes)) {
    const single = `${format(range.address)}/${range.address.bytes.length * 8}`;
    const what = `(should be "${formatCidr(range)}" or "${single}"?)`;
    warnings.push(`${field}: CIDR value "${text}" is ambiguous in this context ${what}`);
  }
  if (!range.strict || isMapped(range.address)) {
    warnings.push(`${field}: non-standard CIDR value "${text}" is invalid: use "${formatCidr(range)}"`);
  }
  const canonical = `${format(range.address)}/${range.bits}`;
  if (warnings.length === 0 && range.address.bytes.length === 16 && canonical !== text) {
    warnings.push(`${field}: IPv6 CIDR value "${text}" should be in RFC 5952 canonical format ("${canonical}")`);
  }
  return warnings;
}
