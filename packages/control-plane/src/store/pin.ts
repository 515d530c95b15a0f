import { type Equality, fieldOf, LABEL } from './record-index.ts';
import type { StoredRecord } from './store.ts';

/** Namespace and name in one. */
export const KEY = 'key';

/** A question that a record answers with one value. `scoped`: the value begins with the namespace. */
export interface Pin {
  readonly field: string;
  readonly scoped: boolean;
  readonly value: string;
}

/** A key of a record: `namespace/name`; both parts are free of slashes. */
export const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${namespace}/${name}`;

/** What a record answers to a pin's question. */
export function answerOf(record: StoredRecord, { field, scoped }: Omit<Pin, 'value'>): string {
  if (field === KEY) return keyOf(record);
  const value = fieldOf(record, field);
  return scoped ? `${record.namespace}/${value}` : value;
}

/**
 * The questions by which what meets all equalities can be found; each of them suffices. None: everything has to be looked at.
 * With a namespace each is asked within it.
 */
export function pinsOf(where: readonly Equality[]): readonly Pin[] {
  const namespace = where.find(({ field }) => field === 'metadata.namespace');
  const name = where.find(({ field }) => field === 'metadata.name');
  if (name !== undefined && namespace !== undefined) {
    return [{ field: KEY, scoped: false, value: keyOf({ namespace: namespace.value, name: name.value }) }];
  }
  const others = where.filter(({ field }) => field !== 'metadata.namespace');
  if (others.length === 0) return namespace === undefined ? [] : [{ ...namespace, scoped: false }];
  if (namespace === undefined) return others.map((one) => ({ ...one, scoped: false }));
  return others.map(({ field, value }) => ({ field, scoped: true, value: `${namespace.value}/${value}` }));
}

/** The pins about labels that a record answers to: as many as it has labels, twice. */
export function* labelPins({ namespace, labels }: StoredRecord): Generator<Pin> {
  if (labels === undefined) return;
  for (const [key, value] of Object.entries(labels)) {
    yield { field: `${LABEL}${key}`, scoped: false, value };
    yield { field: `${LABEL}${key}`, scoped: true, value: `${namespace}/${value}` };
  }
}

/** Distinct for each question, whatever its answer. */
export const questionOf = ({ field, scoped }: Omit<Pin, 'value'>): string => `${scoped ? 'n' : 'a'} ${field}`;
