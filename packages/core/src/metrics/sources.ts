import type { MeterLabels, Sample, Store } from '@mcm/kube';

/** What a gauge over the objects of a kind reads: a cache, whether it is filled yet. */
export interface Source<T> {
  readonly synced: boolean;
  readonly store: Store<T>;
}

interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
}

/** Labels that name an object. */
export const named = ({ metadata: { name, namespace = '' } }: Named): MeterLabels => ({ name, namespace });

/** An object's time of birth in whole seconds since the epoch, as the original prints it. */
export const createdAt = (creationTimestamp: string | undefined): string =>
  String(Math.floor(Date.parse(creationTimestamp ?? '') / 1000));

/** One series an object; an object without a value has none. */
export function* perObject<T extends Named>(
  { store }: Source<T>,
  value: (object: T) => number | undefined,
): Generator<Sample> {
  for (const object of store.list()) {
    const found = value(object);
    if (found !== undefined) yield { labels: named(object), value: found };
  }
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

/** 1 is True, 0 False, 2 anything else. */
const CONDITION_VALUES: Readonly<Record<string, number>> = { True: 1, False: 0 };

/** One series for each condition of each object. */
export function* perCondition<T extends Named>(
  { store }: Source<T>,
  conditions: (object: T) => readonly Condition[] | undefined,
): Generator<Sample> {
  for (const object of store.list()) {
    for (const { type, status } of conditions(object) ?? []) {
      yield { labels: { ...named(object), condition: type }, value: CONDITION_VALUES[status] ?? 2 };
    }
  }
}
