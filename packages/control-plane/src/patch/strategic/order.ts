import { isRecord, own, sortedJson } from '../../apimachinery/objects/json-value.ts';
import { badType, GO_MAP, noMergeKey, PATCH } from './directives.ts';

/** Returns the same text for equal JSON values. */
export function keyText(value: unknown): string {
  if (value === undefined) return '';
  return sortedJson(typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value);
}

/** Finds the position of list items. */
class Positions {
  readonly #mergeKey: string;
  readonly #positions = new Map<string, number>();

  constructor(list: readonly unknown[], mergeKey: string) {
    this.#mergeKey = mergeKey;
    for (const [at, item] of list.entries()) {
      const key = this.#key(item);
      if (!this.#positions.has(key)) this.#positions.set(key, at);
    }
  }

  /** Returns the position of an item. */
  of(item: unknown): number {
    return this.#positions.get(this.#key(item)) ?? -1;
  }

  #key(item: unknown): string {
    return isRecord(item) ? `map ${keyText(own(item, this.#mergeKey))}` : keyText(item);
  }
}

export const sameKey = (left: unknown, right: unknown): boolean => keyText(left) === keyText(right);

function requireKeys(items: readonly unknown[], mergeKey: string): void {
  for (const item of items) {
    if (!isRecord(item)) throw badType(GO_MAP, item);
    if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
  }
}

const isDeleted = (item: unknown): boolean => isRecord(item) && item[PATCH] === 'delete';

/** Sorts items in the requested order. Items that the patch deletes are last. */
function sorted(items: readonly unknown[], order: readonly unknown[], mergeKey: string, areMaps: boolean): unknown[] {
  if (areMaps) requireKeys([...items, ...order], mergeKey);
  const positions = new Positions(order, mergeKey);
  const kept = areMaps ? items.filter((item) => !isDeleted(item)) : [...items];
  const isLess = (a: unknown, b: unknown): boolean => {
    const [left, right] = [positions.of(a), positions.of(b)];
    return left < 0 || right < 0 || left < right;
  };
  if (kept.every((item) => positions.of(item) >= 0)) kept.sort((a, b) => positions.of(a) - positions.of(b));
  for (let i = 1; i < kept.length; i++) {
    for (let j = i; j > 0 && isLess(kept[j], kept[j - 1]); j--) [kept[j], kept[j - 1]] = [kept[j - 1], kept[j]];
  }
  return areMaps ? [...kept, ...items.filter(isDeleted)] : kept;
}

function split(items: readonly unknown[], list: readonly unknown[], mergeKey: string): [unknown[], unknown[]] {
  if (mergeKey !== '') {
    requireKeys(items, mergeKey);
    if (items.length > 0) for (const item of list) if (!isRecord(item)) throw badType(GO_MAP, item);
  }
  const positions = new Positions(list, mergeKey);
  const inList = (item: unknown): boolean => positions.of(item) >= 0;
  return [items.filter(inList), items.filter((item) => !inList(item))];
}

/** Returns the items in the requested order. */
export function inOrder(
  merged: readonly unknown[],
  order: readonly unknown[],
  serverOrder: readonly unknown[],
  mergeKey: string,
  areMaps: boolean,
): unknown[] {
  const [ordered, others] = split(merged, order, mergeKey);
  const patched = sorted(ordered, order, mergeKey, areMaps);
  const serverOnly = sorted(others, serverOrder, mergeKey, areMaps);
  const onServer = new Positions(serverOrder, mergeKey);
  const isBefore = (a: unknown, b: unknown): boolean => {
    const [left, right] = [onServer.of(a), onServer.of(b)];
    return left >= 0 && right >= 0 && left < right;
  };
  const result: unknown[] = [];
  let i = 0;
  let j = 0;
  while (i < serverOnly.length || j < patched.length) {
    const takesServer = j >= patched.length || (i < serverOnly.length && isBefore(serverOnly[i], patched[j]));
    result.push(takesServer ? serverOnly[i++] : patched[j++]);
  }
  return result;
}
