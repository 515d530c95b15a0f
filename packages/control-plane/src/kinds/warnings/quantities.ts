import { look, type Plain } from '../../apimachinery/objects/plain.ts';
import { quantityNanos } from '../../apimachinery/objects/quantity.ts';

const NANO = 1_000_000_000n;

/** Returns a warning for each amount of bytes that is not an integer. */
export function fractionWarnings(holder: Plain, list: string, resources: readonly string[], at: string): string[] {
  return resources.flatMap((resource) => {
    const quantity = look(holder, list)[resource];
    if (quantity === undefined || quantityNanos(quantity) % NANO === 0n) return [];
    return [`${at}.${list}[${resource}]: fractional byte value "${String(quantity)}" is invalid, must be an integer`];
  });
}
