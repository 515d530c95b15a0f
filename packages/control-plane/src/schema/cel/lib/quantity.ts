import type { Opaque } from '../runtime/values.ts';

const BINARY: Readonly<Record<string, number>> = { Ki: 1, Mi: 2, Gi: 3, Ti: 4, Pi: 5, Ei: 6 };
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };

const SCALE = 9;
const UNIT = 10n ** BigInt(SCALE);

/** A Kubernetes quantity with a precision of a billionth. */
export class Quantity implements Opaque {
  readonly opaque = 'kubernetes.Quantity';
  readonly nano: bigint;

  constructor(nano: bigint) {
    this.nano = nano;
  }

  static ofInteger(value: bigint): Quantity {
    return new Quantity(value * UNIT);
  }

  sign(): number {
    return this.nano > 0n ? 1 : this.nano < 0n ? -1 : 0;
  }

  /** Returns the quantity as an integer. */
  asInteger(): bigint | undefined {
    if (this.nano % UNIT !== 0n) return undefined;
    const value = this.nano / UNIT;
    return value < 2n ** 63n && value >= -(2n ** 63n) ? value : undefined;
  }

  asFloat(): number {
    return Number(this.nano) / Number(UNIT);
  }

  compare(other: Quantity): number {
    return this.nano < other.nano ? -1 : this.nano > other.nano ? 1 : 0;
  }

  plus(other: Quantity): Quantity {
    return new Quantity(this.nano + other.nano);
  }

  minus(other: Quantity): Quantity {
    return new Quantity(this.nano - other.nano);
  }

  equals(other: unknown): boolean {
    return other instanceof Quantity && other.nano === this.nano;
  }

  toString(): string {
    return String(this.asFloat());
  }
}

export function parseQuantity(text: string): Quantity | undefined {
  const parts = /^([+-]?)(\d*)(?:\.(\d*))?(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d{1,3})?$/.exec(text);
  if (parts === null) return undefined;
  const [, sign = '', whole = '', fraction = '', suffix = ''] = parts;
  if (whole === '' && fraction === '') return undefined;
  const digits = BigInt(`${whole}${fraction}` || '0');
  const binary = BINARY[suffix];
  const exponent = /^[eE][+-]?\d/.test(suffix) ? Number(suffix.slice(1)) : (DECIMAL[suffix] ?? 0);
  const shift = SCALE - fraction.length + (binary === undefined ? exponent : 0);
  let nano = digits * (binary === undefined ? 1n : 1024n ** BigInt(binary));
  if (shift >= 0) nano *= 10n ** BigInt(shift);
  else {
    const divisor = 10n ** BigInt(-shift);
    nano = (nano + divisor - 1n) / divisor;
  }
  return new Quantity(sign === '-' ? -nano : nano);
}
