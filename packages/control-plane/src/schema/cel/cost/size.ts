export interface Size {
  readonly min: number;
  readonly max: number;
}

export interface Entries {
  readonly isList: boolean;
  readonly key: Size;
  readonly value: Size;
}

export const UNKNOWN: Size = { min: 0, max: Number.POSITIVE_INFINITY };

export const fixed = (size: number): Size => ({ min: size, max: size });
export const ONE = fixed(1);

export const times = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : a * b);

export const plus = (a: Size, b: Size): Size => ({ min: a.min + b.min, max: a.max + b.max });
export const product = (a: Size, b: Size): Size => ({ min: times(a.min, b.min), max: times(a.max, b.max) });
export const union = (a: Size, b: Size): Size => ({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) });

export const unionEntries = (a: Entries | undefined, b: Entries | undefined): Entries | undefined =>
  a === undefined || b === undefined
    ? undefined
    : { isList: a.isList, key: union(a.key, b.key), value: union(a.value, b.value) };

const NO_ENTRIES: Size = { min: 0, max: 0 };

export const entriesOf = (isList: boolean, keys: readonly Size[], values: readonly Size[]): Entries => ({
  isList,
  key: isList ? ONE : keys.length === 0 ? NO_ENTRIES : keys.reduce(union),
  value: values.length === 0 ? NO_ENTRIES : values.reduce(union),
});
