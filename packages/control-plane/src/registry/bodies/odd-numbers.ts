/** Matches JSON numbers, with or without a fraction and an exponent. */
const NUMBER = /[:[,\s]-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?=[\s,\]}])/g;
const INTEGER = /^-?\d+$/;
const NONE: ReadonlyMap<string, string> = new Map();

/** A number of digits. Any integer with fewer digits has at most 64 bits. */
const SHORT = 19;
const isOdd = (source: string): boolean =>
  !INTEGER.test(source) || (source.length >= SHORT && BigInt.asIntN(64, BigInt(source)) !== BigInt(source));

const mayHold = (text: string): boolean =>
  text.match(NUMBER)?.some((found) => /[.eE]/.test(found) || found.length > SHORT) === true;

/** Returns the integers in a JSON text that Go does not read as integers, such as `1e3` and `5.0`. */
export function oddNumbersOf(text: string): ReadonlyMap<string, string> {
  if (!mayHold(text)) return NONE;
  const paths = new Map<object, { readonly key: string; readonly holder: object | undefined }>();
  const found: { readonly holder: object; readonly key: string; readonly value: number; readonly source: string }[] =
    [];
  JSON.parse(text, function (this: object, key: string, value: unknown, context?: { readonly source?: string }) {
    const source = context?.source ?? '';
    if (typeof value === 'number' && Number.isInteger(value) && isOdd(source)) {
      found.push({ holder: this, key, value, source });
    }
    if (typeof value === 'object' && value !== null) paths.set(value, { key, holder: this });
    return value;
  });
  const pathOf = (holder: object | undefined, key: string): string => {
    const above = holder === undefined ? undefined : paths.get(holder);
    const step = Array.isArray(holder) ? '' : key;
    if (above === undefined) return step;
    const outer = pathOf(above.holder, above.key);
    return [outer, step].filter((part) => part !== '').join('.');
  };
  // All quantities in a map share one path, the path of the map.
  return new Map(
    found.flatMap(({ holder, key, value, source }) =>
      [key, ''].map((step): [string, string] => [`${pathOf(holder, step)} ${value}`, source]),
    ),
  );
}
