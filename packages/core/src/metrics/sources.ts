import type { Block } from '@mcm/api';
import type { MeterLabels, Sample, Store } from '@mcm/kube';

export interface Source<T> {
  readonly synced: boolean;
  readonly store: Store<T>;
}

interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
}

export const named = ({ metadata: { name, namespace = '' } }: Named): MeterLabels => ({ name, namespace });

/** Formats the creation time in seconds since 1970, with the number format of the original. */
export const createdAt = (creationTimestamp: string | undefined): string =>
  String(Math.floor(Date.parse(creationTimestamp ?? '') / 1000));

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

/** The metric values of a condition status; any other status has the value 2. */
const CONDITION_VALUES: Readonly<Record<string, number>> = { True: 1, False: 0 };

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

interface Blocked extends Named {
  readonly status?: { readonly blockedBy?: readonly Block[] };
}

export function* perBlock<T extends Blocked>({ store }: Source<T>): Generator<Sample> {
  for (const object of store.list())
    for (const cause of new Set((object.status?.blockedBy ?? []).map((block) => block.cause)))
      yield { labels: { ...named(object), cause }, value: 1 };
}
