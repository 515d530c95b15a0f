/** The format of a quantity. It is printed in the format in which it was written. */
type QuantityFormat = 'binary' | 'decimal' | 'exponent';

/** A quantity, as an integer number of nanos, the smallest unit. */
export interface Quantity {
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

const PATTERN = /^([+-]?)(\d+\.?\d*|\.\d+)([EPTGMK]i|[numkMGTPE]|[eE][+-]?\d+)?$/;
const NANO = 1_000_000_000n;
const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const SUFFIX = new Map(Object.entries(DECIMAL).map(([suffix, exponent]) => [exponent, suffix]));

/** The error text of apimachinery's quantity parser. */
export const QUANTITY_ERROR =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/** Divides and rounds away from zero, as the original does for quantities below a nano. */
function divideUp(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by === 0n ? quotient : quotient + 1n;
}

/** Reads a quantity such as `100m`, `1.5Gi` or `1e3`; undefined if it is invalid. */
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
  } else {
    const exponential = /^[eE][+-]?\d/.test(suffix);
    const exponent = exponential ? Number(suffix.slice(1)) : (DECIMAL[suffix] ?? 0);
    if (Math.abs(exponent) > 100) return undefined;
    format = exponential ? 'exponent' : 'decimal';
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

/** The canonical text of a quantity. It has no fraction, and the largest suffix that needs no fraction. */
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

/** The canonical text of a quantity; undefined if it is invalid. Results are cached, because few different texts occur. */
export function canonicalQuantity(text: string): string | undefined {
  const known = canonical.get(text);
  if (known !== undefined) return known;
  const quantity = parseQuantity(text);
  if (quantity === undefined) return undefined;
  const written = formatQuantity(quantity);
  if (canonical.size < 4096) canonical.set(text, written);
  return written;
}

/** The nanos of a quantity; 0 for an invalid text. */
export const quantityNanos = (text: unknown): bigint =>
  (typeof text === 'number' || typeof text === 'string' ? parseQuantity(String(text))?.nanos : undefined) ?? 0n;

/** A quantity as a 64-bit integer: rounded up, with the overflow of Go (`Quantity.Value`). */
export function quantityValue(text: unknown): bigint {
  const nanos = quantityNanos(text);
  const whole = nanos / NANO + (nanos > 0n && nanos % NANO !== 0n ? 1n : 0n);
  return BigInt.asIntN(64, whole);
}

const MICRO = 1_000_000n;

/** Rounds amounts of resources up to thousandths. Mutates. */
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
