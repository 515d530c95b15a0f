import type { SchemaNode } from '../../model/node.ts';

/** The maximum size of a request body. The maximum limits the size of all values. */
const MAX_REQUEST = 3_145_728;

/** The cost per byte of a string that is read. */
const TRAVERSAL = 0.1;
const REGEX = 0.25;

export const RULE_COST_LIMIT = 10_000_000;
export const SCHEMA_COST_LIMIT = 100_000_000;

/** The minimum size of a value in JSON. The minimum limits the number of values in a request. */
function minBytes(node: SchemaNode | undefined, depth = 0): number {
  if (node === undefined || depth > 20) return 1;
  switch (node.types[0]) {
    case 'string':
      return 2;
    case 'boolean':
      return 4;
    case 'array':
      return 2;
    case 'object': {
      let size = 2;
      for (const name of node.required) {
        const property = node.properties.get(name);
        if (property !== undefined && !property.hasDefault) size += name.length + 4 + minBytes(property, depth + 1);
      }
      return size;
    }
    default:
      return 1;
  }
}

const FORMAT_SIZES: Readonly<Record<string, number>> = { date: 10, 'date-time': 30, duration: 30 };

/**
 * Returns the maximum number of elements of a value. Elements are bytes of a string, items of a list, or entries of a
 * map.
 */
export function maxSize(node: SchemaNode): number {
  switch (node.intOrString ? 'string' : node.types[0]) {
    case 'string': {
      const longest = node.enum?.reduce<number>((max, word) => Math.max(max, String(word).length), 0);
      if (longest !== undefined) return longest;
      if (node.maxLength !== undefined) return node.maxLength * 4;
      return FORMAT_SIZES[node.format] ?? MAX_REQUEST - 2;
    }
    case 'array':
      return node.maxItems ?? Math.floor((MAX_REQUEST - 2) / (minBytes(node.items) + 1));
    case 'object':
      if (node.additional === undefined) return node.maxProperties ?? node.properties.size;
      return node.maxProperties ?? Math.floor(MAX_REQUEST / (minBytes(node.additional) + 6));
    default:
      return 1;
  }
}

/** A value with its maximum size. The cost of some functions depends on the maximum size. */
export interface Sized {
  readonly size: number;
}

const sizeAt = (args: readonly Sized[], at: number): number => args[at]?.size ?? 0;
const scan = (size: number): number => Math.ceil(size * TRAVERSAL);

const TRAVERSING = new Set(
  (
    'charAt indexOf lastIndexOf lowerAscii upperAscii replace split substring trim reverse url isURL quantity isQuantity ' +
    'ip isIP cidr isCIDR validate bytes timestamp duration semver isSemver strings.quote'
  ).split(' '),
);
const LISTING = new Set('isSorted sum min max'.split(' '));
const EQUALITY = new Set('_==_ _!=_ _<_ _<=_ _>_ _>=_'.split(' '));
const SETS = new Set('sets.contains sets.intersects sets.equivalent'.split(' '));

/**
 * The cost of a call, without the cost of its arguments. A receiver is the first argument. Sizes and factors are those of
 * cel-go and the Kubernetes libraries.
 */
export function callCost(name: string, args: readonly Sized[], isSized: (at: number) => boolean): number {
  if (name === 'matches' || name === 'find' || name === 'findAll') {
    return 1 + Math.ceil((sizeAt(args, 0) + 1) * TRAVERSAL) * Math.ceil(Math.max(1, sizeAt(args, 1)) * REGEX);
  }
  if (name === 'contains') return 1 + scan(sizeAt(args, 0)) * Math.max(1, scan(sizeAt(args, 1)));
  // These functions read no more bytes of the text than the prefix or suffix has.
  if (name === 'startsWith' || name === 'endsWith') return scan(sizeAt(args, 1));
  if (name === '@in') return 1 + sizeAt(args, 1);
  if (EQUALITY.has(name)) return isSized(0) && isSized(1) ? 1 + scan(Math.min(sizeAt(args, 0), sizeAt(args, 1))) : 1;
  if (name === '_+_') return isSized(0) ? 1 + scan(sizeAt(args, 0) + sizeAt(args, 1)) : 1;
  if (SETS.has(name)) return 1 + sizeAt(args, 0) * sizeAt(args, 1);
  if (LISTING.has(name)) return 1 + sizeAt(args, 0);
  if (TRAVERSING.has(name)) return 1 + scan(sizeAt(args, name === 'validate' ? 1 : 0));
  if (name === 'join' || name === 'format') return 1 + scan(sizeAt(args, 0) + sizeAt(args, 1));
  return 1;
}

const SAME_SIZE = new Set(
  'lowerAscii upperAscii trim reverse substring charAt find replace split findAll bytes'.split(' '),
);

/** Returns the maximum size of the result of a call, or infinity if the size is unknown. */
export function resultSize(name: string, args: readonly Sized[]): number {
  if (name === '_+_' || name === 'format') return sizeAt(args, 0) + sizeAt(args, 1);
  if (name === 'replace') return sizeAt(args, 0) * Math.max(1, sizeAt(args, 2));
  if (SAME_SIZE.has(name)) return sizeAt(args, 0);
  return Number.POSITIVE_INFINITY;
}

/** The error for a cost above its limit. */
export function costMessage(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const words = factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${words} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}
