/** A count, or a percentage of another count such as `"25%"`. */
export type IntOrPercent = number | string;

/** Percentages that `maxSurge` and `maxUnavailable` accept. */
export const INT_OR_PERCENT_PATTERN = /^[0-9]+%$/;

/** A parsed count or percentage, see {@link IntOrPercent}. */
export type ParsedIntOrPercent =
  | { readonly kind: 'count'; readonly value: number }
  | { readonly kind: 'percent'; readonly value: number };

/**
 * Parses a count or a percentage. `parseIntOrPercent` accepts a sign, as in the original, and the validation refuses
 * negative values.
 * @returns undefined for any other text, such as `"10"` without a percent sign
 */
export function parseIntOrPercent(value: IntOrPercent): ParsedIntOrPercent | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? { kind: 'count', value } : undefined;
  if (!/^[+-]?[0-9]{1,15}%$/.test(value)) return undefined;
  return { kind: 'percent', value: Number(value.slice(0, -1)) };
}

/** Formats a count or percentage. */
export const formatIntOrPercent = (parsed: ParsedIntOrPercent): IntOrPercent =>
  parsed.kind === 'count' ? parsed.value : `${parsed.value}%`;

/**
 * Converts a value to a count.
 * @param total the base of a percentage, usually the replicas.
 * @param rounding `up` for maxSurge, `down` for maxUnavailable.
 * @throws RangeError if the value is invalid, which does not occur in validated objects
 */
export function resolveIntOrPercent(value: IntOrPercent, total: number, rounding: 'up' | 'down'): number {
  const parsed = parseIntOrPercent(value);
  if (!parsed) throw new RangeError(`"${value}" is neither an integer nor a percentage such as "25%"`);
  if (parsed.kind === 'count') return parsed.value;
  const exact = (parsed.value * total) / 100;
  return rounding === 'up' ? Math.ceil(exact) : Math.floor(exact);
}
