import type { Literal } from '../syntax/ast.ts';
import type { CelType } from '../types/types.ts';
import { type Place, sizeAt, valuePlace } from './place.ts';
import { type Entries, fixed, plus, product, type Size, times, UNKNOWN, union, unionEntries } from './size.ts';

export interface Sized {
  readonly type: CelType;
  readonly size: Size;
  readonly entries?: Entries | undefined;
  readonly place?: Place | undefined;
  readonly literal?: Literal | undefined;
}

/** The cost of a call without its arguments, and the size of its result, if known. */
export interface CallFacts {
  readonly cost: number;
  readonly size?: Size | undefined;
  readonly entries?: Entries | undefined;
}

/** Estimates the cost of a call. */
type Estimate = (args: readonly Sized[], params: readonly CelType[]) => CallFacts;

const TRAVERSAL = 0.1;
const REGEX = 0.25;
const LIST = 10;
const MAX_FORMAT_REGEX = 128;
const MAX_FORMAT = 64;
/** The maximum number of bytes of an IP address. */
const IP_BYTES = 16;

const scan = (size: Size, factor = TRAVERSAL): number => Math.ceil(times(size.max, factor));
const sizeOf = (args: readonly Sized[], at: number): Size => args[at]?.size ?? UNKNOWN;
const isKind = (type: CelType | undefined, ...kinds: readonly CelType['kind'][]): boolean =>
  type !== undefined && kinds.includes(type.kind);

const scanFirst: Estimate = (args) => ({ cost: scan(sizeOf(args, 0)) });
const scanSecond: Estimate = (args) => ({ cost: scan(sizeOf(args, 1)) });
const keepSize: Estimate = (args) => ({ cost: scan(sizeOf(args, 0)), size: sizeOf(args, 0) });

/**
 * Returns the cost of a regular expression. The estimate adds one byte to the text, because a match on an empty text
 * has a cost.
 */
const regexCost = (text: Size, pattern: Size): number =>
  times(scan({ min: text.min + 1, max: text.max + 1 }), scan(pattern, REGEX));
const matches: Estimate = (args) => ({ cost: regexCost(sizeOf(args, 0), sizeOf(args, 1)) });
const find: Estimate = (args) => ({
  cost: regexCost(sizeOf(args, 0), sizeOf(args, 1)),
  size: { min: 0, max: sizeOf(args, 0).max },
});

/** Returns the size of a list item. Only strings and bytes have a size. */
function itemSize({ place }: Sized, item: CelType): Size {
  return sizeAt(item, place === undefined ? undefined : valuePlace(place));
}

/** Estimates a call that visits all items of a list, or a whole text. */
const traverse: Estimate = (args) => {
  const [target] = args;
  if (target?.type.kind !== 'list') return scanFirst(args, []);
  const { item } = target.type;
  const each = isKind(item, 'string', 'bytes') ? 1 + scan(itemSize(target, item)) : 1;
  return { cost: times(target.size.max, each) };
};

/** Returns the minimum and the maximum size of a text after a replacement. */
function replacedSize(text: Size, old: Size, by: Size): Size {
  const longest = (): [count: number, kept: number] => {
    if (old.min === 0) return [text.max + 1, text.max];
    if (by.max <= old.min) return [0, text.max];
    return [Math.ceil(text.max / old.min), 0];
  };
  const shortest = (): [count: number, kept: number] => {
    if (old.max === 0) return [text.min + 1, text.min];
    if (old.max <= by.min) return [0, text.min];
    return [Math.ceil(text.min / old.max), 0];
  };
  const [most, keptMost] = longest();
  const [least, keptLeast] = shortest();
  return { min: times(least, by.min) + keptLeast, max: times(most, by.max) + keptMost };
}

const replace: Estimate = (args) => ({
  cost: scan(sizeOf(args, 0), 2 * TRAVERSAL),
  size: replacedSize(sizeOf(args, 0), sizeOf(args, 1), sizeOf(args, 2)),
});

const count = (arg: Sized | undefined): number | undefined =>
  typeof arg?.literal === 'bigint' ? Math.max(0, Number(arg.literal)) : undefined;

const split: Estimate = (args) => {
  const limit = args[2]?.literal;
  // As in kube-apiserver, a negative limit is read as a large number.
  const most = typeof limit !== 'bigint' ? sizeOf(args, 0).max : limit < 0n ? UNKNOWN.max : Number(limit);
  return { cost: scan(sizeOf(args, 0), 2 * TRAVERSAL), size: { min: 0, max: most } };
};

const join: Estimate = (args) => {
  const [target, separator] = args;
  const list = sizeOf(args, 0);
  let size: Size = target?.type.kind === 'list' ? product(list, itemSize(target, target.type.item)) : fixed(0);
  if (separator !== undefined) {
    const between = { min: Math.max(0, list.min - 1), max: Math.max(0, list.max - 1) };
    size = plus(size, product(separator.size, between));
  }
  return { cost: scan(size), size };
};

const equality: Estimate = (args) => ({
  cost: Math.ceil(times(Math.min(sizeOf(args, 0).max, sizeOf(args, 1).max), TRAVERSAL)),
});

const EQUAL_AT_ONCE: ReadonlySet<string> = new Set(['net.IP', 'net.CIDR', 'kubernetes.Quantity', 'kubernetes.Semver']);

const equals: Estimate = (args, params) => {
  const [left, right] = args.map(({ type }) => (type.kind === 'opaque' ? type.name : ''));
  if (left === undefined || left === '' || left !== right) return equality(args, params);
  if (EQUAL_AT_ONCE.has(left)) return { cost: 1 };
  if (left === 'kubernetes.NamedFormat') return { cost: Math.ceil(MAX_FORMAT * TRAVERSAL) };
  const { max } = sizeOf(args, 1);
  if (left === 'kubernetes.URL') return { cost: max === Number.POSITIVE_INFINITY ? 1 : Math.ceil(max * TRAVERSAL) };
  return equality(args, params);
};

const order: Estimate = (args, params) => (isKind(params[0], 'string', 'bytes') ? equality(args, params) : { cost: 1 });

const add: Estimate = (args, params) => {
  const size = plus(sizeOf(args, 0), sizeOf(args, 1));
  if (isKind(params[0], 'list')) return { cost: 1, size, entries: unionEntries(args[0]?.entries, args[1]?.entries) };
  return isKind(params[0], 'string', 'bytes') ? { cost: scan(size), size } : { cost: 1 };
};

const sets =
  (factor: number): Estimate =>
  (args) => ({ cost: 1 + times(times(sizeOf(args, 0).max, sizeOf(args, 1).max), factor) });

const makeList = (size: Size, factor = 1): CallFacts => ({ cost: 1 + LIST + Math.ceil(times(size.max, factor)), size });

const sort =
  (at: number): Estimate =>
  (args, params) => {
    const keys = params[at];
    const texts = keys?.kind === 'list' && isKind(keys.item, 'string', 'bytes');
    return makeList(product(sizeOf(args, at), sizeOf(args, at)), texts ? 2 + TRAVERSAL : 2);
  };

const slice: Estimate = (args) => {
  const start = count(args[1]) ?? 0;
  const end = count(args[2]) ?? sizeOf(args, 0).max;
  return makeList(end < start ? UNKNOWN : fixed(end - start));
};

/** Estimates `containsIP` and `containsCIDR` with a string. */
const containsAddress =
  (base: number): Estimate =>
  (args, params) => ({ cost: base + (isKind(params[1], 'string') ? scan(sizeOf(args, 1)) : 0) });

const quote: Estimate = (args) => {
  const { min, max } = sizeOf(args, 0);
  return { cost: scan(sizeOf(args, 0)), size: { min: min + 2, max: max * 2 + 2 } };
};

const toBytes: Estimate = (args, params) => {
  const { min, max } = sizeOf(args, 0);
  return isKind(params[0], 'string') ? { cost: scan(sizeOf(args, 0)), size: { min, max: max * 4 } } : { cost: 1 };
};

const toText: Estimate = (args, params) => {
  const { min, max } = sizeOf(args, 0);
  if (!isKind(params[0], 'bytes')) return { cost: 1 };
  return { cost: scan(sizeOf(args, 0)), size: { min: Math.floor(min / 4), max } };
};

const validate: Estimate = (args) => ({ cost: times(scan(sizeOf(args, 1)), MAX_FORMAT_REGEX * REGEX) });

const addresses = Math.ceil(2 * IP_BYTES * TRAVERSAL);

/** The estimates by function name. The names of methods start with a dot. */
const ESTIMATES: ReadonlyMap<string, Estimate> = new Map<string, Estimate>([
  ...['.isSorted', '.sum', '.max', '.min', '.indexOf', '.lastIndexOf'].map((name) => [name, traverse] as const),
  ...['.lowerAscii', '.upperAscii', '.substring', '.trim', 'url', 'jsonpatch.escapeKey'].map(
    (name) => [name, keepSize] as const,
  ),
  ...['cidr', 'isIP', 'isCIDR', 'ip', 'quantity', 'isQuantity', 'semver', 'isSemver', '.format'].map(
    (name) => [name, scanFirst] as const,
  ),
  ...['_<_', '_<=_', '_>_', '_>=_'].map((name) => [name, order] as const),
  ['.startsWith', scanSecond],
  ['.endsWith', scanSecond],
  ['.contains', (args) => ({ cost: times(scan(sizeOf(args, 0)), scan(sizeOf(args, 1))) })],
  ['.matches', matches],
  ['matches', matches],
  ['.find', find],
  ['.findAll', find],
  ['.replace', replace],
  ['.split', split],
  ['.join', join],
  ['ip.isCanonical', (args) => ({ cost: scan(sizeOf(args, 0), 2 * TRAVERSAL) })],
  ['.containsIP', containsAddress(addresses)],
  ['.containsCIDR', containsAddress(addresses + Math.ceil(IP_BYTES * TRAVERSAL) + 1)],
  ['.validate', validate],
  ['strings.quote', quote],
  ['bytes', toBytes],
  ['string', toText],
  ['@in', (args, params) => ({ cost: isKind(params[1], 'list') ? sizeOf(args, 1).max : 1 })],
  ['_==_', equals],
  ['_!=_', equality],
  ['_+_', add],
  ['sets.contains', sets(1)],
  ['sets.intersects', sets(1)],
  ['sets.equivalent', sets(2)],
  ['.reverse', (args) => makeList(sizeOf(args, 0))],
  ['.flatten', (args) => makeList(sizeOf(args, 0), args.length < 2 ? 1 : (count(args[1]) ?? Number.POSITIVE_INFINITY))],
  ['.distinct', (args) => makeList(product(sizeOf(args, 0), sizeOf(args, 0)), 2)],
  ['.sort', sort(0)],
  ['.@sortByAssociatedKeys', sort(1)],
  ['.slice', slice],
  ['lists.range', (args) => makeList(fixed(count(args[0]) ?? Number.POSITIVE_INFINITY))],
]);

const CHEAP: CallFacts = { cost: 1 };

/** Returns the cost of a call. All sizes and factors equal those in cel-go and in the Kubernetes libraries. */
const factsOf = (name: string, isMethod: boolean, params: readonly CelType[], args: readonly Sized[]): CallFacts =>
  ESTIMATES.get(isMethod ? `.${name}` : name)?.(args, params) ?? CHEAP;

/** Returns the cost of a call. If several overloads are possible, the most expensive one counts. */
export function callFacts(
  name: string,
  isMethod: boolean,
  overloads: readonly { readonly params: readonly CelType[] }[],
  args: readonly Sized[],
): CallFacts {
  const all = overloads.map(({ params }) => factsOf(name, isMethod, params, args));
  const sizes = all.flatMap(({ size }) => (size === undefined ? [] : [size]));
  return {
    cost: all.reduce((most, { cost }) => Math.max(most, cost), 0),
    size: sizes.length === 0 ? undefined : sizes.reduce(union),
    entries: all.findLast(({ entries }) => entries !== undefined)?.entries,
  };
}
