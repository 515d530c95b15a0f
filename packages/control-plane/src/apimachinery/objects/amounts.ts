import { isRecord } from './json-value.ts';
import type { ApiObject } from './object.ts';
import { items, look, type Plain, text } from './plain.ts';
import { formatQuantity, parseQuantity, type Quantity } from './quantity.ts';

export type Amounts = Map<string, Quantity>;

/** Parses a `ResourceList`. */
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

/** Adds an amount to the sum of a resource. */
export function addAmount(to: Amounts, name: string, { nanos, format }: Quantity): void {
  const before = to.get(name);
  to.set(name, {
    nanos: (before?.nanos ?? 0n) + nanos,
    format: before === undefined || before.nanos === 0n ? format : before.format,
  });
}

export const isMore = (a: Quantity, b: Quantity): boolean => a.nanos > b.nanos;

export const showAmount = (quantity: Quantity | undefined): string => formatQuantity(quantity ?? ZERO);

const shownAmounts = (amounts: Amounts): Record<string, string> =>
  Object.fromEntries([...amounts].map(([name, quantity]) => [name, formatQuantity(quantity)]));

function addAll(to: Amounts, amounts: Amounts): void {
  for (const [name, quantity] of amounts) addAmount(to, name, quantity);
}

/** If an amount in `amounts` is larger than the amount in `sum`, the function replaces the amount in `sum`. */
function raiseTo(sum: Amounts, amounts: Amounts): void {
  for (const [name, quantity] of amounts) {
    const before = sum.get(name);
    if (before === undefined || isMore(quantity, before)) sum.set(name, quantity);
  }
}

/**
 * Returns an amount for each resource: the sum of the normal containers, or a larger need of an init container. An init
 * container needs its own amount and the amounts of the restartable init containers before it.
 */
function containerAmounts(spec: Plain, field: 'requests' | 'limits'): Amounts {
  const of = (container: Plain): Amounts => amountsOf(look(container, 'resources', field));
  const sum: Amounts = new Map();
  const initial: Amounts = new Map();
  const restartable: Amounts = new Map();
  for (const container of items(spec, 'containers')) addAll(sum, of(container));
  for (const container of items(spec, 'initContainers')) {
    const amounts = of(container);
    if (text(container, 'restartPolicy') === 'Always') {
      addAll(sum, amounts);
      addAll(restartable, amounts);
      raiseTo(initial, restartable);
    } else {
      addAll(amounts, restartable);
      raiseTo(initial, amounts);
    }
  }
  raiseTo(sum, initial);
  return sum;
}

const isPodLevel = (name: string): boolean => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');

/** Amounts of the pod itself take precedence over amounts of its containers. */
export function podAmounts(pod: ApiObject, field: 'requests' | 'limits'): Amounts {
  const spec = look(pod, 'spec');
  const sum = containerAmounts(spec, field);
  for (const [name, quantity] of amountsOf(look(spec, 'resources', field))) {
    if (isPodLevel(name)) sum.set(name, quantity);
  }
  for (const [name, quantity] of amountsOf(look(spec, 'overhead'))) {
    // A limit includes the overhead only if the pod sets the limit.
    if (field === 'requests' || (sum.get(name)?.nanos ?? 0n) !== 0n) addAmount(sum, name, quantity);
  }
  return sum;
}

/**
 * Sets the requests and limits of a pod, as `defaultHugePagePodLimits` and `defaultPodRequests` of Kubernetes do. The
 * limits for huge pages come from the containers. The requests come from the containers, or from the limits of the pod.
 */
export function defaultPodResources(spec: Plain): void {
  const { resources } = spec;
  if (!isRecord(resources)) return;
  const requests = { ...look(resources, 'requests') };
  const limits = { ...look(resources, 'limits') };
  if (Object.keys(limits).length === 0 && Object.keys(requests).length === 0) return;
  for (const [name, amount] of Object.entries(shownAmounts(containerAmounts(spec, 'limits')))) {
    if (name.startsWith('hugepages-') && requests[name] === undefined) limits[name] ??= amount;
  }
  if (Object.keys(limits).length === 0) return;
  resources.limits = limits;
  for (const [name, amount] of Object.entries(shownAmounts(containerAmounts(spec, 'requests')))) {
    if (name === 'cpu' || name === 'memory') requests[name] ??= amount;
  }
  for (const [name, amount] of Object.entries(limits)) if (isPodLevel(name)) requests[name] ??= amount;
  if (Object.keys(requests).length > 0) resources.requests = requests;
}
