import type { MeterLabels, Sample, Store } from '@mcm/kube';

/** Source of a gauge for each object of a kind: a cache, and whether it is complete. */
export interface Source<T> {
  readonly synced: boolean;
  readonly store: Store<T>;
}

interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
}

/** Labels that identify an object. */
export const named = ({ metadata: { name, namespace = '' } }: Named): MeterLabels => ({ name, namespace });

/** The creation time of an object in whole seconds since 1970, as the original prints it. */
export const createdAt = (creationTimestamp: string | undefined): string =>
  String(Math.floor(Date.parse(creationTimestamp ?? '') / 1000));

/** One series for each object with a value. */
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

/** True is 1, False 0, everything else 2. */
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
