import { items, look, type Plain, text } from '../../kinds/plain.ts';
import { formatQuantity, parseQuantity, type Quantity } from '../../kinds/quantity.ts';
import type { ApiObject } from '../../object.ts';

/** Quantities by the name of their resource. */
export type Amounts = Map<string, Quantity>;

/** Reads a `ResourceList`; what is no quantity is left out. */
export function amountsOf(list: Readonly<Plain>): Amounts {
  const amounts: Amounts = new Map();
  for (const [name, value] of Object.entries(list)) {
    const quantity = parseQuantity(String(value));
    if (quantity !== undefined) amounts.set(name, quantity);
  }
  return amounts;
}

export const wholeNumber = (count: number): Quantity => ({ nanos: BigInt(count) * 1_000_000_000n, format: 'decimal' });

const ZERO: Quantity = { nanos: 0n, format: 'decimal' };

/** Adds to a sum. The format of what comes first stays. */
export function addAmount(to: Amounts, name: string, { nanos, format }: Quantity): void {
  const before = to.get(name);
  to.set(name, {
    nanos: (before?.nanos ?? 0n) + nanos,
    format: before === undefined || before.nanos === 0n ? format : before.format,
  });
}

export const isMore = (a: Quantity, b: Quantity): boolean => a.nanos > b.nanos;

/** In canonical form; of an absent one `0`. */
export const showAmount = (quantity: Quantity | undefined): string => formatQuantity(quantity ?? ZERO);

/** What the containers of a pod request, or are limited to: their sum, or the most that an init container has. */
export function podAmounts(pod: ApiObject, field: 'requests' | 'limits'): Amounts {
  const spec = look(pod, 'spec');
  const sum: Amounts = new Map();
  const of = (container: Plain): Amounts => amountsOf(look(container, 'resources', field));
  for (const container of items(spec, 'containers')) {
    for (const [name, quantity] of of(container)) addAmount(sum, name, quantity);
  }
  for (const container of items(spec, 'initContainers')) {
    for (const [name, quantity] of of(container)) {
      const before = sum.get(name);
      if (text(container, 'restartPolicy') === 'Always') addAmount(sum, name, quantity);
      else if (before === undefined || isMore(quantity, before)) sum.set(name, quantity);
    }
  }
  return sum;
}
