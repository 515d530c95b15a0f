/** A count, or a percentage of another count such as `"25%"`. */
export type IntOrPercent = number | string;

/** Percentages as `maxSurge` and `maxUnavailable` take them. */
export const INT_OR_PERCENT_PATTERN = /^[0-9]+%$/;

/** A parsed {@link IntOrPercent}. */
export type ParsedIntOrPercent =
  | { readonly kind: 'count'; readonly value: number }
  | { readonly kind: 'percent'; readonly value: number };

/**
 * Parses a count or percentage. Signs are read, as the original does; the validation refuses negative ones.
 * @returns undefined for anything else, `"10"` without a percent sign included
 */
export function parseIntOrPercent(value: IntOrPercent): ParsedIntOrPercent | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? { kind: 'count', value } : undefined;
  if (!/^[+-]?[0-9]{1,15}%$/.test(value)) return undefined;
  return { kind: 'percent', value: Number(value.slice(0, -1)) };
}

/** Prints a count or percentage. */
export const formatIntOrPercent = (parsed: ParsedIntOrPercent): IntOrPercent =>
  parsed.kind === 'count' ? parsed.value : `${parsed.value}%`;

/**
 * The count that a value represents.
 * @param total the base of a percentage, usually the replicas
 * @param rounding `up` for maxSurge, `down` for maxUnavailable
 * @throws RangeError if the value is invalid, which does not occur in validated objects
 */
export function resolveIntOrPercent(value: IntOrPercent, total: number, rounding: 'up' | 'down'): number {
  const parsed = parseIntOrPercent(value);
  if (!parsed) throw new RangeError(`"${value}" is neither an integer nor a percentage such as "25%"`);
  if (parsed.kind === 'count') return parsed.value;
  const exact = (parsed.value * total) / 100;
  return rounding === 'up' ? Math.ceil(exact) : Math.floor(exact);
}
