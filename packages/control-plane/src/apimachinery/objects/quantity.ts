/** The notation of a quantity. The server prints a quantity in its original notation. */
type QuantityFormat = 'binary' | 'decimal' | 'exponent';

/** An amount in nanos, the smallest unit of a quantity, and its notation. */
export interface Quantity {
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

const PATTERN = /^([+-]?)(\d+\.?\d*|\.\d+)([EPTGMK]i|[numkMGTPE]|[eE][+-]?\d+)?$/;
const NANO = 1_000_000_000n;
const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const SUFFIX = new Map(Object.entries(DECIMAL).map(([suffix, exponent]) => [exponent, suffix]));

/** The error text of Go's quantity parser (`k8s.io/apimachinery`). */
export const QUANTITY_ERROR =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/** Divides, and rounds the result away from zero. As in Go, a quantity below a nano is rounded to a nano. */
function divideUp(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by === 0n ? quotient : quotient + 1n;
}

/**
 * The maximum of a quantity in binary notation, such as `1Gi`. The parser reduces a larger quantity to this maximum.
 */
const MOST_BINARY = (2n ** 63n - 1n) * NANO;

/** Returns whether the suffix of a quantity is an exponent. `E` alone means exa. */
const isExponent = (suffix: string): boolean => /^[eE][+-]?\d/.test(suffix);

const powerOf = (suffix: string): number => (isExponent(suffix) ? Number(suffix.slice(1)) : (DECIMAL[suffix] ?? 0));

/** Parses a quantity such as `100m`, `1.5Gi` or `1e3`. */
export function parseQuantity(text: string): Quantity | undefined {
  const match = PATTERN.exec(text);
  if (match === null) return undefined;
  const [, sign = '', digits = '', suffix = ''] = match;
  const [whole = '', fraction = ''] = digits.split('.');
  const scaled = BigInt(`${whole}${fraction}`) * NANO;
  const unit = 10n ** BigInt(fraction.length);
  let nanos: bigint;
  let format: QuantityFormat;
  if (suffix.endsWith('i')) {
    format = 'binary';
    nanos = divideUp(scaled * 1024n ** BigInt(BINARY.indexOf(suffix) + 1), unit);
    if (nanos > MOST_BINARY) nanos = MOST_BINARY;
  } else {
    const exponent = powerOf(suffix);
    if (Math.abs(exponent) > 100) return undefined;
    format = isExponent(suffix) ? 'exponent' : 'decimal';
    nanos =
      exponent >= 0
        ? divideUp(scaled * 10n ** BigInt(exponent), unit)
        : divideUp(scaled, unit * 10n ** BigInt(-exponent));
  }
  return { nanos: sign === '-' ? -nanos : nanos, format };
}

function formatDecimal(nanos: bigint, format: QuantityFormat): string {
  let mantissa = nanos;
  let exponent = -9;
  while (exponent < 18 && mantissa !== 0n && mantissa % 1000n === 0n) {
    mantissa /= 1000n;
    exponent += 3;
  }
  if (mantissa === 0n) return '0';
  if (format === 'exponent') return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
  return `${mantissa}${SUFFIX.get(exponent) ?? ''}`;
}

/** Returns the canonical text of a quantity. */
export function formatQuantity({ nanos, format }: Quantity): string {
  const whole = nanos / NANO;
  const small = whole > -1024n && whole < 1024n;
  if (format !== 'binary' || small || nanos % NANO !== 0n) {
    return formatDecimal(nanos, format === 'binary' ? 'decimal' : format);
  }
  let mantissa = whole;
  let step = 0;
  while (step < BINARY.length && mantissa % 1024n === 0n) {
    mantissa /= 1024n;
    step++;
  }
  return `${mantissa}${step === 0 ? '' : BINARY[step - 1]}`;
}

const canonical = new Map<string, string>();

/** Caches the canonical texts, because only a few different quantities occur. */
export function canonicalQuantity(text: string): string | undefined {
  const known = canonical.get(text);
  if (known !== undefined) return known;
  const quantity = parseQuantity(text);
  if (quantity === undefined) return undefined;
  const written = formatQuantity(quantity);
  if (canonical.size < 4096) canonical.set(text, written);
  return written;
}

export const quantityNanos = (text: unknown): bigint =>
  (typeof text === 'number' || typeof text === 'string' ? parseQuantity(String(text))?.nanos : undefined) ?? 0n;

const SMALL_DIGITS = 18;

/** Returns a quantity as Go stores it: a 64-bit integer with a power of ten. */
function smallOf(text: string): { readonly value: bigint; readonly power: number } | undefined {
  const [, sign = '', digits = '0', suffix = ''] = PATTERN.exec(text) ?? [];
  const [given = '', fraction = ''] = digits.split('.');
  const whole = given.replace(/^0+/, '') || '0';
  const value = BigInt(`${sign === '-' ? '-' : ''}${whole}${fraction}`);
  if (suffix.endsWith('i')) {
    const bits = 10 * (BINARY.indexOf(suffix) + 1);
    const fits = fraction === '' && whole.length + Math.trunc((bits * 3) / 10) <= 14;
    return fits ? { value: value << BigInt(bits), power: 0 } : undefined;
  }
  const power = powerOf(suffix) - fraction.length;
  return whole.length + fraction.length <= SMALL_DIGITS && power >= -9 ? { value, power } : undefined;
}

/**
 * Returns a quantity as a 64-bit integer, rounded up. The unit is `10^-digits`, as for `Quantity.ScaledValue` in Go. If
 * a small quantity overflows, the result is 0.
 */
function scaledValue(amount: unknown, digits: number): bigint {
  const small = smallOf(String(amount));
  if (small === undefined) {
    const nanos = quantityNanos(amount);
    const unit = 10n ** BigInt(9 - digits);
    const value = nanos < 2n ** 63n - 1n ? BigInt.asIntN(64, nanos) : nanos;
    return BigInt.asIntN(64, divideUp(value, unit));
  }
  const power = small.power + digits;
  if (power >= 0) {
    const value = small.value * 10n ** BigInt(power);
    return BigInt.asIntN(64, value) === value ? value : 0n;
  }
  const unit = 10n ** BigInt(-power);
  return small.value < 0n ? -divideUp(-small.value, unit) : divideUp(small.value, unit);
}

/** Returns a quantity as a 64-bit integer (`Quantity.Value`). */
export const quantityValue = (amount: unknown): bigint => scaledValue(amount, 0);

/** Returns a quantity in thousandths as a 64-bit integer (`Quantity.MilliValue`). */
export const quantityMilli = (amount: unknown): bigint => scaledValue(amount, 3);

const MICRO = 1_000_000n;

/** Rounds the amounts of a resource list up to thousandths. */
export function roundAmounts(amounts: unknown): void {
  if (typeof amounts !== 'object' || amounts === null) return;
  const list = amounts as Record<string, unknown>;
  for (const [name, text] of Object.entries(list)) {
    const quantity = typeof text === 'string' ? parseQuantity(text) : undefined;
    if (quantity === undefined || quantity.nanos % MICRO === 0n) continue;
    const up = quantity.nanos > 0n ? 1n : 0n;
    list[name] = formatQuantity({ ...quantity, nanos: (quantity.nanos / MICRO + up) * MICRO });
  }
}
