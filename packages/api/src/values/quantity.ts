/**
 * mcm computes quantities exactly, in billionths, like Kubernetes. Source of the rules: k8s.io/apimachinery,
 * pkg/api/resource.
 */

/** A resource quantity in JSON: a text, or an integer. */
export type Quantity = string | number;

/** The format of a quantity, which determines its suffixes. */
export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent';

/** A parsed quantity. */
export interface ParsedQuantity {
  readonly nano: bigint;
  readonly format: QuantityFormat;
}

/** The pattern of a valid quantity. The pattern of the original accepts `1e1.5`, which the original cannot parse. */
export const QUANTITY_PATTERN =
  /^[+-]?(([0-9]+([.][0-9]*)?)|([.][0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]{1,3}))?$/;

const PARTS = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(.*)$/;
const NANO = 1_000_000_000n;
const MAX_NANO = (2n ** 63n - 1n) * NANO;
const DECIMAL_EXPONENTS: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY_POWERS: Readonly<Record<string, number>> = { Ki: 1, Mi: 2, Gi: 3, Ti: 4, Pi: 5, Ei: 6 };

/**
 * Parses a resource quantity. A quantity above an int64 becomes the largest int64. The parser rounds a quantity below a
 * billionth away from zero.
 * @returns undefined if the text is not a quantity
 */
export function parseQuantity(value: Quantity): ParsedQuantity | undefined {
  const text = typeof value === 'number' ? numberText(value) : value;
  if (text.length > 128 || !QUANTITY_PATTERN.test(text)) return undefined;
  const [, sign = '', whole = '', fraction = '', suffix = ''] = PARTS.exec(text) ?? [];
  const scale = scaleOf(suffix);
  const digits = BigInt(whole + fraction || '0');
  const magnitude = scaleUp(digits * scale.factor, scale.exponent - fraction.length + 9);
  const capped = magnitude > MAX_NANO ? MAX_NANO : magnitude;
  return { nano: sign === '-' ? -capped : capped, format: scale.format };
}

const numberText = (value: number): string => (Number.isInteger(value) ? BigInt(value).toString() : String(value));

interface Scale {
  readonly factor: bigint;
  readonly exponent: number;
  readonly format: QuantityFormat;
}

function scaleOf(suffix: string): Scale {
  const power = BINARY_POWERS[suffix];
  if (power !== undefined) return { factor: 1024n ** BigInt(power), exponent: 0, format: 'BinarySI' };
  const exponent = DECIMAL_EXPONENTS[suffix];
  if (exponent !== undefined) return { factor: 1n, exponent, format: 'DecimalSI' };
  return { factor: 1n, exponent: Number(suffix.slice(1)), format: 'DecimalExponent' };
}

function scaleUp(value: bigint, exponent: number): bigint {
  if (exponent >= 0) return value * 10n ** BigInt(exponent);
  const divisor = 10n ** BigInt(-exponent);
  return (value + divisor - 1n) / divisor;
}

/** Formats a quantity in its canonical form, with the largest suffix that leaves no fraction. */
export function formatQuantity({ nano, format }: ParsedQuantity): string {
  if (nano < 0n) return `-${formatQuantity({ nano: -nano, format })}`;
  // A value below 1024 has no binary suffix.
  if (format === 'BinarySI' && nano >= 1024n * NANO) return formatBinary((nano + NANO - 1n) / NANO);
  return formatDecimal(nano, format === 'DecimalExponent');
}

function formatBinary(value: bigint): string {
  let rest = value;
  let suffix = '';
  for (const next of Object.keys(BINARY_POWERS)) {
    if (rest % 1024n !== 0n) break;
    rest /= 1024n;
    suffix = next;
  }
  return `${rest}${suffix}`;
}

function formatDecimal(nano: bigint, exponential: boolean): string {
  if (nano === 0n) return '0';
  let rest = nano;
  let exponent = -9;
  while (rest % 1000n === 0n && exponent < 18) {
    rest /= 1000n;
    exponent += 3;
  }
  if (exponential) return exponent === 0 ? `${rest}` : `${rest}e${exponent}`;
  return `${rest}${Object.entries(DECIMAL_EXPONENTS).find(([, known]) => known === exponent)?.[0] ?? ''}`;
}

/**
 * Returns true if two quantities have equal values, even if their texts differ. An invalid quantity equals only a
 * quantity with the same text.
 */
export function quantitiesEqual(a: Quantity, b: Quantity): boolean {
  const [left, right] = [parseQuantity(a), parseQuantity(b)];
  return left && right ? left.nano === right.nano : String(a) === String(b);
}
