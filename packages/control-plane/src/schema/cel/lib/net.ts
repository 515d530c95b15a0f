import { isIP } from 'node:net';
import type { Opaque } from '../runtime/values.ts';

export class Ip implements Opaque {
  readonly opaque = 'net.IP';
  readonly family: 4 | 6;
  readonly value: bigint;

  constructor(family: 4 | 6, value: bigint) {
    this.family = family;
    this.value = value;
  }

  private starts(prefix: bigint, bits: number): boolean {
    return this.value >> BigInt((this.family === 4 ? 32 : 128) - bits) === prefix;
  }

  isLoopback(): boolean {
    return this.family === 4 ? this.starts(127n, 8) : this.value === 1n;
  }

  isLinkLocalMulticast(): boolean {
    if (this.family === 4) return this.starts(0xe00000n, 24);
    return this.starts(0xffn, 8) && ((this.value >> 112n) & 0x0fn) === 2n;
  }

  isLinkLocalUnicast(): boolean {
    return this.family === 4 ? this.starts(0xa9fen, 16) : this.starts(0xfe80n >> 6n, 10);
  }

  private isMulticast(): boolean {
    return this.family === 4 ? this.starts(0xen, 4) : this.starts(0xffn, 8);
  }

  isGlobalUnicast(): boolean {
    const broadcast = this.family === 4 && this.value === 0xffffffffn;
    return !broadcast && this.value !== 0n && !this.isLoopback() && !this.isMulticast() && !this.isLinkLocalUnicast();
  }

  equals(other: unknown): boolean {
    return other instanceof Ip && other.family === this.family && other.value === this.value;
  }

  toString(): string {
    if (this.family === 4) return [24n, 16n, 8n, 0n].map((shift) => (this.value >> shift) & 0xffn).join('.');
    return printIpv6(this.value);
  }
}

/** `::` replaces the longest run of two or more zero groups. */
function printIpv6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, at) => (value >> BigInt(112 - at * 16)) & 0xffffn);
  let best = { at: -1, length: 1 };
  for (let at = 0; at < 8; at++) {
    let length = 0;
    while (at + length < 8 && groups[at + length] === 0n) length++;
    if (length > best.length) best = { at, length };
  }
  const text = (from: number, to: number): string =>
    groups
      .slice(from, to)
      .map((group) => group.toString(16))
      .join(':');
  return best.at < 0 ? text(0, 8) : `${text(0, best.at)}::${text(best.at + best.length, 8)}`;
}

const ipv4Value = (text: string): bigint => text.split('.').reduce((value, part) => value * 256n + BigInt(part), 0n);

/** As in Kubernetes, an address is invalid if it has a zone or is an IPv4-mapped IPv6 address. */
export function parseIp(text: string): Ip | undefined {
  const family = isIP(text);
  if (family === 4) return new Ip(4, ipv4Value(text));
  if (family !== 6 || text.includes('%') || text.includes('.')) return undefined;
  const [head = '', tail] = text.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups =
    tail === undefined ? left : [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
  return new Ip(
    6,
    groups.reduce((value, group) => value * 65536n + BigInt(`0x${group}`), 0n),
  );
}

export class Cidr implements Opaque {
  readonly opaque = 'net.CIDR';
  readonly ip: Ip;
  readonly bits: number;

  constructor(ip: Ip, bits: number) {
    this.ip = ip;
    this.bits = bits;
  }

  private shift(): bigint {
    return BigInt((this.ip.family === 4 ? 32 : 128) - this.bits);
  }

  contains(ip: Ip): boolean {
    return ip.family === this.ip.family && ip.value >> this.shift() === this.ip.value >> this.shift();
  }

  containsCidr(other: Cidr): boolean {
    return other.bits >= this.bits && this.contains(other.ip);
  }

  masked(): Cidr {
    return new Cidr(new Ip(this.ip.family, (this.ip.value >> this.shift()) << this.shift()), this.bits);
  }

  equals(other: unknown): boolean {
    return other instanceof Cidr && other.ip.equals(this.ip) && other.bits === this.bits;
  }

  toString(): string {
    return `${this.ip}/${this.bits}`;
  }
}

export function parseCidr(text: string): Cidr | undefined {
  const slash = text.lastIndexOf('/');
  const ip = slash < 0 ? undefined : parseIp(text.slice(0, slash));
  const bits = text.slice(slash + 1);
  if (ip === undefined || !/^(?:0|[1-9]\d{0,2})$/.test(bits)) return undefined;
  return Number(bits) <= (ip.family === 4 ? 32 : 128) ? new Cidr(ip, Number(bits)) : undefined;
}
